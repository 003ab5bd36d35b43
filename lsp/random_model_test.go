package lsp_test

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"

	"redline/agent/agenttest"
	"redline/agent/model"
)

// randomModel hands each request to the test and plays what it answers.
type randomModel struct {
	asked  chan *model.Request
	answer chan []modelCall
}

// modelCall is a call and what it means to do.
type modelCall struct {
	agenttest.Call
	file    string
	added   []string // tokens that are new
	removed []string // tokens that go
	text    string   // of a read: what the file holds
}

// Generator is what a session takes.
func (m *randomModel) Generator(context.Context) (model.ContentGenerator, error) { return m, nil }

// Stream implements [model.ContentGenerator].
func (m *randomModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		select {
		case m.asked <- req:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		var calls []modelCall
		select {
		case calls = <-m.answer:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		step := agenttest.Step{Text: []string{"on it"}}
		for _, c := range calls {
			step.Calls = append(step.Calls, c.Call)
		}
		for c, err := range agenttest.NewModel(step).Stream(ctx, req) {
			if !yield(c, err) {
				return
			}
		}
	}
}

// answerModel makes the model do something with the files as they are.
func (w *world) answerModel() {
	w.calls = nil
	w.interfered = w.interfered && len(w.staged) > 0
	if !w.chance(20) {
		now := map[string]string{}
		for range 1 + w.rng.IntN(4) {
			f := w.files[w.rng.IntN(len(w.files))]
			if _, ok := now[f]; !ok {
				now[f] = lf(strings.TrimPrefix(w.e.Text(f), "\ufeff"))
			}
			switch n := w.rng.IntN(10); {
			case n < 6:
				w.modelReplace(f, now)
			case n < 8 && !slices.ContainsFunc(w.staged, func(c modelCall) bool { return c.file == f }):
				w.modelWrite(f, now) // of what is staged the document says nothing
			case n < 9:
				w.modelCreate()
			default:
				c := modelCall{Call: agenttest.Call{Name: "read_file", Args: map[string]any{"path": f}}, file: f}
				if !slices.ContainsFunc(append(slices.Clone(w.staged), w.calls...), func(c modelCall) bool { return c.file == f }) {
					c.text = w.e.Text(f) // else it sees what the step has staged
				}
				w.calls = append(w.calls, c)
			}
		}
	}
	for _, c := range w.calls {
		w.note("model calls %s %s", c.Name, mustJSON(c.Args))
	}
	if len(w.calls) == 0 {
		w.note("model answers")
	}
	w.asked = nil
	w.model.answer <- w.calls
}

// edited returns text with one line, chosen among those with tokens, changed. The
// user's tokens are left alone.
func (w *world) edited(text string, c *modelCall) (old, new string) {
	list := anchors(text)
	if len(list) == 0 {
		return "", ""
	}
	t := list[w.rng.IntN(len(list))]
	at := strings.Index(text, t)
	start := strings.LastIndexByte(text[:at], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i + 1
	}
	old = text[start:end]
	added := w.token("‹", "›")
	mine := !strings.Contains(old, "«")
	switch n := w.rng.IntN(4); {
	case n == 0 && mine:
		c.removed = append(c.removed, anchors(old)...)
		return old, ""
	case n == 1 && mine:
		c.removed = append(c.removed, anchors(old)...)
		new = "rewritten " + added + "\n"
	case n == 2:
		new = "above " + added + "\n" + old
	default:
		new = strings.TrimSuffix(old, "\n") + " " + added
		if strings.HasSuffix(old, "\n") {
			new += "\n"
		}
	}
	c.added = append(c.added, added)
	return old, new
}

func (w *world) modelReplace(f string, now map[string]string) {
	c := modelCall{file: f}
	old, new := w.edited(now[f], &c)
	if old == "" {
		return
	}
	c.Call = agenttest.Call{Name: "replace", Args: map[string]any{"file_path": w.e.Path(f), "old_string": old, "new_string": new}}
	now[f] = strings.Replace(now[f], old, new, 1)
	w.calls = append(w.calls, c)
}

func (w *world) modelWrite(f string, now map[string]string) {
	c := modelCall{file: f}
	for _, earlier := range append(slices.Clone(w.staged), w.calls...) {
		if earlier.file == f { // whatever it added that is not in the whole content goes
			c.removed = append(c.removed, filter(earlier.added, func(t string) bool { return !strings.Contains(now[f], t) })...)
		}
	}
	for range 1 + w.rng.IntN(4) {
		old, new := w.edited(now[f], &c)
		if old != "" {
			now[f] = strings.Replace(now[f], old, new, 1)
		}
	}
	// A token that a later change of the same call took away was never added.
	c.added = filter(c.added, func(t string) bool { return strings.Contains(now[f], t) })
	c.Call = agenttest.Call{Name: "write_file", Args: map[string]any{"file_path": w.e.Path(f), "content": now[f]}}
	w.calls = append(w.calls, c)
}

func (w *world) modelCreate() {
	token := w.token("‹", "›")
	name := "new/" + strings.Trim(token, "‹›") + ".txt"
	w.files = append(w.files, name)
	w.calls = append(w.calls, modelCall{
		Call: agenttest.Call{Name: "write_file", Args: map[string]any{"file_path": w.e.Path(name), "content": "created " + token + "\n"}},
		file: name, added: []string{token},
	})
}

func filter(list []string, keep func(string) bool) (out []string) {
	for _, s := range list {
		if keep(s) {
			out = append(out, s)
		}
	}
	return out
}

// checkAccount compares what the model is told of its last step, and of edits that
// were staged before, with the documents.
func (w *world) checkAccount() {
	last := w.asked.Contents[len(w.asked.Contents)-1]
	for _, p := range last.Parts {
		if text := p.Value().Text; len(w.staged) > 0 && strings.Contains(text, "The edits you had staged were reviewed.") && !strings.Contains(text, "[Since your last message]") {
			w.checkStaged(text)
		}
	}
	if len(w.calls) == 0 {
		return
	}
	var told []string
	for i := len(w.asked.Contents) - 1; i >= 0 && told == nil; i-- {
		for _, p := range w.asked.Contents[i].Parts {
			if fr := p.Value().FunctionResponse; fr != nil {
				out, _ := fr.Response["output"].(string)
				err, _ := fr.Response["error"].(string)
				if err != "" {
					out = failed + err
				}
				told = append(told, out)
			}
		}
	}
	if len(told) != len(w.calls) {
		w.t.Errorf("%d calls have %d responses", len(w.calls), len(told))
		return
	}
	for i, c := range w.calls {
		if strings.HasPrefix(told[i], "Staged, not yet reviewed") {
			w.staged = append(w.staged, c)
		}
	}
	w.checkCalls(w.calls, told)
}

// failed begins the response of a call that failed.
const failed = "error: "

var stagedCall = regexp.MustCompile(`\n\n(?:replace|write_file) \([^\n]*?\): `)

// checkStaged checks the account of the edits that waited for the end of the turn.
func (w *world) checkStaged(text string) {
	told := stagedCall.Split(text, -1)[1:]
	if len(told) != len(w.staged) {
		w.t.Errorf("%d staged calls have %d verdicts:\n%s", len(w.staged), len(told), text)
		return
	}
	for i := range told {
		if strings.Contains(told[i], "was rejected; nothing of it is in the file.") {
			told[i] = failed + told[i]
		}
	}
	w.checkCalls(w.staged, told)
	w.staged = nil
}

// checkCalls compares what was told of each call with the documents.
func (w *world) checkCalls(calls []modelCall, responses []string) {
	later := map[string]bool{} // tokens that a later call of the step took away or wrote again
	for i := len(calls) - 1; i >= 0; i-- {
		c, told := calls[i], responses[i]
		text := w.e.Text(c.file)
		has := func(token string, want bool) {
			if later[token] {
				return
			}
			if got := strings.Contains(text, token); got != want {
				w.t.Errorf("the model was told of %s %s:\n%s\nbut the document has %s: %v\n%s", c.Name, mustJSON(c.Args), told, token, got, text)
			}
		}
		switch {
		case w.unseen(c.file):
		case c.Name == "read_file":
			for _, t := range anchors(c.text) { // unsaved or not
				if !strings.Contains(told, t) {
					w.t.Errorf("read_file of %s lacks %s:\n%s", c.file, t, told)
				}
			}
		case strings.Contains(told, "was not taken as proposed"):
			w.checkHunks(told, text, later, c)
		case strings.HasPrefix(told, "Staged, not yet reviewed"):
			for _, t := range c.added {
				has(t, false)
			}
		case strings.Contains(told, "A later edit of the same step replaced this one"), strings.Contains(told, "othing to change"):
		case strings.HasPrefix(told, failed):
			for _, t := range c.added {
				has(t, false)
			}
		default:
			for _, t := range c.added {
				has(t, true)
			}
			for _, t := range c.removed {
				has(t, false)
			}
		}
		for _, t := range append(c.added, c.removed...) {
			later[t] = true
		}
	}
}

// checkHunks reads an account hunk by hunk.
func (w *world) checkHunks(told, text string, later map[string]bool, c modelCall) {
	state := ""
	for line := range strings.Lines(told) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "Hunk ") && strings.HasSuffix(line, ":"):
			_, state, _ = strings.Cut(strings.TrimSuffix(line, ":"), ", ")
			state, _, _ = strings.Cut(state, " (")
			continue
		case line == "Not applied:" || strings.HasSuffix(line, "Not applied:"):
			state = "not applied"
			continue
		case line == "The file still has:":
			state = "still"
			continue
		}
		if line == "" || !strings.ContainsRune("+- ", rune(line[0])) {
			continue
		}
		for _, t := range anchors(line) {
			if strings.HasPrefix(t, "⟦") && state != "still" && line[0] == '+' || later[t] {
				continue // a line that was there and is there again
			}
			want := line[0] != '-' && state != "not applied"
			if state == "not applied" && !slices.Contains(c.added, t) {
				continue
			}
			if got := strings.Contains(text, t); got != want {
				w.t.Errorf("the model was told of %s:\n%s\nbut the document has %s: %v\n%s", mustJSON(c.Args), told, t, got, text)
			}
		}
	}
}
