;;; redline.el --- An AI agent that proposes edits for review  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors

;; Author: The redline authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1"))
;; Keywords: tools, convenience
;; URL: https://github.com/redline/redline
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Redline is an agent that lives in the editor the way a language server does.  You ask; a
;; Gemini model reads your project through tools, including what you have not saved; and every
;; change it wants arrives as hunks, which you accept, reject or amend one by one.  The agent is
;; told what really happened.  What you typed is never overwritten.
;;
;; Install the server (go install ./cmd/redline in Redline's repository) and put this package on the
;; load path:
;;
;;     (add-to-list 'load-path "/path/to/redline/editors/emacs")
;;     (require 'redline)
;;     (keymap-global-set "C-c r" #'redline-menu)
;;
;; Then `M-x redline' opens the chat of the current project, and `M-x redline-ask' asks about the
;; region.  `M-x redline-login' signs in, if there is no GEMINI_API_KEY in the environment.
;;
;; Hunks show in their buffers, with the proposed text below the lines it replaces.
;; There, after C-c = (`redline-review-prefix'):
;;
;;     n p   next, previous hunk, on through all files
;;     a r   accept, reject the hunk        R  reject it and say why
;;     e     change its text, then take it  E  Ediff of the file
;;     A K   accept, reject the file        ! 0  accept, reject all
;;     d     everything as one diff, in which the same keys work without the prefix
;;
;; What was applied is one step of undo in each buffer, and `redline-revert' takes back hunks, files
;; or proposals later on; `redline-checkpoints' goes back to the state before a prompt.
;;
;; Before it runs a command and the like the agent asks, in the minibuffer (`redline-ask-in'); C-g
;; refuses.  Questions are in the chat as well, with buttons.
;;
;; Redline has a connection of its own to its server, one a project, and needs neither eglot
;; nor lsp-mode; beside them it uses what they know: diagnostics through Flymake or lsp-mode,
;; definitions, references, symbols, descriptions and renaming, else xref, imenu and Eldoc.
;;
;; `redline-menu' has the rest: sessions, models, modes, usage, the log.

;;; Code:

(require 'redline-options)
(require 'redline-client)
(require 'redline-session)
(require 'redline-review)
(require 'redline-inline)
(require 'redline-chat)
(require 'redline-context)
(require 'redline-ask)
(require 'redline-editor)
(require 'redline-diff)
(require 'redline-amend)
(require 'redline-account)
(require 'redline-list)
(require 'redline-menu)

;;;###autoload
(defun redline ()
  "Show the chat of the current project, and begin to type there."
  (interactive)
  (with-current-buffer (redline--show-chat (redline--session) t)
    (goto-char (point-max))))

;;;###autoload (autoload 'redline-ask "redline" nil t)
;;;###autoload (autoload 'redline-fix "redline" nil t)
;;;###autoload (autoload 'redline-login "redline" nil t)
;;;###autoload (autoload 'redline-resume "redline" nil t)
;;;###autoload (autoload 'redline-sessions "redline" nil t)

(defun redline-log ()
  "Show the log of the server, with the protocol if `redline-log-size' retains it."
  (interactive)
  (let ((server (redline--ensure)))
    (when (buffer-live-p (jsonrpc-stderr-buffer server))
      (with-current-buffer (jsonrpc-stderr-buffer server)
        (unless (zerop (buffer-size)) (display-buffer (current-buffer)))))
    (unless (eql redline-log-size 0)
      (display-buffer (jsonrpc-events-buffer server)))
    (pop-to-buffer (get-buffer-create (redline--log-name server)))))

(defun redline-shutdown ()
  "End the server of the current project."
  (interactive)
  (let ((server (or (redline--running) (user-error "Redline: no server runs"))))
    (redline--stop server)
    (message "Redline: the server has ended")))

(defun redline-restart ()
  "End the server of the current project and start it again; sessions go on."
  (interactive)
  (when-let* ((old (redline--running)))
    (redline--stop old))
  (redline--ensure)
  (message "Redline: the server runs"))

;;;; Mode line

(defvar-keymap redline-mode-line-map
  :doc "Keymap of what the mode line says."
  "<mode-line> <mouse-1>" #'redline-menu
  "<mode-line> <mouse-3>" #'redline-review)

(defun redline-mode-line ()
  "Return what the mode line has to say of the current project, or nil."
  (when-let* ((server (redline--running))
              (session (redline--current-session server)))
    (let* ((hunks (length (redline--hunks server)))
           (questions (length (redline--questions server)))
           (words (delq nil
                        (list (and (redline--session-running session)
                                   (redline--state-words session))
                              (and (> questions 0) (propertize "asks!" 'face 'warning))
                              (and (> hunks 0) (redline--counted hunks "hunk"))
                              (cdar (redline--progress server))))))
      (propertize (concat "[redline" (and words (concat ": " (string-join words ", "))) "] ")
                  'help-echo "Redline: mouse-1: menu, mouse-3: review"
                  'mouse-face 'mode-line-highlight
                  'local-map redline-mode-line-map))))

(add-to-list 'mode-line-misc-info '(redline--servers (:eval (redline-mode-line))) t)
(put 'redline-mode-line 'risky-local-variable t)

(provide 'redline)
;;; redline.el ends here
