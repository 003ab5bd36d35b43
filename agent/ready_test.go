package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools"
)

// The first request waits for tools that come by themselves, but not for long, and
// no other does.
func TestReady(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		want  string // the tools of the first two requests
		waits time.Duration
	}{
		{"at once", 0, "say|say", 0},
		{"soon", time.Second, "say|say", time.Second},
		{"late", time.Hour, "|", 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := tools.NewRegistry()
				calls := 0
				b := newBench(t, agent.Options{Tools: reg, Ready: func(ctx context.Context) {
					calls++
					select {
					case <-time.After(c.after):
						reg.Add(saying{text: "x"})
					case <-ctx.Done():
					}
				}}, done, done)
				*b.m = *agenttest.NewModel(done, done)
				began := time.Now()
				b.turn("x")
				if d := time.Since(began); d != c.waits {
					t.Errorf("waited %v, want %v", d, c.waits)
				}
				b.turn("y")
				var got []string
				for _, r := range b.m.Requests() {
					name := ""
					for _, tool := range r.Config.Tools {
						name = tool.FunctionDeclarations[0].Name
					}
					got = append(got, name)
				}
				if strings.Join(got, "|") != c.want || calls != 1 {
					t.Errorf("tools %v in %d waits, want %s in one", got, calls, c.want)
				}
			})
		})
	}
}
