;;; redline-options.el --- Customization and faces of Redline  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Every user option and face of the package; see `M-x customize-group RET redline'.

;;; Code:

(defgroup redline nil
  "An AI agent that lives in the editor the way a language server does."
  :group 'tools
  :prefix "redline-")

;;;; Server

(declare-function redline-default-root "redline-client")

(defcustom redline-command '("redline" "serve")
  "The server's program and its arguments.
The program is looked for on variable `exec-path'."
  :type '(repeat string))

(defcustom redline-environment nil
  "Environment of the server beside that of Emacs, as a list of \"NAME=VALUE\".
Keys do not belong here: sign in with `redline-login' instead."
  :type '(repeat string))

(defcustom redline-root-function #'redline-default-root
  "Function that returns the folder the agent works in, for the current buffer."
  :type 'function)

(defcustom redline-log-size 0
  "How many characters of the protocol are kept in the log buffer.
0 keeps none, nil all.  See `redline-log'."
  :type '(choice (const :tag "Nothing" 0) (const :tag "All" nil) natnum))

(defcustom redline-restart t
  "Whether a server that ended by itself is started again.
The session is resumed and open hunks are shown again."
  :type 'boolean)

;;;; Sessions

(defcustom redline-mode nil
  "The mode of new sessions; nil leaves that to the server's settings."
  :type '(choice (const :tag "As in the settings" nil)
                 (const :tag "Review edits" "default")
                 (const :tag "Apply edits at once" "autoEdit")
                 (const :tag "Change nothing" "plan")
                 (const :tag "Ask for nothing" "yolo")))

(defcustom redline-model nil
  "The model of new sessions; nil leaves that to the server's settings."
  :type '(choice (const :tag "As in the settings" nil) string))

(defcustom redline-when-running 'steer
  "What happens to a prompt that is sent while a turn runs."
  :type '(choice (const :tag "It goes into the running turn" steer)
                 (const :tag "It waits for the end of the turn" queue)))

;;;; Review and questions

(defcustom redline-review-prefix "C-c ="
  "Prefix of the keys in a buffer with open hunks, as `key-parse' reads it.
Set it before Redline is loaded, or by customization."
  :type 'string
  :set (lambda (symbol value)
         (let ((old (and (boundp symbol) (symbol-value symbol))))
           (set-default symbol value)
           (when (and (boundp 'redline-inline-mode-map) (boundp 'redline-hunk-map))
             (when old (keymap-unset (symbol-value 'redline-inline-mode-map) old t))
             (keymap-set (symbol-value 'redline-inline-mode-map)
                         value (symbol-value 'redline-hunk-map))))))

(defcustom redline-preview-lines 30
  "How many lines of a hunk's proposed text are shown in the buffer.
The diff has all of them."
  :type 'natnum)

(defcustom redline-save-applied nil
  "Whether a buffer that was saved before an edit is saved again after it."
  :type 'boolean)

(defcustom redline-ask-in 'minibuffer
  "Where the agent's questions are asked.
They are always in the chat too, and `redline-answer' asks the oldest one again."
  :type '(choice (const :tag "In the minibuffer, at the next pause" minibuffer)
                 (const :tag "In a menu, at the next pause" menu)
                 (const :tag "In the chat alone" chat)))

(defcustom redline-ask-pause 0.5
  "How many seconds must pass without input before a question is asked."
  :type 'number)

;;;; Display

(defcustom redline-chat-display-action
  '((display-buffer-reuse-window display-buffer-in-direction)
    (direction . right) (window-width . 0.45))
  "How the chat is displayed; an action of `display-buffer'."
  :type 'sexp)

(defcustom redline-output-lines 8
  "How many lines of a running command's output the chat shows."
  :type 'natnum)

;;;; Faces

(defface redline-removed '((t :inherit diff-removed :extend t))
  "Lines that a hunk replaces.")

(defface redline-added '((t :inherit diff-added :extend t))
  "Lines that a hunk proposes.")

(defface redline-conflict '((t :inherit warning))
  "What is said of a hunk that no longer fits.")

(defface redline-hunk-bar '((t :inherit (shadow) :slant italic))
  "The line above a hunk, with its number and keys.")

(defface redline-user '((t :inherit font-lock-keyword-face :weight bold))
  "The heading of what you asked.")

(defface redline-prompt '((t :inherit minibuffer-prompt))
  "The sign before the place where you type.")

(defface redline-tool '((t :inherit font-lock-function-name-face))
  "The line of a tool call.")

(defface redline-quiet '((t :inherit shadow))
  "Thoughts, output and what else is not the answer.")

(defface redline-code '((t :inherit (fixed-pitch font-lock-constant-face)))
  "Code in an answer.")

(defface redline-heading '((t :inherit bold))
  "A heading in an answer.")

(defface redline-chip '((t :inherit (link)))
  "Something that is attached to the next prompt.")

(provide 'redline-options)
;;; redline-options.el ends here
