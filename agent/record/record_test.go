package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/tools/secret"
)

// answers is a model that gives an answer for each text.
type answers map[string]func(yield func(*model.Chunk, error) bool)

func (a answers) Stream(_ context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return a[req.Contents[0].Text()]
}

func part(t *testing.T, raw string) model.Part {
	t.Helper()
	p, err := model.RawPart(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(g model.ContentGenerator, text string) (parts []string, err error) {
	for c, err := range g.Stream(context.Background(), &model.Request{Model: "m", PromptID: "s-0123456789abcdef0123456.t1", Contents: []model.Content{model.UserText(text)}}) {
		if err != nil {
			return parts, err
		}
		for _, p := range c.Parts {
			raw, _ := p.MarshalJSON()
			parts = append(parts, string(raw))
		}
	}
	return parts, nil
}

// What is recorded comes back with the bytes it had, errors with what was known of
// them.
func TestRoundTrip(t *testing.T) {
	const odd = `{"functionCall":{"name":"f","args":{"n":9007199254740993,"file_path":"/work/here/a.go"}},"thoughtSignature":"eA=="}`
	m := answers{
		"one": func(yield func(*model.Chunk, error) bool) {
			_ = yield(&model.Chunk{Parts: []model.Part{part(t, odd), part(t, `{"text":"","thoughtSignature":"eQ=="}`)}}, nil) &&
				yield(&model.Chunk{FinishReason: genai.FinishReasonStop, Usage: &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: 7}}, nil)
		},
		"two": func(yield func(*model.Chunk, error) bool) {
			yield(nil, &model.Error{Kind: model.KindRate, Status: 429, Message: "slow down, key-0123456789", RetryAfter: 1500 * time.Millisecond})
		},
	}
	var redact secret.Redactor
	redact.Add("key-0123456789")
	var file bytes.Buffer
	rec := NewRecorder(&file, "test", &redact)
	g := rec.Wrap(m, Places{Folders: []string{"/work/here"}})
	want, err := ask(g, "one")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = ask(g, "two")
	if rec.Err() != nil || strings.Contains(file.String(), "/work/here") || strings.Contains(file.String(), "key-0123456789") || strings.Count(file.String(), "\n") != 5 {
		t.Fatalf("recorded (%v):\n%s", rec.Err(), file.String())
	}
	p, err := NewPlayer(&file, &redact)
	if err != nil {
		t.Fatal(err)
	}
	g = p.Generator(Places{Folders: []string{"/work/here"}})
	if _, counts := g.(model.TokenCounter); counts {
		t.Error("it counts tokens, which the model did not")
	}
	got, err := ask(g, "one")
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q (%v)\nwant %q", got, err, want)
	}
	var e *model.Error
	if _, err = ask(g, "two"); !errors.As(err, &e) || e.Kind != model.KindRate || e.RetryAfter != 1500*time.Millisecond || e.Status != 429 {
		t.Errorf("got %#v", err)
	}
	if p.Err() != nil {
		t.Error(p.Err())
	}
	if _, err = ask(g, "three"); err == nil || !strings.Contains(err.Error(), "not in the recording") {
		t.Errorf("a request too many: %v", err)
	}
}

// Requests that were under way together may come in another order; others may not.
func TestOrder(t *testing.T) {
	line := func(kind string, n int, text string) string {
		if kind == KindRequest {
			return `{"kind":"request","n":` + string(rune('0'+n)) + `,"method":"stream","request":{"model":"m","promptId":"x","contents":[{"role":"user","parts":[{"text":"` + text + `"}]}]}}`
		}
		return `{"kind":"response","n":` + string(rune('0'+n)) + `,"chunks":[{"parts":[{"text":"` + text + `"}]}]}`
	}
	const head = `{"kind":"header","header":{}}`
	overlapping := strings.Join([]string{head, line(KindRequest, 1, "a"), line(KindRequest, 2, "b"), line(KindResponse, 2, "B"), line(KindResponse, 1, "A")}, "\n")
	apart := strings.Join([]string{head, line(KindRequest, 1, "a"), line(KindResponse, 1, "A"), line(KindRequest, 2, "b"), line(KindResponse, 2, "B")}, "\n")
	for name, tc := range map[string]struct {
		tape string
		ok   bool
	}{"together": {overlapping, true}, "one after the other": {apart, false}} {
		p, err := NewPlayer(strings.NewReader(tc.tape), new(secret.Redactor))
		if err != nil {
			t.Fatal(err)
		}
		g := p.Generator(Places{})
		var errs []error
		for _, text := range []string{"b", "a"} {
			for _, err := range g.Stream(t.Context(), &model.Request{Model: "m", PromptID: "x", Contents: []model.Content{model.UserText(text)}}) {
				errs = append(errs, err)
			}
		}
		if ok := errors.Join(errs...) == nil; ok != tc.ok || (p.Err() == nil) != tc.ok {
			t.Errorf("%s: %v, %v", name, errs, p.Err())
		}
	}
}

func TestDifference(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{
		{`{"x":1}`, `{"x":1}`, ""},
		{`{"x":1}`, `{"x":2}`, "at x\n  - recorded: 1\n  + now:      2"},
		{`{"x":[1,2]}`, `{"x":[1]}`, "at x[1]\n  - recorded: 2\n  + now:      (nothing)"},
		{`{}`, `{"y":"n"}`, "at y\n  - recorded: (nothing)\n  + now:      n"},
		{`{"c":[{"t":"a\nb\nc"}]}`, `{"c":[{"t":"a\nB\nc"}]}`, "at c[0].t, line 2\n  - recorded: b\n  + now:      B"},
		{`"s-0123456789abcdef0123456.t1"`, `"s-9123456789abcdef0123456.t1"`, ""},
		{`"Today's date: Monday, 1 May 2026. Operating"`, `"Today's date: Friday, 21 November 2025. Operating"`, ""},
		{`"/tmp/redline-s-1-22/x"`, `"/tmp/redline-s-2-33/x"`, ""},
		{`{"x":{}}`, `{"x":"s"}`, "at x\n  - recorded: {}\n  + now:      s"},
	} {
		if got := difference([]byte(tc.a), []byte(tc.b)); got != tc.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", tc.a, tc.b, got, tc.want)
		}
	}
}
