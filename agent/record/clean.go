package record

import (
	"context"
	"errors"
	"iter"

	"redline/agent/model"
)

// Clean returns g with the texts of its errors passed through clean: services and
// proxies quote what they were sent, keys too.
func Clean(g model.ContentGenerator, clean func(string) string) model.ContentGenerator {
	c := &cleaner{g, clean}
	return offering(c, c, c, g)
}

type cleaner struct {
	inner model.ContentGenerator
	clean func(string) string
}

func (c *cleaner) err(err error) error {
	var e *model.Error
	if !errors.As(err, &e) {
		return err
	}
	text := c.clean(e.Message)
	if text == e.Message {
		return err
	}
	out := *e
	out.Message, out.Err = text, nil // the cause has the same text
	return &out
}

// Stream implements [model.ContentGenerator].
func (c *cleaner) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for chunk, err := range c.inner.Stream(ctx, req) {
			if !yield(chunk, c.err(err)) {
				return
			}
		}
	}
}

// CountTokens implements [model.TokenCounter].
func (c *cleaner) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	n, err := c.inner.(model.TokenCounter).CountTokens(ctx, req)
	return n, c.err(err)
}

// ListModels implements [model.Lister].
func (c *cleaner) ListModels(ctx context.Context) ([]model.Info, error) {
	infos, err := c.inner.(model.Lister).ListModels(ctx)
	return infos, c.err(err)
}
