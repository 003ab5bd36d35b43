package retry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/retry"
)

// answer is what the model does with one request.
type answer struct {
	text string // a chunk, if not empty
	err  error  // after it; nil: the answer ends well
	hang bool   // until the context ends
}

// script answers requests in order and keeps when they came and for which model.
type script struct {
	answers []answer
	began   time.Time
	at      []time.Duration
	models  []string
}

func (s *script) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		if s.began.IsZero() {
			s.began = time.Now()
		}
		n := len(s.at)
		s.at, s.models = append(s.at, time.Since(s.began)), append(s.models, req.Model)
		if n >= len(s.answers) {
			yield(nil, fmt.Errorf("no answer to request %d", n+1))
			return
		}
		a := s.answers[n]
		if a.text != "" && !yield(&model.Chunk{Parts: []model.Part{model.Text(a.text)}}, nil) {
			return
		}
		if a.hang {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		if a.err != nil {
			yield(nil, a.err)
			return
		}
		yield(&model.Chunk{FinishReason: genai.FinishReasonStop}, nil)
	}
}

func kind(k model.Kind) error { return &model.Error{Kind: k, Message: "no"} }

func after(k model.Kind, d time.Duration) error {
	return &model.Error{Kind: k, Message: "no", RetryAfter: d}
}

// collect runs a stream to its end.
func collect(ctx context.Context, g model.ContentGenerator) (text string, finished bool, err error) {
	for c, e := range g.Stream(ctx, &model.Request{Model: "pro"}) {
		if e != nil {
			if err != nil {
				return text, finished, errors.New("a second error: " + e.Error())
			}
			err = e
			continue
		}
		for _, p := range c.Parts {
			text += p.Value().Text
		}
		finished = finished || c.FinishReason != ""
	}
	return text, finished, err
}

const sec = time.Second

// TestWaits checks when requests are sent, on a fake clock and without jitter.
func TestWaits(t *testing.T) {
	ok := answer{text: "fine"}
	fails := func(errs ...error) []answer {
		var out []answer
		for _, e := range errs {
			out = append(out, answer{err: e})
		}
		return out
	}
	rate, server := kind(model.KindRate), kind(model.KindServer)
	for name, c := range map[string]struct {
		opt     retry.Options
		answers []answer
		at      []time.Duration
		err     string // text of the error; empty: the answer must be "fine"
	}{
		"at once":         {retry.Options{}, []answer{ok}, []time.Duration{0}, ""},
		"once":            {retry.Options{}, append(fails(server), ok), []time.Duration{0, 5 * sec}, ""},
		"network":         {retry.Options{}, append(fails(kind(model.KindNetwork)), ok), []time.Duration{0, 5 * sec}, ""},
		"cut before text": {retry.Options{}, append(fails(kind(model.KindCut)), ok), []time.Duration{0, 5 * sec}, ""},
		"garbage":         {retry.Options{}, append(fails(kind(model.KindGarbage)), ok), []time.Duration{0, 5 * sec}, ""},
		"twice as long each, 30 s at most, 10 tries": {
			retry.Options{}, fails(slices.Repeat([]error{rate}, 11)...),
			[]time.Duration{0, 5 * sec, 15 * sec, 35 * sec, 65 * sec, 95 * sec, 125 * sec, 155 * sec, 185 * sec, 215 * sec}, "no; tried 10 times",
		},
		"own limits": {
			retry.Options{MaxAttempts: 4, Initial: sec, Max: 3 * sec}, fails(slices.Repeat([]error{rate}, 5)...),
			[]time.Duration{0, sec, 3 * sec, 6 * sec}, "no; tried 4 times",
		},
		"initial above max": {retry.Options{Initial: 60 * sec}, append(fails(server), ok), []time.Duration{0, 30 * sec}, ""},
		"no retry":          {retry.Options{MaxAttempts: 1}, fails(server, server), []time.Duration{0}, "no"},
		"the server's word, longer and shorter": {
			retry.Options{}, append(fails(after(model.KindRate, 47*sec), after(model.KindServer, 10*time.Millisecond), server), ok),
			[]time.Duration{0, 47 * sec, 47*sec + 10*time.Millisecond, 67*sec + 10*time.Millisecond}, "",
		},
		"bad request": {retry.Options{}, fails(kind(model.KindBadRequest), server), []time.Duration{0}, "no"},
		"credentials": {retry.Options{}, fails(kind(model.KindAuth), server), []time.Duration{0}, "no"},
		"quota":       {retry.Options{}, fails(after(model.KindQuota, sec), server), []time.Duration{0}, "no"},
		"other error": {retry.Options{}, fails(errors.New("odd"), server), []time.Duration{0}, "odd"},
		"wrapped":     {retry.Options{}, append(fails(fmt.Errorf("outer: %w", server)), ok), []time.Duration{0, 5 * sec}, ""},
		"bad after good reason to wait": {
			retry.Options{}, fails(server, kind(model.KindBadRequest), server), []time.Duration{0, 5 * sec}, "no; tried 2 times",
		},
		"half an answer":            {retry.Options{}, []answer{{text: "ha", err: kind(model.KindCut)}, ok}, []time.Duration{0}, "no"},
		"half an answer, later":     {retry.Options{}, []answer{{err: server}, {text: "ha", err: server}, ok}, []time.Duration{0, 5 * sec}, "no"},
		"other waits in between":    {retry.Options{}, append(fails(rate, server, rate), ok), []time.Duration{0, 5 * sec, 15 * sec, 35 * sec}, ""},
		"the server's 0 is no word": {retry.Options{}, append(fails(after(model.KindRate, 0)), ok), []time.Duration{0, 5 * sec}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: c.answers}
				type wait struct {
					attempt int
					delay   time.Duration
					err     error
				}
				var waits []wait
				c.opt.Jitter = -1
				c.opt.OnWait = func(n int, d time.Duration, err error) { waits = append(waits, wait{n, d, err}) }
				text, finished, err := collect(t.Context(), retry.Wrap(s, c.opt))
				if !slices.Equal(s.at, c.at) {
					t.Errorf("requests at %v, want %v", s.at, c.at)
				}
				switch {
				case c.err == "" && (err != nil || text != "fine" || !finished):
					t.Errorf("text %q, finished %v, error %v", text, finished, err)
				case c.err != "" && (err == nil || err.Error() != c.err || finished):
					t.Errorf("error %v, want %q (finished %v)", err, c.err, finished)
				}
				if len(waits) != len(s.at)-1 {
					t.Fatalf("told of %d waits, there were %d", len(waits), len(s.at)-1)
				}
				for i, w := range waits {
					if w.attempt != i+1 || w.delay != s.at[i+1]-s.at[i] || !errors.Is(w.err, c.answers[i].err) {
						t.Errorf("told of wait %+v after request %d, but it took %v", w, i+1, s.at[i+1]-s.at[i])
					}
				}
			})
		})
	}
}

// TestLastError checks that what a caller needs to know survives the count.
func TestLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &model.Error{Kind: model.KindRate, Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "slow down"}
		_, _, err := collect(t.Context(), retry.Wrap(&script{answers: []answer{{err: first}, {err: first}}}, retry.Options{MaxAttempts: 2}))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindRate || e.Status != 429 || !errors.Is(err, first) {
			t.Fatalf("error %#v", err)
		}
		if got := err.Error(); got != "slow down; tried 2 times (HTTP 429 RESOURCE_EXHAUSTED)" || first.Message != "slow down" {
			t.Errorf("text %q, the first error's %q", got, first.Message)
		}
	})
}

func TestJitter(t *testing.T) {
	for _, c := range []struct {
		random, jitter float64
		at             []time.Duration
	}{
		{0, 0, []time.Duration{0, 3500 * time.Millisecond, 10500 * time.Millisecond, 24500 * time.Millisecond, 45500 * time.Millisecond}},
		{0.5, 0, []time.Duration{0, 5 * sec, 15 * sec, 35 * sec, 65 * sec}},
		{0.75, 0, []time.Duration{0, 5750 * time.Millisecond, 17250 * time.Millisecond, 40250 * time.Millisecond, 70250 * time.Millisecond}}, // 30 s is the most
		{0, 1, []time.Duration{0, 0, 0, 0, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: slices.Repeat([]answer{{err: kind(model.KindServer)}}, 5)}
			_, _, err := collect(t.Context(), retry.Wrap(s, retry.Options{MaxAttempts: 5, Jitter: c.jitter, Random: func() float64 { return c.random }}))
			if err == nil || !slices.Equal(s.at, c.at) {
				t.Errorf("random %v: requests at %v, want %v", c.random, s.at, c.at)
			}
		})
	}
	// The server's word is obeyed to the nanosecond.
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{{err: after(model.KindRate, 1234567)}, {text: "fine"}}}
		if _, _, err := collect(t.Context(), retry.Wrap(s, retry.Options{})); err != nil || s.at[1] != 1234567 {
			t.Errorf("requests at %v, error %v", s.at, err)
		}
	})
	// The default is random and within its bounds.
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 50 {
			s := &script{answers: []answer{{err: kind(model.KindServer)}, {text: "fine"}}}
			if _, _, err := collect(t.Context(), retry.Wrap(s, retry.Options{})); err != nil {
				t.Fatal(err)
			}
			if d := s.at[1]; d < 3500*time.Millisecond || d > 6500*time.Millisecond {
				t.Errorf("first wait %v", d)
			}
			seen[s.at[1]] = true
		}
		if len(seen) < 40 {
			t.Errorf("only %d different waits of 50", len(seen))
		}
	})
}

func TestCancel(t *testing.T) {
	for name, a := range map[string]answer{
		"while waiting":   {err: after(model.KindRate, time.Hour)},
		"while streaming": {text: "half", hang: true},
		"before text":     {hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stop := time.AfterFunc(7*sec, cancel)
				defer stop.Stop()
				s := &script{answers: []answer{a, {text: "fine"}}}
				began := time.Now()
				_, _, err := collect(ctx, retry.Wrap(s, retry.Options{}))
				if !errors.Is(err, context.Canceled) || time.Since(began) != 7*sec || len(s.at) != 1 {
					t.Errorf("error %v after %v and %d requests", err, time.Since(began), len(s.at))
				}
			})
		})
	}
	t.Run("which looks like a fault", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := &script{answers: []answer{{err: kind(model.KindNetwork)}}}
		opt := retry.Options{OnWait: func(int, time.Duration, error) { t.Error("told of a wait") }}
		if _, _, err := collect(ctx, retry.Wrap(s, opt)); !errors.Is(err, context.Canceled) || len(s.at) != 1 {
			t.Errorf("error %v after %d requests", err, len(s.at))
		}
	})
	t.Run("in OnWait", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{answers: []answer{{err: after(model.KindRate, time.Hour)}}}
		opt := retry.Options{OnWait: func(int, time.Duration, error) { cancel() }}
		if _, _, err := collect(ctx, retry.Wrap(s, opt)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// TestBreak checks that a caller who has enough is not asked again, and that a
// stream can be run twice.
func TestBreak(t *testing.T) {
	s := &script{answers: []answer{{text: "a", err: kind(model.KindServer)}, {text: "b"}}}
	stream := retry.Wrap(s, retry.Options{}).Stream(t.Context(), &model.Request{Model: "pro"})
	for i, want := range []string{"a", "b"} {
		for c, err := range stream {
			if err != nil || c.Parts[0].Value().Text != want {
				t.Errorf("run %d: %v, %v", i, c, err)
			}
			break
		}
	}
	if len(s.at) != 2 {
		t.Errorf("%d requests", len(s.at))
	}
}

func TestFallback(t *testing.T) {
	rate, quota, server := kind(model.KindRate), kind(model.KindQuota), kind(model.KindServer)
	flash := retry.Verdict{Model: "flash"}
	for name, c := range map[string]struct {
		errs     []error // of the requests; the next one is answered
		verdicts map[string]retry.Verdict
		attempts int
		models   string
		asked    string
		at       time.Duration // of the last request
		err      string
	}{
		"two 429":          {[]error{rate, rate}, map[string]retry.Verdict{"pro": flash}, 0, "pro pro flash", "pro", 5 * sec, ""},
		"quota":            {[]error{quota}, map[string]retry.Verdict{"pro": flash}, 0, "pro flash", "pro", 0, ""},
		"one 429":          {[]error{rate}, map[string]retry.Verdict{"pro": flash}, 0, "pro pro", "", 5 * sec, ""},
		"not in a row":     {[]error{rate, server, rate}, map[string]retry.Verdict{"pro": flash}, 0, "pro pro pro pro", "", 35 * sec, ""},
		"server errors":    {[]error{server, server, server}, map[string]retry.Verdict{"pro": flash}, 0, "pro pro pro pro", "", 35 * sec, ""},
		"go on, ask once":  {[]error{rate, rate, rate, rate}, nil, 0, "pro pro pro pro pro", "pro", 65 * sec, ""},
		"no way on":        {[]error{quota}, nil, 0, "pro", "pro", 0, "no"},
		"stop":             {[]error{rate, rate}, map[string]retry.Verdict{"pro": {Stop: true}}, 0, "pro pro", "pro", 5 * sec, "no; tried 2 times"},
		"the same model":   {[]error{rate, rate}, map[string]retry.Verdict{"pro": {Model: "pro"}}, 0, "pro pro pro", "pro", 15 * sec, ""},
		"the other fails":  {[]error{quota, server, rate, rate}, map[string]retry.Verdict{"pro": flash, "flash": {Stop: true}}, 0, "pro flash flash flash", "pro flash", 15 * sec, "no; tried 4 times"},
		"to and fro":       {[]error{quota, quota, quota}, map[string]retry.Verdict{"pro": flash, "flash": {Model: "pro"}}, 0, "pro flash pro", "pro flash", 0, "no; tried 3 times"},
		"on the last try":  {[]error{rate, rate}, map[string]retry.Verdict{"pro": flash}, 2, "pro pro flash", "pro", 5 * sec, ""},
		"tries of its own": {[]error{rate, rate, server, server}, map[string]retry.Verdict{"pro": flash}, 2, "pro pro flash flash", "pro", 10 * sec, "no; tried 4 times"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				for _, e := range c.errs {
					s.answers = append(s.answers, answer{err: e})
				}
				s.answers = append(s.answers, answer{text: "fine"})
				var asked []string
				opt := retry.Options{
					Jitter: -1, MaxAttempts: c.attempts,
					Fallback: func(_ context.Context, name string, err *model.Error) retry.Verdict {
						if err.Kind != model.KindRate && err.Kind != model.KindQuota {
							t.Errorf("asked because of %v", err)
						}
						asked = append(asked, name)
						return c.verdicts[name]
					},
				}
				text, _, err := collect(t.Context(), retry.Wrap(s, opt))
				if got := strings.Join(s.models, " "); got != c.models {
					t.Errorf("models %s, want %s", got, c.models)
				}
				if got := strings.Join(asked, " "); got != c.asked {
					t.Errorf("asked %s, want %s", got, c.asked)
				}
				if got := s.at[len(s.at)-1]; got != c.at {
					t.Errorf("last request at %v, want %v", got, c.at)
				}
				if c.err == "" && (err != nil || text != "fine") || c.err != "" && (err == nil || err.Error() != c.err) {
					t.Errorf("text %q, error %v, want %q", text, err, c.err)
				}
			})
		})
	}
}

// TestFallbackCancelled: the user may answer the question by giving up.
func TestFallbackCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answers: []answer{{err: kind(model.KindQuota)}, {text: "fine"}}}
	opt := retry.Options{Fallback: func(context.Context, string, *model.Error) retry.Verdict {
		cancel()
		return retry.Verdict{Model: "flash"}
	}}
	if _, _, err := collect(ctx, retry.Wrap(s, opt)); !errors.Is(err, context.Canceled) || len(s.at) != 1 {
		t.Errorf("error %v after %d requests", err, len(s.at))
	}
}

// TestRequestStays checks that the caller's request is not changed by a fallback.
func TestRequestStays(t *testing.T) {
	req := &model.Request{Model: "pro"}
	s := &script{answers: []answer{{err: kind(model.KindQuota)}, {text: "fine"}}}
	opt := retry.Options{Fallback: func(context.Context, string, *model.Error) retry.Verdict { return retry.Verdict{Model: "flash"} }}
	for _, err := range retry.Wrap(s, opt).Stream(t.Context(), req) {
		if err != nil {
			t.Error(err)
		}
	}
	if req.Model != "pro" || !slices.Equal(s.models, []string{"pro", "flash"}) {
		t.Errorf("request for %s, sent to %v", req.Model, s.models)
	}
}

type counts struct{ *script }

func (counts) CountTokens(context.Context, *model.Request) (int, error) { return 7, nil }

type lists struct{ *script }

func (lists) ListModels(context.Context) ([]model.Info, error) { return []model.Info{{Name: "m"}}, nil }

type both struct {
	counts
	lists
}

func (both) Stream(context.Context, *model.Request) iter.Seq2[*model.Chunk, error] { return nil }

// TestOffers checks that the result offers what the generator does, and no more.
func TestOffers(t *testing.T) {
	for _, c := range []struct {
		g             model.ContentGenerator
		counts, lists bool
	}{{&script{}, false, false}, {counts{}, true, false}, {lists{}, false, true}, {both{}, true, true}} {
		w := retry.Wrap(c.g, retry.Options{})
		counter, isCounter := w.(model.TokenCounter)
		lister, isLister := w.(model.Lister)
		if isCounter != c.counts || isLister != c.lists {
			t.Errorf("%T: counts %v, lists %v", c.g, isCounter, isLister)
		}
		if isCounter {
			if n, err := counter.CountTokens(t.Context(), nil); n != 7 || err != nil {
				t.Errorf("%T: %d, %v", c.g, n, err)
			}
		}
		if isLister {
			if l, err := lister.ListModels(t.Context()); len(l) != 1 || err != nil {
				t.Errorf("%T: %v, %v", c.g, l, err)
			}
		}
	}
}
