//go:build !unix

package shell

import "context"

// Run returns ErrUnsupported on this system.
func Run(context.Context, Command) (Result, error) {
	return Result{}, ErrUnsupported
}

// End does nothing on this system, where nothing is run.
func (Leftover) End() {}

func startOf(int) string { return "" }

func groupMembers(context.Context, int, string) []int { return nil }
