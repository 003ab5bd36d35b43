// Package retry repeats requests to a model that failed for the moment.
//
// What is repeated: 429, 499, 5xx, network faults and answers that broke off
// before anything of them came. What is not: requests that are wrong (400, 404),
// credentials that are refused, quotas that are used up, and answers of which
// something has been handed on, since the caller cannot take it back; the caller
// has to decide what to do with half an answer.
package retry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"redline/agent/model"
)

// The defaults of [Options].
const (
	DefaultMaxAttempts = 10
	DefaultInitial     = 5 * time.Second
	DefaultMax         = 30 * time.Second
	DefaultJitter      = 0.3
)

// rateLimit is how many 429 in a row make [Options.Fallback] be asked.
const rateLimit = 2

// Options say how often and how long. The zero value is what a person at an editor
// wants.
type Options struct {
	// MaxAttempts is how many requests are sent for one answer and one model, the
	// first included; 0 means DefaultMaxAttempts, 1 no retry.
	MaxAttempts int
	// Initial is the first wait; each further one is twice as long, up to Max, which
	// a wait never exceeds. 0 means DefaultInitial and DefaultMax.
	Initial, Max time.Duration
	// Jitter is the share of a wait by which it is made longer or shorter at random,
	// so that many clients do not come back together; 0 means DefaultJitter,
	// negative none. How long the server asks to wait is obeyed exactly instead, be
	// it longer than Max or shorter than Initial.
	Jitter float64
	// OnWait, if set, is called before each wait with the number of requests sent so
	// far (1 and up), the wait, and the error of the last request.
	OnWait func(attempt int, delay time.Duration, err error)
	// Fallback, if set, is asked what to do when a model answers 429 twice in a row
	// or its quota is used up: once for each model and answer. It may take its time
	// to ask the user. Both functions may be called from several streams at a time.
	Fallback func(ctx context.Context, modelName string, err *model.Error) Verdict
	// Random returns numbers in [0, 1) for the jitter; nil means math/rand.
	Random func() float64
}

// Verdict is an answer of [Options.Fallback]. The zero Verdict goes on as if nobody
// had been asked: the request is repeated after 429 and fails for want of quota.
type Verdict struct {
	// Model, if not empty, gets the request from now on, at once.
	Model string
	// Stop ends the tries: the stream fails with the error at hand.
	Stop bool
}

// Wrap returns g with retries. Its stream fails with the error of the last request,
// which says how many there were if there was more than one. If g counts tokens or
// lists models, so does the result, without retries.
func Wrap(g model.ContentGenerator, opt Options) model.ContentGenerator {
	if opt.MaxAttempts == 0 {
		opt.MaxAttempts = DefaultMaxAttempts
	}
	if opt.Initial == 0 {
		opt.Initial = DefaultInitial
	}
	if opt.Max == 0 {
		opt.Max = DefaultMax
	}
	if opt.Jitter == 0 {
		opt.Jitter = DefaultJitter
	}
	if opt.Random == nil {
		opt.Random = rand.Float64
	}
	w := &generator{inner: g, opt: opt}
	counter, counts := g.(model.TokenCounter)
	lister, lists := g.(model.Lister)
	switch {
	case counts && lists:
		return struct {
			*generator
			model.TokenCounter
			model.Lister
		}{w, counter, lister}
	case counts:
		return struct {
			*generator
			model.TokenCounter
		}{w, counter}
	case lists:
		return struct {
			*generator
			model.Lister
		}{w, lister}
	}
	return w
}

// generator is a [model.ContentGenerator] with retries.
type generator struct {
	inner model.ContentGenerator
	opt   Options
}

// series is what is known of the requests for one answer.
type series struct {
	sent     int             // requests, all models
	failures int             // of the current model
	limited  int             // 429 in a row of the current model
	asked    map[string]bool // models for which Fallback has been asked
}

// Stream implements [model.ContentGenerator].
func (g *generator) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		// The iterator may run more than once: its state is its own.
		s := series{asked: map[string]bool{}}
		req := *req
		for {
			s.sent++
			handedOn := false
			var failed error
			for chunk, err := range g.inner.Stream(ctx, &req) {
				if err != nil {
					failed = err
					break
				}
				// A chunk with nothing to show may come again.
				handedOn = handedOn || len(chunk.Parts) > 0
				if !yield(chunk, nil) {
					return
				}
			}
			if failed == nil {
				return
			}
			if err := g.next(ctx, &s, &req, failed, handedOn); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// next makes everything ready for the next request and waits until it is due. It
// returns the error to end with when there is to be none.
func (g *generator) next(ctx context.Context, s *series, req *model.Request, failed error, handedOn bool) error {
	// A request that is cancelled can fail in any way.
	if err := ctx.Err(); err != nil {
		return err
	}
	var e *model.Error
	if !errors.As(failed, &e) || handedOn {
		return failed
	}
	s.failures++
	if e.Kind == model.KindRate {
		s.limited++
	} else {
		s.limited = 0
	}
	if (s.limited >= rateLimit || e.Kind == model.KindQuota) && g.opt.Fallback != nil && !s.asked[req.Model] {
		s.asked[req.Model] = true
		verdict := g.opt.Fallback(ctx, req.Model, e)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case verdict.Stop:
			return s.last(e)
		case verdict.Model != "" && verdict.Model != req.Model:
			req.Model = verdict.Model
			s.failures, s.limited = 0, 0
			return nil
		}
	}
	if !e.Temporary() || s.failures >= g.opt.MaxAttempts {
		return s.last(e)
	}
	delay := e.RetryAfter
	if delay <= 0 {
		delay = g.backoff(s.failures)
	}
	if g.opt.OnWait != nil {
		g.opt.OnWait(s.sent, delay, failed)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// last returns e with the number of requests in its text.
func (s *series) last(e *model.Error) error {
	if s.sent == 1 {
		return e
	}
	out := *e
	out.Message = fmt.Sprintf("%s; tried %d times", e.Message, s.sent)
	out.Err = e
	return &out
}

// backoff returns how long to wait after the nth failure, n from 1.
func (g *generator) backoff(n int) time.Duration {
	delay := min(g.opt.Initial, g.opt.Max)
	for ; n > 1 && delay < g.opt.Max; n-- {
		if delay > g.opt.Max/2 { // doubling could overflow
			delay = g.opt.Max
			break
		}
		delay *= 2
	}
	if g.opt.Jitter > 0 {
		delay += time.Duration(float64(delay) * g.opt.Jitter * (2*g.opt.Random() - 1))
	}
	return min(delay, g.opt.Max)
}
