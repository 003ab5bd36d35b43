package emacs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

const poem = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

// A server that is not there, that is no server, that is of another version, and no
// credentials: each is told, with what to do, and nothing else breaks.
func TestNoServer(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"a.txt": poem})
	e := start(t, root, "")
	failed := func(command string) string {
		t.Helper()
		return get[string](e, `(setq redline-command (list %s)) (condition-case err (progn (redline) "started") (error (error-message-string err)))`, command)
	}
	contains(t, "a program that is not there", failed(`"no-such-redline" "serve"`), "no-such-redline", "redline-command", "go install")
	contains(t, "a program that is no server", failed(`"sh" "-c" "echo this is no server >&2; exit 3"`), "did not start", "this is no server")

	fake := filepath.Join(t.TempDir(), "fake")
	for version, who := range map[string]string{"2": "package", "0": "server"} {
		body := `{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"experimental":{"redline":{"version":` + version + `,"minVersion":` + version + `}}}}}`
		script := "#!/bin/sh\nprintf 'Content-Length: " + itoa(len(body)) + "\\r\\n\\r\\n%s' '" + body + "'\ncat >/dev/null\n"
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		contains(t, "version "+version, failed(quote(fake)), "another version", "update the "+who)
	}
	if n := get[float64](e, "(length redline--servers)"); n != 0 {
		t.Errorf("%v servers are left", n)
	}

	e.do(`(setq redline-command (list (getenv "REDLINE_BIN") "serve")) (show "a.txt") (redline-ask "hello") (await-end)`)
	contains(t, "the chat without credentials", get[string](e, "(chat)"), "GEMINI_API_KEY", "[Sign in]")
	equal(t, "the status", get[string](e, "(redline-account) (car drive-messages)")[:len("Redline: not signed in")], "Redline: not signed in")
}

func itoa(n int) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

// The server is killed in the middle of a turn, with hunks open: it is started again, the
// session goes on and the hunks are there.
func TestKilled(t *testing.T) {
	for _, name := range []string{"emacs-30", oldest} {
		t.Run(name, func(t *testing.T) {
			exe := version(t, name)
			t.Parallel()
			testKilled(t, exe)
		})
	}
}

func testKilled(t *testing.T, exe string) {
	root := workspace(t, map[string]string{"a.txt": poem})
	a := filepath.Join(root, "a.txt")
	srv := geminitest.New(t,
		geminitest.Step{Chunks: []geminitest.Chunk{{Text: "Here they are."}, {Calls: []geminitest.Call{replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n")}}}},
		geminitest.Say("Fine."), geminitest.Say("And so on."),
	)
	e := startIn(t, exe, root, srv.URL)
	e.do(`(show "a.txt" 5) (redline-ask "shout") (await-hunks 2) (keys "C-e ,") (setq first (server))`)
	// It ended within a moment of its start, which would count as a failure to start.
	e.do(`(setf (redline--started first) 0) (signal-process (jsonrpc--process first) 'SIGKILL)
		(await "another server" (and (server) (not (eq (server) first)) (session))) (await-hunks 2)`)
	contains(t, "the chat", get[string](e, "(chat)"), "Here they are.", "in the middle of the turn", "2 pending")
	if n := strings.Count(get[string](e, "(chat)"), "Here they are."); n != 1 {
		t.Errorf("the answer is there %d times", n)
	}
	equal(t, "what is typed", get[string](e, `(line-of "a.txt" 5)`), "five,")
	e.do(`(show "a.txt" 2) (keys "C-c = a") (await-hunks 1) (redline-reject-all "no") (await-hunks 0)`)
	equal(t, "the buffer", get[string](e, `(text "a.txt")`), strings.NewReplacer("two", "TWO", "five", "five,").Replace(poem))
	e.do(`(redline-ask "go on") (await "the next answer" (string-search "Fine." (chat))) (await-end)`)

	// A server that ends right after its start is not started for ever.
	e.do(`(let ((s (server))) (setf (redline--started s) (float-time)) (signal-process (jsonrpc--process s) 'SIGKILL)
		(await "its end" (drive-said "right after its start")))`)
	if n := get[float64](e, "(length redline--servers)"); n != 0 {
		t.Errorf("%v servers are left", n)
	}
	// The next prompt in the chat starts it, and the conversation goes on.
	e.do(`(switch-to-buffer (cl-find-if (lambda (b) (eq (buffer-local-value 'major-mode b) 'redline-chat-mode)) (buffer-list)))
		(goto-char (point-max)) (insert "more") (redline-chat-send) (await "the answer" (string-search "And so on." (chat)))`)
	equal(t, "how many chats there are", get[string](e, `(format "%%s" (cl-count-if (lambda (b) (eq (buffer-local-value 'major-mode b) 'redline-chat-mode)) (buffer-list)))`), "1")
}
