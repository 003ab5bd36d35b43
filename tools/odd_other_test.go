//go:build !unix

package tools_test

import "testing"

func makeFIFO(t *testing.T, _ string) error {
	t.Skip("no FIFOs on this system")
	return nil
}

func makeDevice(t *testing.T, _ string, _, _ int) { t.Skip("no devices on this system") }

func asNobody(*testing.T, string) {}
