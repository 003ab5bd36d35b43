//go:build linux

package vscode_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVSCodeRequests has a server ask the editor everything it may ask: questions to the
// user, in the chat and without it, and what the editor knows of the code.
func TestVSCodeRequests(t *testing.T) {
	installed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t, map[string]string{
		"main.css":  ":root {\n  --main: #ff0000;\n}\na { color: var(--main); }\n",
		"data.json": "{\"a\": 1,}\n",
	})
	uri := (&url.URL{Scheme: "file", Path: filepath.Join(dir, "main.css")}).String()
	data := (&url.URL{Scheme: "file", Path: filepath.Join(dir, "data.json")}).String()
	answers := filepath.Join(t.TempDir(), "answers")
	w := start(t, setup{
		folder: dir, env: map[string]string{fakeServer: answers}, open: []string{"main.css"},
		settings: map[string]any{"redline.server.path": self, "workbench.colorTheme": "Light Modern"},
	})

	at := map[string]any{"uri": uri, "position": map[string]int{"line": 3, "character": 17}}
	approve := map[string]any{
		"sessionId": "s", "turnId": "t", "callId": "c1", "subject": map[string]string{"type": "command"},
		"title": "Run a command?", "detail": "go test ./...",
		"options": []map[string]string{
			{"optionId": "once", "label": "Allow once", "kind": "once"},
			{"optionId": "always", "label": "Always allow", "kind": "always"},
			{"optionId": "no", "label": "Reject", "kind": "reject"},
		},
	}
	again := map[string]any{}
	for k, v := range approve {
		again[k] = v
	}
	again["callId"] = "c2"
	requests, err := json.Marshal([]fakeRequest{
		{"editor/definition", at},
		{"editor/references", at},
		{"editor/hover", map[string]any{"uri": uri, "position": map[string]int{"line": 3, "character": 5}}},
		{"editor/symbols", map[string]any{"uri": uri}},
		{"editor/rename", map[string]any{"uri": uri, "position": at["position"], "newName": "--other"}},
		{"editor/openBuffers", map[string]any{}},
		{"editor/diagnostics", map[string]any{"uri": data, "waitMs": 5000}},
		{"editor/format", map[string]any{"uri": uri}},
		{"editor/save", map[string]any{"uris": []string{uri, "file:///nowhere"}}},
		{"agent/approve", approve},
		{"agent/ask", map[string]any{"sessionId": "s", "question": "Which one?", "options": []string{"left", "right"}}},
		{"agent/approve", again},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.openFile("data.json") // its language starts with it
	w.openFile("main.css")
	w.wait(".colorpicker-color-decoration", "") // its language is ready
	w.click(`.view-line:has-text("var(--main)")`)
	w.press("End")
	w.typeText(" ")
	w.run("Redline: Focus Chat")
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	w.typeText(string(requests))
	w.press("Enter")

	w.waitChat(".approve", "go test ./...")
	w.shot("1-approve")
	w.clickChat(`.approve button:has-text("Allow once")`)
	w.waitChat(".approve .verdict", "Allow once")
	w.waitChat(".approve", "Which one?")
	w.clickChat(`.approve button:has-text("right")`)
	w.do(command{"op": "wait", "in": "chat", "sel": `.approve:has(button)`, "has": "go test ./..."})
	// Out of sight of the chat a notification asks; in its sight it goes.
	w.click(`.activitybar [aria-label^="Explorer"]`)
	w.gone("iframe.webview.ready")
	w.wait(".notification-toast", "go test ./...")
	w.click(`.activitybar [aria-label^="Redline"]`)
	w.waitChat(".approve", "go test ./...")
	w.gone(".notification-toast")
	w.click(`.activitybar [aria-label^="Explorer"]`)
	w.wait(".notification-toast", "go test ./...")
	w.shot("2-notification")
	w.do(command{"op": "click", "sel": ".notification-toast a", "has": "Reject and say why"})
	w.wait(`.quick-input-widget input[type="text"]`, "")
	w.typeText("Vet it first.")
	w.press("Enter")
	w.gone(".notification-toast")
	w.click(`.activitybar [aria-label^="Redline"]`)
	w.waitChat(".approve .verdict", "Reject")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})

	lines := strings.Split(strings.TrimSpace(read(t, answers)), "\n")
	for i, want := range [][]string{
		{`"redline":{"version":1,"proposals":{},"approve":{},"ask":{}`, `"utf-16"`},
		{`"uri":"` + uri + `"`, `"line":1,"character":2`},
		{`"line":1,"character":2`, `"line":3,"character":15`},
		{`"markdown"`, `color`},
		{`"name":":root"`, `"selectionRange"`},
		{`"newText":"--other"`, `"documentChanges"`},
		{`"languageId":"css"`, `"dirty":true`},
		{`"Trailing comma"`, `"uri":"` + data},
		{`"newText"`},
		{`"saved":["` + uri + `"]`, `"failed":["file:///nowhere"]`},
		{`"optionId":"once"`},
		{`"answer":"right"`},
		{`"optionId":"no"`, `"feedback":"Vet it first."`},
	} {
		if i >= len(lines) {
			t.Errorf("there is no answer %d", i)
			continue
		}
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("answer %d lacks %s: %s", i, part, lines[i])
			}
		}
	}
}

// TestVSCodeStale decides on a state of a proposal that the server has left: the decision
// is made again on the present one, without a word to the user.
func TestVSCodeStale(t *testing.T) {
	installed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t, map[string]string{"a.txt": "one\ntwo\n"})
	answers := filepath.Join(t.TempDir(), "answers")
	w := start(t, setup{
		folder: dir, env: map[string]string{fakeServer: answers}, open: []string{"a.txt"},
		settings: map[string]any{"redline.server.path": self},
	})
	position := func(line int) map[string]int { return map[string]int{"line": line, "character": 0} }
	event, err := json.Marshal([]fakeRequest{{"agent/event", map[string]any{
		"sessionId": "s", "seq": 2, "turnId": "t", "event": map[string]any{
			"type": "proposal/updated", "proposal": map[string]any{
				"proposalId": "p", "rev": 1, "sessionId": "s", "turnId": "t", "callIds": []string{}, "title": "Edit a.txt",
				"state": "open", "diff": "", "files": []any{map[string]any{
					"fileId": "f", "uri": (&url.URL{Scheme: "file", Path: filepath.Join(dir, "a.txt")}).String(), "op": "edit",
					"base": map[string]any{"version": nil, "hash": "", "eol": "lf", "bom": false, "encoding": "utf-8"},
					"hunks": []any{map[string]any{
						"hunkId": "h", "range": map[string]any{"start": position(1), "end": position(2)},
						"oldText": "two\n", "newText": "2\n", "state": "pending",
					}},
				}},
			},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	w.ask(string(event))
	w.inView(".review-widget", "Change 1 of 1")
	w.click(`.review-widget .comment-body a:has-text("Accept")`)
	w.gone(".review-widget")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
	lines := strings.Split(strings.TrimSpace(read(t, answers)), "\n")
	if len(lines) != 3 { // initialize and two decisions
		t.Fatalf("the server was told %q", lines)
	}
	for i, rev := range []string{`"rev":1`, `"rev":2`} {
		if !strings.Contains(lines[i+1], rev) || !strings.Contains(lines[i+1], `{"target":{"hunkId":"h"},"decision":"accept"}`) {
			t.Errorf("decision %d: %s", i, lines[i+1])
		}
	}
}
