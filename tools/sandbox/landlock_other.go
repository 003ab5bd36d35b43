//go:build !linux

package sandbox

import "errors"

func become(confinement, []string) error { return errors.New("it needs Linux") }
