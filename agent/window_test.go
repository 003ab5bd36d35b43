package agent_test

import (
	"context"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/model"
)

// listing is a model whose service tells how much it reads.
type listing struct {
	*agenttest.Model
	asked *int
}

func (l listing) ListModels(context.Context) ([]model.Info, error) {
	*l.asked++
	return []model.Info{{Name: "my-model", InputLimit: 6000}}, nil
}

// How much a model reads that redline does not know is asked of the service: once, and
// not before it matters.
func TestWindowOfTheService(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Text: []string{long("one", 20)}},
		agenttest.Step{Text: []string{snapshot}},
		agenttest.Step{Text: []string{"two"}},
		agenttest.Step{Text: []string{"three"}},
	)
	asked := 0
	f := newFixture(t, m, nil, func(o *agent.Options) {
		o.Model = "my-model"
		o.Generator = func(context.Context) (model.ContentGenerator, error) { return listing{m, &asked}, nil }
	})
	f.run(t, "short")
	if asked != 0 || f.Spending().Window != 131_072 {
		t.Errorf("after a short prompt: asked %d times, window %d", asked, f.Spending().Window)
	}
	if got := compressed(f.run(t, long("long", 20))); len(got) != 1 || got[0].After >= got[0].Before {
		t.Errorf("compressed: %+v", got)
	}
	f.run(t, "short")
	if asked != 1 || f.Spending().Window != 6000 {
		t.Errorf("asked %d times, window %d", asked, f.Spending().Window)
	}
}
