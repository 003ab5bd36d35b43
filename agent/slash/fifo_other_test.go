//go:build !unix

package slash

import "testing"

func makeFIFO(t *testing.T, _ string) error {
	t.Skip("no FIFOs on this system")
	return nil
}
