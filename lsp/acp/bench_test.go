package acp_test

import (
	"fmt"
	"testing"

	"redline/agent/agenttest"
)

// BenchmarkStream is a turn whose answer comes in 20,000 pieces, the client's reading
// included.
func BenchmarkStream(b *testing.B) {
	const pieces = 20_000
	step := agenttest.Step{}
	for i := range pieces {
		step.Text = append(step.Text, fmt.Sprintf("word %d, ", i))
	}
	for b.Loop() {
		c := start(b, setup{model: agenttest.NewModel(step)})
		o := c.open()
		if got := c.prompt(o.SessionID, text("go")); got != "end_turn" {
			b.Fatal(got)
		}
	}
}
