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

// TestVSCodeTyping measures what typing costs in a document with 50 changes shown, beside the
// same document before they came and after they were rejected: from the key to the frame that
// shows it. Twice the time fails it; the ratio itself is logged.
func TestVSCodeTyping(t *testing.T) {
	found(t)
	var before strings.Builder
	var calls []geminitest.Call
	dir := workspace(t, map[string]string{"long.go": ""})
	path := filepath.Join(dir, "long.go")
	before.WriteString("package long\n")
	for i := range 500 {
		fmt.Fprintf(&before, "\n// f%03d returns its number.\nfunc f%03d() int {\n\treturn %d\n}\n", i, i, i)
		if i%10 == 5 {
			calls = append(calls, edit(path, fmt.Sprintf("\treturn %d\n", i), fmt.Sprintf("\tn := %d\n\treturn n\n", i)))
		}
	}
	write(t, path, before.String())
	srv := geminitest.New(t, geminitest.Do(calls...), geminitest.Say("As you wish."))
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
	})
	measure := func(line int) (median, p95 float64) {
		t.Helper()
		w.do(command{"op": "goto", "file": "long.go", "line": line})
		w.press("End")
		var ms []float64
		keys := strings.Repeat("typing here ", 8)
		if err := json.Unmarshal(w.do(command{"op": "latency", "text": strings.ReplaceAll(keys, " ", "_")}), &ms); err != nil {
			t.Fatal(err)
		}
		ms = ms[len(ms)/6:] // the first ones wake what slept
		slices.Sort(ms)
		return ms[len(ms)/2], ms[len(ms)*95/100]
	}
	// Each time a comment that is as long as the others, beside the 25th change.
	none, none95 := measure(1213)
	w.ask("Name the numbers.")
	w.wait(".pane-header .description", "50 to review")
	w.do(command{"op": "goto", "file": "long.go", "line": 1230})
	w.inView(".review-widget", "Change 25 of 50")
	some, some95 := measure(1223)
	w.inView(".review-widget", "Change 25 of 50")
	w.shot("1-fifty")
	w.run("Redline: Reject All Changes")
	w.waitChat(".answer", "As you wish.")
	again, again95 := measure(1218)
	t.Logf("ms from key to frame, median and 95th: %.1f %.1f without, %.1f %.1f with 50 changes, %.1f %.1f without again: ratio %.2f",
		none, none95, some, some95, again, again95, some/max(none, again))
	if some > 2*max(none, again) {
		t.Errorf("typing takes %.1f ms with 50 changes shown, %.1f and %.1f without", some, none, again)
	}
}
