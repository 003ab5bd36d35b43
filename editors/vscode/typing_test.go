//go:build linux

package vscode_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeTyping measures what typing costs, from the key to the frame that shows it:
// in a document with 50 changes shown beside the same document without any, and in the
// prompt under a conversation with 60 calls and a proposal beside the prompt alone. The samples
// alternate in one run, so that both see the same machine. Half as much again fails it;
// the figures are logged.
func TestVSCodeTyping(t *testing.T) {
	found(t)
	var text strings.Builder
	var reads, edits []geminitest.Call
	dir := workspace(t, map[string]string{})
	path := filepath.Join(dir, "long.go")
	text.WriteString("package long\n")
	for i := range 500 {
		fmt.Fprintf(&text, "\n// f%03d returns its number.\nfunc f%03d() int {\n\treturn %d\n}\n", i, i, i)
		if i%10 == 5 {
			edits = append(edits, edit(path, fmt.Sprintf("\treturn %d\n", i), fmt.Sprintf("\tn := %d\n\treturn n\n", i)))
		}
		if i%50 == 0 {
			reads = append(reads, geminitest.NewCall("read_file", map[string]any{"path": path, "offset": i, "limit": 40}))
		}
	}
	write(t, path, text.String())
	write(t, filepath.Join(dir, "none.go"), text.String())
	srv := geminitest.New(t, geminitest.Do(reads...), geminitest.Do(edits...), geminitest.Say("As you wish."))
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
	})
	const rounds = 6
	const keys = "typing_it_here"
	sample := func(into *[]float64, in string) {
		t.Helper()
		var ms []float64
		c := command{"op": "latency", "text": keys}
		if in != "" {
			c["in"] = in
		}
		if err := json.Unmarshal(w.do(c), &ms); err != nil {
			t.Fatal(err)
		}
		*into = append(*into, ms[2:]...) // the first ones wake what slept
	}
	w.ask("Name the numbers.")
	w.wait(".pane-header .description", "50 to review")

	// In the editor: each time at the end of a comment beside the 25th change, whose card
	// is folded as long as the cursor is elsewhere.
	w.do(command{"op": "goto", "file": "long.go", "line": 1230})
	w.inView(".review-widget", "Change 25 of 50")
	w.shot("1-fifty")
	var with, without []float64
	for i := range rounds {
		for j, file := range []string{"none.go", "long.go"} {
			w.do(command{"op": "goto", "file": file, "line": 1213 + 5*i})
			w.press("End")
			sample([]*[]float64{&without, &with}[j], "")
		}
	}
	compare(t, "in the editor with 50 changes", with, without)

	// In the prompt: the conversation is taken off the screen for every other sample.
	with, without = nil, nil
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	for range rounds {
		for j, display := range []string{"none", ""} {
			w.evalChat(`document.getElementById("log").style.display = "` + display + `"`)
			sample([]*[]float64{&without, &with}[j], "chat")
		}
	}
	w.shot("2-prompt")
	compare(t, "in the prompt under 60 calls and a proposal", with, without)
	w.run("Redline: Reject All Changes")
	w.waitChat(".answer", "As you wish.")
}

// compare logs two sets of samples, in milliseconds, and fails when with costs half as
// much again.
func compare(t *testing.T, what string, with, without []float64) {
	t.Helper()
	slices.Sort(with)
	slices.Sort(without)
	at := func(ms []float64, share int) float64 { return ms[len(ms)*share/100] }
	t.Logf("ms from key to frame %s, median and 95th of %d: %.1f %.1f, without %.1f %.1f: ratio %.2f",
		what, len(with), at(with, 50), at(with, 95), at(without, 50), at(without, 95), at(with, 50)/at(without, 50))
	if at(with, 50) > 1.5*at(without, 50)+5 {
		t.Errorf("typing %s takes %.1f ms, %.1f without", what, at(with, 50), at(without, 50))
	}
}
