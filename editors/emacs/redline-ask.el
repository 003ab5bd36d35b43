;;; redline-ask.el --- Questions of the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The agent asks before it runs a command and the like, and sometimes it asks a question.
;; Each question stands in the chat, with buttons, until it is answered.  As `redline-ask-in'
;; says it is also asked in the minibuffer or in a menu, once you pause and no other question is
;; open.  Quitting with C-g is a refusal.  Nothing waits for you meanwhile but the agent.

;;; Code:

(require 'redline-context)

(cl-defstruct (redline-question (:conc-name redline--question-))
  "A question to the user."
  promise session kind  ; approve, ask or message
  params
  options               ; alist of labels and answers; nil: any text
  answer)               ; a label or text, once there is one

(defun redline--question-title (q)
  "Return the question Q in a line."
  (let* ((p (redline--question-params q)) (subject (plist-get p :subject)))
    (if (plist-get p :question)
        (plist-get p :question)
      (pcase (plist-get subject :command)
        ((or 'nil "") (plist-get p :title))
        (command (format "Run %s?" (string-trim command)))))))

(defun redline--refusal (q)
  "Return the label of the answer to Q that refuses, if there is one."
  (or (car (cl-find "reject" (redline--question-options q)
                    :key (lambda (o) (plist-get (cdr o) :kind)) :test #'equal))
      ""))

(defun redline--answer (q label &optional feedback)
  "Answer Q with LABEL, one of its options or any text, and FEEDBACK."
  (unless (redline--question-answer q)
    (setf (redline--question-answer q) label)
    (let ((option (cdr (assoc label (redline--question-options q)))))
      (redline--settle
       (redline--question-promise q) :result
       (pcase (redline--question-kind q)
         ('ask (list :answer label))
         ('message option)
         (_ (append (list :optionId (or (plist-get option :optionId) "reject"))
                    (and feedback (not (equal feedback "")) (list :feedback feedback)))))))
    (redline--question-over q)))

(defun redline--question-over (q)
  "Take Q away from what is asked."
  (let* ((session (redline--question-session q)) (server (redline--session-server session)))
    (setf (redline--questions server) (delq q (redline--questions server)))
    (redline--show-question session q)
    (redline--status-changed)
    (redline--ask-soon)))

(defun redline--show-question (session q)
  "Show Q of SESSION in its chat."
  (when (buffer-live-p (redline--session-buffer session))
    (with-current-buffer (redline--session-buffer session)
      (redline--show-block 'question q q))))

(defun redline--question-words (q)
  "Return what the chat presents of Q."
  (let ((answer (redline--question-answer q))
        (detail (redline--question-detail q)))
    (concat
     (propertize (concat "? " (redline--question-title q))
                 'font-lock-face (if answer 'redline-quiet 'redline-heading))
     "\n"
     (cond
      (answer (propertize (format "  → %s\n" (if (equal answer "") "no answer" answer))
                          'font-lock-face 'redline-quiet))
      (t
       (concat
        (if (equal detail "") "" (concat (redline--quoted detail) "\n"))
        (if (redline--question-options q)
            (mapconcat (lambda (o)
                         (concat "  " (redline--action (car o)
                                                       (lambda () (redline--answer q (car o))))
                                 "\n"))
                       (redline--question-options q))
          (concat "  " (redline--action "Answer" (lambda () (redline--ask-in-minibuffer q)))
                  "\n"))))))))

(defun redline--question-detail (q)
  "Return what is to be known about Q beside its title."
  (let ((detail (string-trim (or (plist-get (redline--question-params q) :detail) ""))))
    ;; The command is in the title already.
    (when (string-match "\\````?[a-z]*\n\\(\\(?:.*\n\\)*?\\)````?\n*" detail)
      (when (string-search (string-trim (match-string 1 detail)) (redline--question-title q))
        (setq detail (substring detail (match-end 0)))))
    (if (string-search detail (redline--question-title q)) ""
      (replace-regexp-in-string "\n\n+" "\n" detail))))

(setq redline-question-text-function #'redline--question-words)

;;;; Asking

(defvar redline--asking nil "The question that is being asked now.")

(defun redline--all-questions ()
  "Return what is asked in all servers, oldest first."
  (mapcan (lambda (s) (copy-sequence (redline--questions s))) (reverse redline--servers)))

(defvar redline--ask-timer nil "The timer of the next question.")

(defun redline--ask-soon ()
  "Ask the oldest question at the next pause."
  (when (and (not noninteractive) (not redline--asking) (redline--all-questions)
             (memq redline-ask-in '(minibuffer menu)))
    (when redline--ask-timer (cancel-timer redline--ask-timer))
    ;; Not an idle timer, nor the idle time: after a question that a timer asked, Emacs
    ;; does not count as idle until something is typed.
    (setq redline--ask-timer
          (run-with-timer redline-ask-pause nil #'redline--ask-now num-nonmacro-input-events))))

(defun redline--ask-now (events)
  "Ask the oldest question, unless the user is busy.
EVENTS is how much had been typed when the pause began."
  (setq redline--ask-timer nil)
  (when-let* (((not redline--asking))
              (q (car (redline--all-questions))))
    (cond
     ((or (active-minibuffer-window) (bound-and-true-p transient--prefix)
          executing-kbd-macro defining-kbd-macro
          (/= events num-nonmacro-input-events))
      (redline--ask-soon))
     ((and (eq redline-ask-in 'menu) (redline--question-options q))
      (redline-answer-menu))
     (t (redline--ask-in-minibuffer q)))))

(declare-function redline-answer-menu "redline-menu")

(defconst redline--because "Reject, and say why…"
  "What is offered beside the options of an approval.")

(defun redline--for-call-p (q)
  "Return non-nil if Q is whether the agent may do something.
It is told why not, then."
  (and (eq (redline--question-kind q) 'approve)
       ;; Of trust it is not told.
       (not (string-suffix-p ".trust" (or (plist-get (redline--question-params q) :callId) "")))))

(defun redline--show-choices ()
  "Show what can be chosen, where nothing else does that."
  (unless (or (bound-and-true-p vertico-mode) (bound-and-true-p icomplete-mode)
              (bound-and-true-p fido-mode) (bound-and-true-p ido-mode))
    (let ((completion-show-help nil) (completions-header-format nil))
      (minibuffer-completion-help))))

(defun redline--read-answer (q)
  "Read the answer to Q in the minibuffer and give it."
  (let* ((options (redline--question-options q))
         (prompt (truncate-string-to-width
                  (string-join (split-string (redline--question-title q) "\n" t "[ \t]+") " ⏎ ")
                  (max 40 (- (frame-width) 24)) nil nil "…")))
    (if (null options)
        (redline--answer q (read-string (concat prompt " ")))
      (let* ((labels (append (mapcar #'car options)
                             (and (redline--for-call-p q) (list redline--because))))
             ;; The number is all there is to type.
             (names (seq-map-indexed (lambda (label i) (cons (format "%d %s" (1+ i) label) label))
                                     labels))
             (default (car (rassoc (redline--refusal q) names)))
             (answer (minibuffer-with-setup-hook (:append #'redline--show-choices)
                       (completing-read (if default (format "%s (default %s): " prompt default)
                                          (concat prompt " "))
                                        (redline--annotated (mapcar (lambda (n) (list (car n)))
                                                                    names))
                                        nil t nil nil default)))
             (label (cdr (assoc answer names))))
        (if (equal label redline--because)
            (redline--answer q (redline--refusal q) (read-string "Because: "))
          (redline--answer q (or label "")))))))

(defun redline--ask-in-minibuffer (q)
  "Ask Q in the minibuffer; quitting refuses."
  (let ((redline--asking q) (inhibit-quit nil) (enable-recursive-minibuffers t))
    (condition-case nil
        (redline--read-answer q)
      (quit (unless (redline--question-answer q)
              (redline--answer q (redline--refusal q))
              (message "Redline: refused")))))
  (redline--ask-soon))

(defun redline-answer ()
  "Answer the oldest question of the agent."
  (interactive)
  (redline--ask-in-minibuffer
   (or (car (redline--all-questions)) (user-error "Redline: nothing is asked"))))

(defun redline--leave-minibuffer ()
  "Leave the minibuffer, in which a question was asked that nobody needs answered."
  (when-let* ((window (active-minibuffer-window)))
    (with-current-buffer (window-buffer window)
      (abort-minibuffers))))

(defun redline--ask (server params kind options)
  "Ask the user what SERVER wants to know, as KIND with PARAMS and OPTIONS.
Return the promise of the answer."
  (let* ((session (or (redline--find-session server (plist-get params :sessionId))
                      (redline--current-session server)
                      (make-redline-session :server server)))
         (promise (make-redline-promise))
         (q (make-redline-question :promise promise :session session :kind kind
                                   :params params :options options)))
    (setf (redline--promise-cancel promise)
          (lambda ()
            (setf (redline--question-answer q) "")
            (redline--question-over q)
            (when (eq redline--asking q)
              ;; On its own: it leaves whatever runs.
              (run-with-timer 0 nil #'redline--leave-minibuffer))))
    (setf (redline--questions server) (append (redline--questions server) (list q)))
    (setf (redline--session-state session) 'asking)
    (redline--status-changed)
    (redline--show-question session q)
    (message "%s" (substitute-command-keys
                   (format "Redline asks: %s (\\[redline-answer])" (redline--question-title q))))
    (redline--ask-soon)
    promise))

(cl-defmethod redline--handle-request (server (_ (eql agent/approve)) params)
  "Ask the user what SERVER may do, as PARAMS say."
  (redline--ask server params 'approve
                (mapcar (lambda (o) (cons (plist-get o :label) o)) (plist-get params :options))))

(cl-defmethod redline--handle-request (server (_ (eql agent/ask)) params)
  "Ask the user the question of SERVER in PARAMS."
  (redline--ask server params 'ask
                (mapcar (lambda (o) (let ((label (if (stringp o) o (plist-get o :label))))
                                      (cons label (list :optionId label))))
                        (plist-get params :options))))

(cl-defmethod redline--handle-request (server (_ (eql window/showMessageRequest)) params)
  "Ask the user the question of SERVER in PARAMS, with its actions."
  (redline--ask server (list :question (plist-get params :message)) 'message
                (mapcar (lambda (a) (cons (plist-get a :title) a))
                        (plist-get params :actions))))

(provide 'redline-ask)
;;; redline-ask.el ends here
