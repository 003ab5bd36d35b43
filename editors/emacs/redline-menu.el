;;; redline-menu.el --- Menus  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The menu of everything, the menu of review, and the menu in which a question is answered.

;;; Code:

(require 'transient)
(require 'redline-account)
(require 'redline-amend)
(require 'redline-diff)
(require 'redline-list)

(declare-function redline "redline")
(declare-function redline-log "redline")
(declare-function redline-restart "redline")
(declare-function redline-shutdown "redline")

(defun redline--menu-title ()
  "Return the heading of the menu: the session and what it does."
  (if-let* ((s (redline--session-if-any)))
      (format "Redline: %s (%s, %s, %s)"
              (if (equal (redline--session-title s) "") "new session"
                (truncate-string-to-width (redline--session-title s) 40 nil nil "…"))
              (redline--session-mode s) (redline--session-model s) (redline--state-words s))
    "Redline"))

(defun redline--nothing-open-p ()
  "Return non-nil if nothing is under review."
  (null (redline--hunks (redline--running))))

(defun redline--nothing-asked-p ()
  "Return non-nil if no question is open."
  (null (redline--all-questions)))

(defun redline--nothing-runs-p ()
  "Return non-nil if no turn is running."
  (let ((s (redline--session-if-any))) (not (and s (redline--session-running s)))))

;;;###autoload (autoload 'redline-menu "redline-menu" nil t)
(transient-define-prefix redline-menu ()
  "Everything that Redline can do."
  [:description redline--menu-title
   ["Ask"
    ("c" "Chat" redline)
    ("a" "Ask (about the region)" redline-ask)
    ("b" "Ask about this buffer" redline-ask-about-buffer)
    ("f" "Fix what Flymake says" redline-fix)
    ("+" "Attach to the next prompt" redline-attach)
    ("k" "Stop" redline-stop :inapt-if redline--nothing-runs-p)
    ("?" "Answer a question" redline-answer :inapt-if redline--nothing-asked-p)]
   ["Review"
    ("d" "Diff of all" redline-review :inapt-if redline--nothing-open-p)
    ("n" "Next hunk" redline-next-hunk :inapt-if redline--nothing-open-p)
    ("!" "Accept all" redline-accept-all :inapt-if redline--nothing-open-p)
    ("0" "Reject all" redline-reject-all :inapt-if redline--nothing-open-p)
    ("u" "Take back what was applied" redline-revert)
    ("h" "Go back to a checkpoint" redline-checkpoints)]
   ["Session"
    ("N" "New" redline-new-session)
    ("s" "Sessions" redline-sessions)
    ("r" "Resume" redline-resume)
    ("F" "Fork" redline-fork-session)
    ("m" "Mode" redline-set-mode)
    ("M" "Model" redline-set-model)
    ("U" "Usage" redline-usage)
    ("C" "Compress" redline-compress)
    ("i" "Instructions" redline-instructions)]
   ["Server"
    ("l" "Sign in" redline-login)
    ("L" "Sign out" redline-logout)
    ("A" "Account" redline-account)
    ("P" "Processes" redline-processes)
    ("v" "Log" redline-log)
    ("R" "Restart" redline-restart)
    ("Q" "Shut down" redline-shutdown)]])

(transient-define-prefix redline-review-menu ()
  "Decide on what is under review."
  [["Hunk"
    ("a" "Accept" redline-accept-hunk)
    ("r" "Reject" redline-reject-hunk)
    ("R" "Reject because…" redline-reject-hunk-because)
    ("e" "Edit, then take" redline-amend)]
   ["File"
    ("A" "Accept" redline-accept-file)
    ("K" "Reject" redline-reject-file)
    ("E" "Ediff" redline-ediff)]
   ["All"
    ("!" "Accept" redline-accept-all)
    ("0" "Reject" redline-reject-all)
    ("d" "Diff" redline-review)]
   ["Go"
    ("n" "Next" redline-next-hunk :transient t)
    ("p" "Previous" redline-previous-hunk :transient t)
    ("u" "Take back…" redline-revert)]])

;;;; A question as a menu

(defun redline--answer-suffixes (_children)
  "Return the answers to the oldest question as suffixes of a menu."
  (when-let* ((q (car (redline--all-questions))))
    (let ((i 0))
      (append
       (mapcar (lambda (o)
                 (setq i (1+ i))
                 (redline--suffix (number-to-string i) (car o)
                                  (lambda () (interactive) (redline--answer q (car o)))))
               (redline--question-options q))
       (when (redline--for-call-p q)
         (list (redline--suffix "r" redline--because
                                (lambda ()
                                  (interactive)
                                  (redline--answer q (redline--refusal q)
                                                   (read-string "Because: "))))))))))

(defun redline--suffix (key label command)
  "Return a suffix of a menu: KEY with LABEL is for COMMAND."
  (car (transient-parse-suffixes 'redline-answer-menu (list (list key label command)))))

(defun redline--answer-title ()
  "Return the question that the menu answers."
  (if-let* ((q (car (redline--all-questions))))
      (redline--question-title q)
    "Nothing is asked"))

;;;###autoload (autoload 'redline-answer-menu "redline-menu" nil t)
(transient-define-prefix redline-answer-menu ()
  "Answer the oldest question of the agent; quitting leaves it open in the chat."
  [:description redline--answer-title
   :class transient-column
   :setup-children redline--answer-suffixes])

(provide 'redline-menu)
;;; redline-menu.el ends here
