package emacs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// Sessions: titles, mode and model, a prompt that waits, forking, listing, deleting, going
// on in another Emacs; what was applied taken back; checkpoints; usage; ediff.
func TestSessions(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"a.txt": poem, "pic.png": "\x89PNG"})
	a := filepath.Join(root, "a.txt")
	srv := geminitest.New(t,
		geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n"), replace(a, "five\n", "FIVE\n")),
		geminitest.Say("First."), geminitest.Say("Second."), geminitest.Say("Third."),
	)
	e := start(t, root, srv.URL)
	e.do(`(show "a.txt" 1) (redline-ask "shout") (await-hunks 3)
		(switch-to-buffer (redline--session-buffer (session)))
		(goto-char (point-max)) (insert "and then?") (redline-chat-queue)`)
	contains(t, "the chat", get[string](e, "(chat)"), "waits for the end of the turn: and then?", "[Accept all]")

	// The diff: two hunks by its keys, one through Ediff.
	e.do(`(redline-review)`)
	equal(t, "the diff", get[string](e, `(switch-to-buffer "*redline review: 001*") (mapconcat (lambda (l) (format "%%s\n" l)) (cl-remove-if-not (lambda (l) (string-match-p "\\`+"`"+`[-+]" l)) (split-string (buffer-string) "\n")) "")`),
		"--- a/a.txt\n+++ b/a.txt\n-two\n+TWO\n-five\n+FIVE\n-nine\n+NINE\n")
	e.do(`(goto-char (point-min)) (search-forward "+FIVE") (keys "a") (await-hunks 2)
		(goto-char (point-min)) (search-forward "-two") (keys "n") (should-be-at "-nine" "+NINE")`)
	e.do(`(answer-reads nil (lambda () (search-backward "@@") (keys "E")
			(with-current-buffer "*redline proposed: a.txt*" (goto-char (point-min)) (search-forward "TWO") (replace-match "Two" t)
				(goto-char (point-min)) (search-forward "NINE") (replace-match "nine" t))
			(with-current-buffer ediff-control-buffer (ediff-really-quit nil)) (await-end)))
		(await "the second answer" (string-search "Second." (chat)))`)
	equal(t, "the buffer", get[string](e, `(text "a.txt")`), strings.NewReplacer("two", "Two", "five", "FIVE").Replace(poem))
	contains(t, "what the model is told", told(t, srv, 1), "Two", "rejected")

	e.do(`(answer-reads (list (cl-find-if (lambda (n) (string-search "FIVE" n)) (mapcar #'car (redline--revert-choices (server))))) (lambda () (call-interactively #'redline-revert)))
		(await "the way back" (string-search "five" (text "a.txt")))`)
	equal(t, "the buffer", get[string](e, `(text "a.txt")`), strings.NewReplacer("two", "Two").Replace(poem))

	e.do(`(redline-set-mode "plan")`)
	equal(t, "the mode", get[string](e, `(redline--session-mode (session))`), "plan")
	e.do(`(redline-set-model "flash") (redline-usage)`)
	contains(t, "the usage", get[string](e, `(with-current-buffer "*redline usage*" (buffer-string))`), "Together", "tokens")

	e.do(`(redline-checkpoints) (switch-to-buffer "*redline checkpoints: 001*")`)
	contains(t, "the checkpoints", get[string](e, "(buffer-string)"), "shout", "and then?")
	e.do(`(goto-char (point-min)) (search-forward "shout") (redline-checkpoints-preview)`)
	contains(t, "the preview", get[string](e, `(with-current-buffer "*redline preview: 001*" (buffer-string))`), "-Two", "+two")
	e.do(`(redline-checkpoints-restore "files") (await "the way back" (equal (text "a.txt") %s)) (await "a word" (drive-said "gone back"))`, quote(poem))

	e.do(`(redline-sessions) (switch-to-buffer "*redline sessions: 001*")`)
	contains(t, "the sessions", get[string](e, "(buffer-string)"), "shout", "plan")
	e.do(`(setq first (session)) (goto-char (point-min)) (search-forward "shout") (redline-sessions-fork)`)
	contains(t, "the copy", get[string](e, "(chat)"), "First.", "Second.")
	equal(t, "another", get[string](e, `(if (eq first (session)) "the same" "another")`), "another")
	e.do(`(redline-sessions) (switch-to-buffer "*redline sessions: 001*") (goto-char (point-min)) (forward-line)
		(while (not (equal (tabulated-list-get-id) (redline--session-id (session)))) (forward-line))
		(answer-reads nil #'redline-sessions-delete)`)
	equal(t, "the sessions left", get[string](e, `(format "%%d" (length tabulated-list-entries))`), "1")
	e.do(`(redline-resume (redline--session-id first)) (kill-buffer (redline--session-buffer first)) (redline)`)
	contains(t, "a chat that was closed", get[string](e, "(chat)"), "shout", "First.")

	// Stopped and started again, the conversation goes on.
	e.do(`(redline-set-mode "default") (redline-restart) (switch-to-buffer (redline--session-buffer first)) (goto-char (point-max))
		(insert "once more") (redline-chat-send) (await "the answer" (string-search "Third." (chat)))`)
	if n := strings.Count(get[string](e, "(chat)"), "First."); n != 1 {
		t.Errorf("the first answer is there %d times", n)
	}
}

// What is attached to a prompt, and mentioned in it.
func TestContext(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"a.el": "(defun first-one ()\n  \"Doc.\"\n  1)\n\n(defun second-one ()\n  (first-one))\n"})
	el := filepath.Join(root, "a.el")
	srv := geminitest.New(t,
		geminitest.Say("Seen."),
		geminitest.Do(
			geminitest.NewCall("find_symbols", map[string]any{"path": el}),
			geminitest.NewCall("find_definition", map[string]any{"path": el, "line": 6, "symbol": "first-one"}),
		),
		geminitest.Do(replace(el, "  1)\n", "  (undefined-thing 1)\n")),
		geminitest.Say("Done."),
	)
	e := start(t, root, srv.URL)
	e.do(`(show "a.el" 5) (emacs-lisp-mode)
		(flymake-mode 1)
		(defun look-for-undefined (report &rest _)
			(funcall report (save-excursion (goto-char (point-min))
				(when (search-forward "undefined-thing" nil t)
					(list (flymake-make-diagnostic (current-buffer) (match-beginning 0) (match-end 0) :warning "not known to be defined"))))))
		(setq flymake-diagnostic-functions '(look-for-undefined))
		(set-mark (point)) (goto-char (point-max)) (activate-mark)
		(redline-attach "selection") (switch-to-buffer (redline--session-buffer (session)))`)
	contains(t, "the chat", get[string](e, "(chat)"), "+ selection a.el:5-6")
	e.do(`(goto-char (point-max)) (insert "what is this?") (redline-chat-send) (await-end)`)
	r, err := srv.Await(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "the prompt", r.Last().Texts(), "what is this?", "(defun second-one ()")
	e.do(`(eval-buffer (find-buffer-visiting (expand-file-name "a.el"))) (redline-ask "look") (await-hunks 1)`)
	answers := told(t, srv, 2)
	contains(t, "symbols and definition", answers, "second-one", "a.el")
	e.do(`(redline-accept-all) (await "the end" (string-search "Done." (chat))) (await-end)`)
	contains(t, "problems after the edit", told(t, srv, 3), "not known to be defined")
}
