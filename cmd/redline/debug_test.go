package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/lsp/lsptest"
)

// The page of --debug says what the server is at; it has no text of the documents, and
// answers nobody who calls this machine by another name.
func TestServeDebug(t *testing.T) {
	root, logs := t.TempDir(), filepath.Join(t.TempDir(), "log")
	gemini := geminitest.New(t, geminitest.Do(geminitest.NewCall("replace", map[string]any{
		"file_path": filepath.Join(root, "a.txt"), "old_string": "private", "new_string": "public",
	})), geminitest.Say("Done."))
	e := binaryWith(t, gemini, lsptest.Options{Root: root, Files: map[string]string{"a.txt": "private\n"}},
		[]string{"--model", "gemini-test", "--debug", "127.0.0.1:0", "--log-file", logs})
	e.Open("a.txt")
	_, turn := ask(e, "go")
	var p struct {
		Proposal struct {
			ProposalID string
			Rev        int
		}
	}
	if err := e.WaitEvent(lsptest.InTurn(turn, "proposal/updated")).Decode(&p); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(logs)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(log))
	if url == "" {
		t.Fatalf("the log does not say where the page is:\n%s", log)
	}
	get := func(path, host string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	_, page := get("/", "")
	for _, want := range []string{"running", "1 of 1 hunks undecided", "a.txt  version 1  8 bytes", "agent/session/new"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "private\n") || strings.Contains(page, "public") {
		t.Errorf("the page has the document's text:\n%s", page)
	}
	if code, body := get("/debug/pprof/goroutine?debug=1", ""); code != http.StatusOK || !strings.Contains(body, "goroutine profile") {
		t.Errorf("profiles: %d", code)
	}
	if code, _ := get("/", "evil.example:80"); code != http.StatusForbidden {
		t.Errorf("another name of this machine is answered %d", code)
	}
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.Proposal.ProposalID, "rev": p.Proposal.Rev, "decisions": []any{
		map[string]any{"target": "all", "decision": "accept"},
	}}, nil)
	end(t, e, turn)
}
