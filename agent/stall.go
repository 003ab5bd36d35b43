package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"redline/agent/model"
)

// errStalled is the cause of a request that was given up.
var errStalled = errors.New("no answer")

// patient is a [model.ContentGenerator] whose requests fail when nothing comes for a
// while: a connection that hangs says nothing by itself.
type patient struct {
	inner model.ContentGenerator
	limit time.Duration
}

// withLimit returns g with a limit on silence. What else g can do, so can the result.
func withLimit(g model.ContentGenerator, limit time.Duration) model.ContentGenerator {
	p := patient{g, limit}
	counter, counts := g.(model.TokenCounter)
	lister, lists := g.(model.Lister)
	switch {
	case counts && lists:
		return struct {
			patient
			model.TokenCounter
			model.Lister
		}{p, counter, lister}
	case counts:
		return struct {
			patient
			model.TokenCounter
		}{p, counter}
	case lists:
		return struct {
			patient
			model.Lister
		}{p, lister}
	}
	return p
}

// Stream implements [model.ContentGenerator].
func (p patient) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		within, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(p.limit, func() { cancel(errStalled) })
		defer timer.Stop()
		for chunk, err := range p.inner.Stream(within, req) {
			timer.Stop() // who reads may take as long as they like
			if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), errStalled) {
				err = &model.Error{Kind: model.KindNetwork, Message: fmt.Sprintf("the model's service did not say anything for %v", p.limit), Err: err}
			}
			if !yield(chunk, err) || err != nil {
				return
			}
			timer.Reset(p.limit)
		}
	}
}
