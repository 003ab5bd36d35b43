;;; redline-chat.el --- The chat buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A chat buffer shows one session: the transcript, and below it the place where you type.
;; RET sends, and on a line of the transcript it does what the line offers.  What is
;; attached to the next prompt stands above the place to type.

;;; Code:

(require 'ring)
(require 'redline-transcript)

(defvar-local redline--input nil
  "Marker of the start of what the user types.")

(defvar-local redline--attached nil
  "What is attached to the next prompt: conses of a label and a ContextItem.")

(defvar-local redline--history nil
  "Ring of what was sent in this session.")
(defvar-local redline--history-at nil
  "Where in `redline--history' the input is from.")

(defvar-keymap redline-chat-mode-map
  :doc "Keymap of `redline-chat-mode'."
  "RET" #'redline-chat-send
  "C-j" #'newline
  "S-<return>" #'newline
  "C-c C-c" #'redline-chat-send
  "C-c C-q" #'redline-chat-queue
  "C-c C-k" #'redline-stop
  "C-c C-a" #'redline-attach
  "C-c C-d" #'redline-detach
  "C-c C-r" #'redline-review
  "C-c C-o" #'redline-menu
  "C-c C-v" #'redline-set-mode
  "C-c C-n" #'redline-chat-next-prompt
  "C-c C-p" #'redline-chat-previous-prompt
  "C-c C-f" #'redline-chat-fold-all
  "M-p" #'redline-chat-previous-input
  "M-n" #'redline-chat-next-input
  "TAB" #'redline-chat-tab
  "<backtab>" #'backward-button)

(define-derived-mode redline-chat-mode fundamental-mode "Redline"
  "Major mode of a conversation with the agent.

\\{redline-chat-mode-map}"
  (setq-local font-lock-defaults '(nil t)
              scroll-conservatively 101
              truncate-lines nil
              word-wrap t
              require-final-newline nil
              redline--history (make-ring 100)
              redline--end (copy-marker (point-min))
              redline--input (copy-marker (point-min))
              header-line-format '((:eval (redline--chat-header))))
  (font-lock-mode 1)
  (add-hook 'completion-at-point-functions #'redline--chat-complete nil t)
  (add-hook 'kill-buffer-hook #'redline--chat-killed nil t)
  (redline--write-prompt))

(defun redline--chat-killed ()
  "Note that the chat is gone; its session does not end."
  (when (and redline--session (eq (current-buffer) (redline--session-buffer redline--session)))
    (setf (redline--session-buffer redline--session) nil
          (redline--session-shown redline--session) 0)))

(defun redline--chat-header ()
  "Return what stands above the chat."
  (if-let* ((s redline--session))
      (let* ((left (format " %s" (if (member (redline--session-title s) '(nil ""))
                                     "New session"
                                   (redline--session-title s))))
             (words (list (redline--session-mode s) (redline--session-model s)
                          (redline--usage-words s) (redline--state-words s)))
             (right (lambda () (string-join (delq nil (copy-sequence words)) " · "))))
        ;; What there is no room for is left out, the least important first.
        (dolist (i '(2 1 0))
          (when (> (+ (min 24 (string-width left)) 3 (string-width (funcall right)))
                   (window-width))
            (setf (nth i words) nil)))
        (setq right (funcall right))
        (string-replace
         "%" "%%"
         (concat (truncate-string-to-width
                  left (max 8 (- (window-width) (string-width right) 3)) nil nil "…")
                 (propertize " " 'display
                             `(space :align-to (- right ,(1+ (string-width right)))))
                 right)))
    ""))

(defun redline--usage-words (session)
  "Return what SESSION used, in a few words, or nil."
  (when-let* ((usage (redline--session-usage session))
              (total (plist-get usage :totalTokens)))
    (concat (if (< total 1000) (number-to-string total) (format "%.1fk" (/ total 1000.0)))
            " tokens"
            (and-let* ((cost (plist-get usage :costUsd))) (format " $%.3f" cost)))))

(defun redline--state-words (session)
  "Return what SESSION does, in a word."
  (if (redline--session-running session)
      (symbol-name (if (eq (redline--session-state session) 'idle) 'waiting
                     (redline--session-state session)))
    "idle"))

;;;; The place to type

(defun redline--write-prompt ()
  "Write what stands between the transcript and the place to type."
  (redline--writing redline--end
    (let ((input (marker-position redline--input)) (end (marker-position redline--end)))
      (delete-region end input)
      (goto-char end)
      (insert
       (redline--styled
        (concat "\n"
                (mapconcat (lambda (a)
                             (concat (propertize (concat "+ " (car a)) 'font-lock-face
                                                 'redline-chip)
                                     "\n"))
                           redline--attached)
                (propertize "» " 'font-lock-face 'redline-prompt))
        'field 'redline-prompt))
      (set-marker redline--input (point))
      (set-marker redline--end end))))

(defun redline--input-text ()
  "Return what the user has typed."
  (buffer-substring-no-properties redline--input (point-max)))

(defun redline--set-input (text)
  "Put TEXT in the place of what the user has typed."
  (delete-region redline--input (point-max))
  (goto-char (point-max))
  (insert text))

(defun redline-chat-send (&optional how)
  "Send what was typed; on a button, push it.
While a turn runs `redline-when-running', or HOW, says what happens."
  (interactive)
  (cond
   ((and (< (point) redline--input) (button-at (point))) (push-button))
   ((< (point) redline--input) (goto-char (point-max)))
   (t
    (let ((text (string-trim (redline--input-text))))
      (when (string-empty-p text)
        (user-error "Redline: there is nothing to send"))
      (let ((session (redline--chat-session))
            (context (append (mapcar #'cdr redline--attached)
                             (redline--mentioned text))))
        (redline--set-input "")
        (setq redline--attached nil redline--history-at nil)
        (redline--write-prompt)
        (setf (redline--current-session (redline--session-server session)) session)
        (redline--prompt session text context how))))))

(defun redline-chat-queue ()
  "Send what was typed when the running turn has ended."
  (interactive)
  (goto-char (point-max))
  (redline-chat-send 'queue))

(defun redline--chat-session ()
  "Return the session of the current chat; its server is started if it ended."
  (let ((session redline--session))
    (unless (redline--serving-p (redline--session-server session))
      (redline--ensure))
    (if (memq session (redline--sessions (redline--session-server session)))
        session
      ;; It was lost with its server before anything was said in it.
      (let ((new (redline--new-session (redline--ensure))))
        (setf (redline--session-buffer new) (current-buffer))
        (setq redline--session new)))))

(defun redline--remember (text)
  "Note that TEXT was sent, for `redline-chat-previous-input'."
  (unless (and (not (ring-empty-p redline--history)) (equal text (ring-ref redline--history 0)))
    (ring-insert redline--history text)))

(defun redline-chat-previous-input (n)
  "Replace the input by the one sent before it; with N, go back N."
  (interactive "p")
  (when (ring-empty-p redline--history)
    (user-error "Redline: nothing was sent yet"))
  (setq redline--history-at (max 0 (min (+ (or redline--history-at -1) n)
                                        (1- (ring-length redline--history)))))
  (redline--set-input (ring-ref redline--history redline--history-at)))

(defun redline-chat-next-input (n)
  "Replace the input by the one sent after it; with N, go on N."
  (interactive "p")
  (let ((at (- (or redline--history-at 0) n)))
    (if (< at 0)
        (progn (setq redline--history-at nil) (redline--set-input ""))
      (setq redline--history-at at)
      (redline--set-input (ring-ref redline--history at)))))

(defun redline-chat-tab ()
  "Complete what is typed; in the transcript go to the next button."
  (interactive)
  (if (< (point) redline--input)
      (unless (ignore-errors (forward-button 1)) (goto-char (point-max)))
    (completion-at-point)))

(defun redline-chat-next-prompt (n)
  "Go to your next prompt, at last to the place to type, N times."
  (interactive "p")
  (let* ((starts (sort (mapcar (lambda (b) (marker-position (redline--block-start b)))
                               (cl-remove 'user redline--blocks
                                          :key #'redline--block-kind :test-not #'eq))
                       #'<))
         (places (append starts (list (marker-position redline--input))))
         (next (if (> n 0)
                   (cl-find-if (lambda (p) (> p (point))) places)
                 (cl-find-if (lambda (p) (< p (point))) places :from-end t))))
    (if next (goto-char next) (user-error "Redline: no further prompt"))
    (when (> (abs n) 1)
      (redline-chat-next-prompt (if (> n 0) (1- n) (1+ n))))))

(defun redline-chat-previous-prompt (n)
  "Go to your previous prompt, N times."
  (interactive "p")
  (redline-chat-next-prompt (- n)))

(defun redline-chat-fold-all (&optional show)
  "Fold all thoughts and outputs; with a prefix argument SHOW them."
  (interactive "P")
  (dolist (block redline--blocks)
    (when (and (memq (redline--block-kind block) '(thought tool))
               (not (eq (redline--block-folded block) (not show))))
      (setf (redline--block-folded block) (not show))
      (redline--write block))))

;;;; Completion

(defvar redline--words
  '(("buffer" . "the buffer you were in") ("selection" . "its region")
    ("diagnostics" . "what Flymake says of it") ("xref" . "the places in *xref*"))
  "The words after @ beside names of files.")

(declare-function redline--mentioned "redline-context")
(declare-function redline-review "redline-diff")
(declare-function redline-menu "redline-menu")
(declare-function redline-attach "redline-context")
(declare-function redline-detach "redline-context")

(defun redline--chat-complete ()
  "Complete @ and names of files, and / at the start and names of commands."
  (let ((from (max redline--input (pos-bol))) (server (redline--session-server redline--session)))
    (when (>= (point) redline--input)
      (save-excursion
        (let ((here (point)))
          (cond
           ((progn (skip-chars-backward "^ \t\n" from) (eq (char-after) ?@))
            (let ((default-directory (redline--root server)))
              (list (1+ (point)) here
                    (completion-table-merge
                     (redline--annotated redline--words)
                     (lambda (string pred action)
                       (completion-file-name-table
                        string
                        (lambda (name) (and (not (member name '("./" "../")))
                                            (or (null pred) (funcall pred name))))
                        action)))
                    :exclusive 'no)))
           ((and (= (point) redline--input) (eq (char-after) ?/))
            (list (1+ (point)) here
                  (redline--annotated
                   (mapcar (lambda (c) (cons (plist-get c :name) (plist-get c :description)))
                           (plist-get (redline--call server :agent/command/list nil)
                                      :commands)))
                  :exclusive 'no))))))))

;;;; The buffer

(defun redline--chat-name (session)
  "Return the name of SESSION's buffer."
  (format "*redline: %s*" (redline--project-name (redline--session-server session))))

(defun redline--chat-buffer (session)
  "Return the buffer that presents SESSION, made and filled if need be."
  (let ((buffer (redline--session-buffer session)))
    (if (buffer-live-p buffer)
        buffer
      (let ((server (redline--session-server session)))
        (setq buffer (generate-new-buffer (redline--chat-name session)))
        (with-current-buffer buffer
          (setq default-directory (redline--root server))
          (redline-chat-mode)
          (goto-char (point-max))
          (setq redline--session session redline--server server))
        (setf (redline--session-buffer session) buffer
              (redline--session-shown session) 0)
        (when (> (redline--session-seen session) 0)
          (redline--resume server (redline--session-id session) 0))
        buffer))))

(defun redline--chat-event (session event)
  "Show EVENT of SESSION in its chat."
  (let ((buffer (redline--session-buffer session)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (redline--show-event event)
        (pcase (plist-get event :type)
          ("message/user" (redline--remember (string-trim (plist-get event :text))))
          ;; What was asked waits to be sent again.
          ((and "turn/ended" (guard (equal "auth" (plist-get (plist-get event :error) :kind))))
           (unless (or (ring-empty-p redline--history)
                       (not (string-blank-p (redline--input-text))))
             (redline--set-input (ring-ref redline--history 0)))))
        ;; Who looks at the end goes on to see it.
        (dolist (window (get-buffer-window-list buffer nil t))
          (when (and (>= (window-point window) redline--input)
                     (not (pos-visible-in-window-p (point-max) window)))
            (with-selected-window window
              (save-excursion
                (goto-char (point-max))
                (recenter -1)))))))))

(add-hook 'redline-event-functions #'redline--chat-event)

(defun redline--chat-status ()
  "Show the status in the chats anew."
  (dolist (server redline--servers)
    (dolist (session (redline--sessions server))
      (when-let* ((buffer (redline--session-buffer session))
                  ((buffer-live-p buffer)))
        (with-current-buffer buffer (force-mode-line-update))))))

(add-hook 'redline-status-hook #'redline--chat-status)

(defun redline--show-chat (session &optional select)
  "Show the chat of SESSION, and SELECT its window if that is asked for."
  (let* ((buffer (redline--chat-buffer session))
         (window (display-buffer buffer redline-chat-display-action)))
    (when (and select window) (select-window window))
    buffer))

(provide 'redline-chat)
;;; redline-chat.el ends here
