package acp_test

import (
	"testing"

	"redline/lsp/rpc"
)

func tap(*testing.T) func(rpc.Direction, []byte) { return nil }
