package emacs_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"redline/agent/geminitest"
)

// languageServer is a small language server on standard input and output, for eglot: a word is
// defined where it stands first; what is wrong is the word "bad"; hovering tells the whole
// text as the server has it. Positions are in UTF-16.
func languageServer(in io.Reader, out io.Writer) {
	r, texts := bufio.NewReader(in), map[string]string{}
	send := func(m map[string]any) {
		m["jsonrpc"] = "2.0"
		body, _ := json.Marshal(m)
		fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	for {
		length := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, _ = strconv.Atoi(n)
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				TextDocument   struct{ URI, Text string }
				ContentChanges []struct{ Text string }
				Position       struct{ Line, Character int }
				NewName        string
			}
		}
		_ = json.Unmarshal(body, &m)
		p, u := m.Params, m.Params.TextDocument.URI
		var result any
		switch m.Method {
		case "initialize":
			result = map[string]any{"capabilities": map[string]any{
				"positionEncoding": "utf-16", "textDocumentSync": 1, "definitionProvider": true, "referencesProvider": true,
				"hoverProvider": true, "renameProvider": true,
			}}
		case "exit":
			return
		case "textDocument/didOpen", "textDocument/didChange":
			if texts[u] = p.TextDocument.Text; m.Method == "textDocument/didChange" {
				texts[u] = p.ContentChanges[0].Text
			}
			problems := []any{}
			for _, at := range places(texts[u], "bad") {
				problems = append(problems, map[string]any{"range": at, "severity": 1, "message": "this is bad", "source": "little"})
			}
			send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{"uri": u, "diagnostics": problems}})
		case "textDocument/hover":
			result = map[string]any{"contents": texts[u]}
		case "textDocument/definition", "textDocument/references", "textDocument/rename":
			var found, edits []any
			for _, at := range places(texts[u], wordAt(texts[u], p.Position.Line, p.Position.Character)) {
				found = append(found, map[string]any{"uri": u, "range": at})
				edits = append(edits, map[string]any{"range": at, "newText": p.NewName})
			}
			switch result = found; m.Method {
			case "textDocument/definition":
				result = found[:1]
			case "textDocument/rename":
				result = map[string]any{"changes": map[string]any{u: edits}}
			}
		}
		if m.ID != nil && m.Method != "" {
			send(map[string]any{"id": m.ID, "result": result})
		}
	}
}

// units returns the length of s in UTF-16.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// places returns the ranges of a word in a text.
func places(text, word string) (out []any) {
	for i, line := range strings.Split(text, "\n") {
		for at := 0; word != ""; {
			n := strings.Index(line[at:], word)
			if n < 0 {
				break
			}
			at += n
			from := units(line[:at])
			out = append(out, map[string]any{
				"start": map[string]int{"line": i, "character": from},
				"end":   map[string]int{"line": i, "character": from + units(word)},
			})
			at += len(word)
		}
	}
	return out
}

// wordAt returns the word that begins at a position.
func wordAt(text string, line, character int) string {
	lines := strings.Split(text, "\n")
	rest := string(utf16.Decode(utf16.Encode([]rune(lines[line]))[character:]))
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// Beside eglot and lsp-mode: both servers know what is in the buffer, the agent uses what the
// language server knows, and a renaming is a proposal that is right though they count differently.
func TestBeside(t *testing.T) {
	exe := program(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		start, text string // Lisp: connects in the current buffer; returns the text as the server has it
		end         string
	}{
		{
			"eglot", `(require 'eglot) (setq project-find-functions (list (lambda (_) (cons 'transient default-directory))))
				(setq eglot-server-programs (list (cons 'text-mode (list %s))) eglot-sync-connect 20 eglot-autoshutdown t)
				(apply #'eglot (eglot--guess-contact)) (await "eglot" (eglot-current-server))`,
			`(progn (eglot--signal-textDocument/didChange)
				(plist-get (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams)) :contents))`,
			`(eglot-shutdown (eglot-current-server))`,
		},
		{
			"lsp-mode", `(add-to-list 'load-path ` + quote(filepath.Join(filepath.Dir(exe), "lsp-mode")) + `) (dolist (l '(lsp-mode lsp-modeline lsp-diagnostics lsp-completion lsp-lens lsp-icons)) (require l))
				(setq lsp-auto-guess-root t lsp-restart 'ignore lsp-enable-file-watchers nil lsp-headerline-breadcrumb-enable nil lsp-modeline-code-actions-enable nil
					lsp-client-packages nil lsp-lens-enable nil lsp-enable-snippet nil lsp-session-file (expand-file-name "session" (getenv "HOME")) lsp-diagnostics-provider :none)
				(add-to-list 'lsp-language-id-configuration '(text-mode . "plaintext"))
				(lsp-register-client (make-lsp-client :new-connection (lsp-stdio-connection (list %s)) :major-modes '(text-mode) :server-id 'little))
				(lsp) (await "lsp-mode" (lsp-feature? "textDocument/hover"))`,
			`(plist-get (redline--plain (lsp-request "textDocument/hover" (lsp--text-document-position-params))) :contents)`,
			`(lsp-workspace-shutdown (car (lsp-workspaces)))`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := workspace(t, map[string]string{"a.txt": "🎉 alpha beta\nbeta gamma\nsay 🎉 beta é\n"})
			a := filepath.Join(root, "a.txt")
			srv := geminitest.New(t,
				geminitest.Do(
					geminitest.NewCall("find_definition", map[string]any{"file_path": a, "line": 3, "symbol": "beta"}),
					geminitest.NewCall("find_references", map[string]any{"file_path": a, "line": 1, "symbol": "beta"}),
					geminitest.NewCall("get_hover", map[string]any{"file_path": a, "line": 2, "symbol": "gamma"}),
				),
				geminitest.Do(geminitest.NewCall("rename_symbol", map[string]any{"file_path": a, "line": 1, "symbol": "beta", "new_name": "bad"})),
				geminitest.Say("Renamed."),
			)
			e := start(t, root, srv.URL, "REDLINE_FAKE_LSP=1")
			e.do(`(show "a.txt") (text-mode) %s`, fmt.Sprintf(c.start, quote(self)))
			e.do(`(goto-char (point-max)) (insert "typed\n") (redline-ask "rename beta") (await "hunks" (hunks))`)
			answers := told(t, srv, 1)
			contains(t, "what the language server knows", answers, "a.txt:1", "a.txt:3", "typed")
			e.do(`(redline-accept-all) (await-end)`)
			want := "🎉 alpha bad\nbad gamma\nsay 🎉 bad é\ntyped\n"
			equal(t, "the buffer", get[string](e, `(text "a.txt")`), want)
			contains(t, "what the model is told", told(t, srv, 2), "this is bad")
			equal(t, "what the language server has", get[string](e, `(show "a.txt") %s`, c.text), want)
			contains(t, "what can be attached", get[string](e, `(plist-get (cdr (redline--context-diagnostics)) :text)`), "line 1: error: ", "this is bad")
			e.do("%s", c.end)
		})
	}
}
