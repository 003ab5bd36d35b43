//go:build !unix

package workspace

import "os"

func openRegular(path string) (*os.File, error) { return os.Open(path) }
