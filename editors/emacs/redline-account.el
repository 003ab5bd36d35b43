;;; redline-account.el --- Signing in, and what it costs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Keys are read like passwords and handed to the server, which keeps them encrypted;
;; they are in no file of Emacs and in no log.

;;; Code:

(require 'redline-ask)

(defconst redline--methods-of-login
  '(("gemini-api-key" . "a key of the Gemini API")
    ("oauth-personal" . "your Google account, in the browser")
    ("vertex-ai" . "Vertex AI")
    ("cloud-shell" . "Cloud Shell, or a machine of Google Cloud"))
  "The ways to sign in.")

(defvar redline--login-token 0 "Number of the last sign-in.")

(defun redline--auth-words (status)
  "Return STATUS, an AuthStatus, in words."
  (if (eq t (plist-get status :signedIn))
      (concat "signed in with "
              (or (cdr (assoc (plist-get status :method) redline--methods-of-login))
                  (plist-get status :method))
              (and-let* ((source (plist-get status :source))) (format " (%s)" source))
              (and-let* ((account (plist-get status :account))) (format " as %s" account)))
    (concat "not signed in: " (or (plist-get status :message) "M-x redline-login"))))

(defun redline-login (method)
  "Sign in by METHOD.
A key is asked for and kept encrypted by the server, or in its memory with a
prefix argument.  For a Google account the browser is opened; if it cannot
come back here, as on another machine, `redline-login-code' takes the code."
  (interactive
   (let* ((status (redline--call (redline--ensure) :agent/auth/status nil))
          (names (append (plist-get status :methods) nil))
          (ways (or (cl-remove-if-not (lambda (m) (member (car m) names))
                                      redline--methods-of-login)
                    redline--methods-of-login)))
     (list (completing-read "Sign in with: " (redline--annotated ways) nil t))))
  (let* ((server (redline--ensure))
         (keep (if current-prefix-arg "memory" "saved"))
         (key (and (equal method "gemini-api-key")
                   (read-passwd "Key (empty: that of the environment): "))))
    (message "Redline: signing in…")
    (redline--request
     server :agent/auth/login
     (append (list :method method :keep keep
                   :workDoneToken (format "redline-emacs-%d" (cl-incf redline--login-token)))
             (and key (not (string-empty-p key)) (list :apiKey key)))
     (lambda (status) (message "Redline: %s" (redline--auth-words status))))
    (when key (clear-string key))))

(defun redline-login-code (code)
  "Hand over CODE, or the address that the browser ended at, to a waiting sign-in."
  (interactive (list (read-string "Code or address: ")))
  (redline--request (redline--ensure) :agent/auth/complete (list :code code)))

(defun redline-login-cancel ()
  "Give up the sign-in that is waiting."
  (interactive)
  (jsonrpc-notify (redline--ensure) :window/workDoneProgress/cancel
                  (list :token (format "redline-emacs-%d" redline--login-token))))

(defun redline-logout ()
  "Forget every sign-in that is kept."
  (interactive)
  (when (yes-or-no-p "Redline: forget every sign-in that is kept? ")
    (redline--request (redline--ensure) :agent/auth/logout nil
                      (lambda (_) (message "Redline: signed out")))))

(defun redline-account ()
  "Say how the model is reached."
  (interactive)
  (message "Redline: %s"
           (redline--auth-words (redline--call (redline--ensure) :agent/auth/status nil))))

(defun redline-usage ()
  "Show what the session used, and about what it cost."
  (interactive)
  (let* ((session (redline--session))
         (usage (redline--call (redline--session-server session) :agent/usage/get
                               (list :sessionId (redline--session-id session))))
         (line (lambda (name u)
                 (format "%-24s %10d %10d %10d %10d %6d %10s\n" name
                         (plist-get u :inputTokens) (plist-get u :cachedTokens)
                         (plist-get u :outputTokens) (plist-get u :thoughtTokens)
                         (plist-get u :requests)
                         (if (plist-get u :costUsd) (format "$%.4f" (plist-get u :costUsd))
                           "-")))))
    (with-help-window "*redline usage*"
      (princ (format "%s\n\n" (redline--session-title session)))
      (princ (format "%-24s %10s %10s %10s %10s %6s %10s\n" "Tokens" "in" "of it cached"
                     "out" "thoughts" "asked" "about"))
      (seq-doseq (m (plist-get usage :models))
        (princ (funcall line (plist-get m :model) m)))
      (princ (funcall line "Together" usage))
      (let ((full (plist-get usage :contextTokens)) (window (plist-get usage :contextWindow)))
        (when (and window (> window 0))
          (princ (format "\nThe conversation takes %d of the %d tokens that the model can read (%d%%).\n"
                         full window (/ (* 100 full) window)))))
      (when-let* ((month (plist-get usage :pricesOf)))
        (princ (format "Costs are estimates by the list prices of %s.\n" month))))))

(provide 'redline-account)
;;; redline-account.el ends here
