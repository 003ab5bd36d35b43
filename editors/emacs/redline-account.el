;;; redline-account.el --- Signing in, and what it costs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Keys are read like passwords, or come from auth-source, and are handed to the server, which
;; keeps those that were typed encrypted; they are in no file of ours and in no log.

;;; Code:

(require 'auth-source)
(require 'redline-ask)

(defconst redline--methods-of-login
  '(("gemini-api-key" . "a key of the Gemini API")
    ("oauth-personal" . "your Google account, in the browser")
    ("vertex-ai" . "Vertex AI")
    ("cloud-shell" . "Cloud Shell, or a machine of Google Cloud"))
  "The ways to sign in.")

(defvar redline--login-token 0 "Number of the last sign-in.")
(defvar redline--login-waits)

(defun redline--auth-words (status)
  "Return STATUS, an AuthStatus, in words."
  (if (eq t (plist-get status :signedIn))
      (concat "signed in with "
              (or (cdr (assoc (plist-get status :method) redline--methods-of-login))
                  (plist-get status :method))
              (and-let* ((source (plist-get status :source))) (format " (%s)" source))
              (and-let* ((account (plist-get status :account))) (format " as %s" account))
              ;; What came of it, such as that the environment counts all the same.
              (and-let* ((text (plist-get status :message))) (concat "; " text)))
    (concat "not signed in: " (or (plist-get status :message) "M-x redline-login"))))

(defun redline--auth-source-key ()
  "Return the key of the Gemini API that auth-source has, or nil.
The entry is that of the machine generativelanguage.googleapis.com."
  (when-let* ((found (car (auth-source-search :host "generativelanguage.googleapis.com" :max 1)))
              (key (auth-info-password found)))
    (copy-sequence key)))

(defun redline--read-key ()
  "Return a key, a string to be cleared, and where it may be kept, as a cons.
An empty answer is the key of auth-source, which keeps it; else the server
takes that of the environment."
  (let ((typed (read-passwd "Key (empty: that of auth-source or the environment): ")))
    (cond ((not (string-empty-p typed))
           (cons typed (if current-prefix-arg "memory" "saved")))
          ((redline--auth-source-key)
           (cons (redline--auth-source-key) "memory"))
          (t (cons typed "saved")))))

(defun redline-login (method)
  "Sign in by METHOD.
A key is asked for and kept encrypted by the server, or in its memory with a
prefix argument.  If none is typed, that of auth-source is taken, if there is
one for the machine generativelanguage.googleapis.com, or that of the
environment.  For a Google account the browser is opened; the link is shown
too, and `redline-login-code' takes the code if the browser cannot come back
here, as on another machine."
  (interactive
   (let* ((status (redline--call (redline--ensure) :agent/auth/status nil))
          (names (append (plist-get status :methods) nil))
          (ways (or (cl-remove-if-not (lambda (m) (member (car m) names))
                                      redline--methods-of-login)
                    redline--methods-of-login)))
     (list (completing-read "Sign in with: " (redline--annotated ways) nil t))))
  (let* ((server (redline--ensure))
         (read (and (equal method "gemini-api-key") (redline--read-key)))
         (key (car read)))
    (message "Redline: signing in…")
    (setq redline--login-waits t)
    (redline--request
     server :agent/auth/login
     (append (list :method method :keep (or (cdr read) "saved")
                   :workDoneToken (format "redline-emacs-%d" (cl-incf redline--login-token)))
             (and key (not (string-empty-p key)) (list :apiKey key)))
     (lambda (status)
       (redline--login-over)
       (message "Redline: %s" (redline--auth-words status)))
     (lambda (err)
       (redline--login-over)
       (message "%s" (substitute-command-keys
                      (format "Redline: %s (\\[redline-login] tries again)"
                              (string-remove-suffix "." (plist-get err :message)))))))
    (when key (clear-string key))))

;;;; The link

(defvar redline--login-waits nil "Non-nil while a sign-in is going on.")

(defconst redline--link-name "*redline sign-in*" "The buffer with the link to sign in.")

(defun redline--login-over ()
  "Take the link to sign in away."
  (setq redline--login-waits nil)
  (when-let* ((buffer (get-buffer redline--link-name)))
    (when-let* ((window (get-buffer-window buffer t)))
      (quit-window nil window))
    (kill-buffer buffer)))

(defun redline--open-link (url)
  "Open URL in a browser.
One to sign in by is shown too: the browser may be on another machine, or there
may be none."
  (let ((failed (condition-case err (progn (browse-url url) nil)
                  (error (error-message-string err)))))
    (if (not redline--login-waits)
        (when failed (message "Redline: %s; the address is %s" failed url))
      (with-current-buffer (get-buffer-create redline--link-name)
        (special-mode)
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert (if failed (format "No browser could be opened here (%s).\n" failed)
                    "Your browser was asked to open the link.\n")
                  "To sign in, open this in a browser, on any machine:\n\n")
          (insert-text-button url 'action (lambda (_) (browse-url url)) 'follow-link t)
          (insert "\n\nA browser on another machine ends at an address that it cannot open: copy it.\n\n  "
                  (redline--action "Copy the link" (lambda () (kill-new url) (message "Copied")))
                  " "
                  (redline--action "Hand over the code or address"
                                   (lambda () (call-interactively #'redline-login-code)))
                  " "
                  (redline--action "Give up" #'redline-login-cancel)
                  "\n")
          (goto-char (point-min)))
        (setq-local truncate-lines nil)
        (display-buffer (current-buffer)
                        '((display-buffer-reuse-window display-buffer-at-bottom)
                          (window-height . fit-window-to-buffer)))))))

(defun redline-login-code (code)
  "Hand over CODE, or the address that the browser ended at, to a waiting sign-in."
  (interactive (list (read-string "Code or address: ")))
  (redline--request (redline--ensure) :agent/auth/complete (list :code (string-trim code))))

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
