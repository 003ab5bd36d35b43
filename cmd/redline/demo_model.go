package main

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
)

// demoPrompt is what the demo asks.
const demoPrompt = "tally gives wrong counts when words are separated by newlines or several spaces, and it crashes on short texts. Fix it, and let the user choose how many words to show."

// demoModel plays the model's part of the demo. Only its words are scripted: the
// agent, the tools, the proposal and the review are the real ones, and what it says
// last depends on what it was told of the review.
type demoModel struct {
	folder string
	pause  time.Duration // between words, so that a person can follow
}

// Stream implements [model.ContentGenerator].
func (m *demoModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		text, calls := m.step(req.Contents)
		for _, word := range strings.SplitAfter(text, " ") {
			if !sleep(ctx, m.pause) {
				yield(nil, ctx.Err())
				return
			}
			if word != "" && !yield(&model.Chunk{Parts: []model.Part{model.Text(word)}}, nil) {
				return
			}
		}
		last := &model.Chunk{FinishReason: genai.FinishReasonStop}
		for _, c := range calls {
			last.Parts = append(last.Parts, model.NewPart(&genai.Part{FunctionCall: c}))
		}
		yield(last, nil)
	}
}

// step returns what to say next, given the conversation so far.
func (m *demoModel) step(contents []model.Content) (text string, calls []*genai.FunctionCall) {
	answered := 0
	for _, c := range contents {
		if c.Role == model.RoleModel {
			answered++
		}
	}
	count, main := filepath.Join(m.folder, "count.go"), filepath.Join(m.folder, "main.go")
	call := func(name string, args map[string]any) *genai.FunctionCall {
		return &genai.FunctionCall{Name: name, Args: args}
	}
	switch answered {
	case 0:
		return "Let me see how the words are counted. ", []*genai.FunctionCall{
			call("grep_search", map[string]any{"pattern": `func Top|Top\(`, "include": "*.go"}),
			call("read_file", map[string]any{"path": "count.go"}),
			call("read_file", map[string]any{"path": "main.go"}),
		}
	case 1:
		return "`Top` splits at single spaces only, so a newline sticks to its word and two spaces count an empty one; and `words[:n]` is out of range for fewer than n words. I fix both in `count.go` and add a flag in `main.go`. ", []*genai.FunctionCall{
			call("replace", map[string]any{
				"file_path":  count,
				"old_string": "\tfor _, w := range strings.Split(text, \" \") {\n\t\tcounts[w]++\n",
				"new_string": "\tfor _, w := range strings.Fields(text) {\n\t\tcounts[strings.ToLower(w)]++\n",
			}),
			call("replace", map[string]any{
				"file_path":  count,
				"old_string": "\treturn words[:n]\n",
				"new_string": "\treturn words[:min(n, len(words))]\n",
			}),
			call("replace", map[string]any{
				"file_path":  main,
				"old_string": "import (\n\t\"fmt\"\n",
				"new_string": "import (\n\t\"flag\"\n\t\"fmt\"\n",
			}),
			call("replace", map[string]any{
				"file_path":  main,
				"old_string": "func main() {\n\ttext, err",
				"new_string": "func main() {\n\tn := flag.Int(\"n\", 3, \"how many words to show\")\n\tflag.Parse()\n\ttext, err",
			}),
			call("replace", map[string]any{
				"file_path":  main,
				"old_string": "range Top(string(text), 3)",
				"new_string": "range Top(string(text), *n)",
			}),
		}
	}
	done, refused, shown := verdicts(contents[len(contents)-1])
	switch {
	case shown:
		return "Nothing is changed yet: the proposal was only shown. ", nil
	case refused == 0:
		return "Done: words are now split at any white space and counted without regard to case, short texts no longer crash, and `-n` says how many to show. ", nil
	case done == 0:
		return "You rejected all of it, so nothing has changed. Tell me what you would like instead. ", nil
	}
	return "You took a part of it; what you rejected I left as it was. Say so if the rest should be done another way. ", nil
}

// onlyShown is the reason for which hunks are not applied when nobody is asked.
const onlyShown = "only shown, not applied"

// verdicts counts the calls that went through and those that did not, and tells
// whether nobody was asked.
func verdicts(c model.Content) (done, refused int, shown bool) {
	for _, p := range c.Parts {
		fr := p.Value().FunctionResponse
		if fr == nil {
			continue
		}
		text, failed := fr.Response["error"].(string)
		if !failed {
			done++
			continue
		}
		refused++
		shown = shown || strings.Contains(text, onlyShown)
	}
	return done, refused, shown
}

// sleep waits for d and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
