//go:build !unix

package shell

import "context"

// Run returns ErrUnsupported on this system.
func Run(context.Context, Command) (Result, error) {
	return Result{}, ErrUnsupported
}
