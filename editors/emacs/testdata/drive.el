;;; drive.el --- What the tests drive Emacs by  -*- lexical-binding: t; -*-

;; Loaded into an Emacs with the environment of env_test.go.  It listens on the socket
;; REDLINE_SOCKET for one expression a connection, ended by a NUL, and answers with JSON.

(require 'cl-lib)
(require 'json)
(load (expand-file-name "floor" (file-name-directory load-file-name)) nil t)
(let ((elc (getenv "REDLINE_ELC")))
  (add-to-list 'load-path (if (or (null elc) (equal elc "")) (getenv "REDLINE_PLUGIN") elc)))
;; Without a person nothing may be asked that was not prepared: it would be asked for ever.
(when noninteractive
  (dolist (f '(y-or-n-p yes-or-no-p read-string completing-read read-passwd read-char-choice))
    (advice-add f :around
                (lambda (original &rest args)
                  (if executing-kbd-macro (apply original args)
                    (error "Asked: %S" (car args))))
                '((name . drive)))))
(setq inhibit-startup-screen t
      make-backup-files nil auto-save-default nil create-lockfiles nil
      debug-on-error nil
      vc-handled-backends nil
      project-find-functions nil
      confirm-kill-processes nil)
(require 'redline)
(setq redline-command (list (getenv "REDLINE_BIN") "serve"))
(cd (getenv "REDLINE_ROOT"))

(defvar drive-messages nil "What was said in the echo area, newest first.")
(advice-add 'message :before
            (lambda (format &rest args)
              (when format
                (push (apply #'format-message format args) drive-messages))))

(defun drive-said (words)
  "Return the newest message with WORDS."
  (cl-find-if (lambda (m) (string-search words m)) drive-messages))

(defvar drive-deadline 30 "Seconds that anything may take.")

(defmacro await (what &rest body)
  "Wait until BODY is non-nil and return that; else fail with WHAT."
  (declare (indent 1))
  `(let ((end (+ (float-time) drive-deadline)) value)
     (while (not (setq value (progn ,@body)))
       (when (> (float-time) end)
         (error "Waited in vain for %s.  Messages: %S" ,what (seq-take drive-messages 8)))
       (accept-process-output nil 0.02))
     value))

(defun server () (car redline--servers))
(defun session () (and (server) (redline--current-session (server))))
(defun hunks () (and (server) (redline--hunks (server))))
(defun pending ()
  "Return how many hunks are open and fit."
  (cl-count "pending" (hunks) :key (lambda (h) (plist-get (redline--hunk-data h) :state))
            :test #'equal))
(defun await-hunks (n)
  (await (format "%d hunks, there are %d" n (length (hunks)))
    (= n (length (hunks)))))
(defvar drive-asked 0 "How many turns were ended when the last prompt was sent.")
(defvar drive-ended 0)
(add-hook 'redline-event-functions
          (lambda (_ e) (when (equal (plist-get e :type) "turn/ended") (cl-incf drive-ended))))
(defun await-end ()
  (await "the end of the turn"
    (and (session) (> drive-ended 0) (not (redline--session-running (session)))
         (null (redline--session-queue (session))))))
(defun show (file &optional line)
  "Show FILE of the workspace with point at LINE."
  (let ((path (expand-file-name file (getenv "REDLINE_ROOT"))))
    (switch-to-buffer (or (find-buffer-visiting path) (find-file-noselect path))))
  (when line
    (goto-char (point-min))
    (forward-line (1- line))))
(defun keys (keys)
  "Type KEYS."
  (execute-kbd-macro (kbd keys)))
(defun answer-reads (answers body)
  "Run BODY with ANSWERS to what is read in the minibuffer."
  (cl-letf (((symbol-function 'read-string) (lambda (&rest _) (pop answers)))
            ((symbol-function 'completing-read) (lambda (&rest _) (pop answers)))
            ((symbol-function 'read-passwd) (lambda (&rest _) (copy-sequence (pop answers))))
            ((symbol-function 'y-or-n-p) (lambda (&rest _) t))
            ((symbol-function 'yes-or-no-p) (lambda (&rest _) t)))
    (funcall body)))
(defun should-be-at (&rest lines)
  "Check that point is in one of LINES."
  (let ((line (buffer-substring-no-properties (pos-bol) (pos-eol))))
    (unless (member line lines) (error "In line %S, not one of %S" line lines))))
(defun should-not-ask (body)
  "Run BODY, in which every question is an error."
  (cl-letf (((symbol-function 'y-or-n-p) (lambda (p) (error "Asked: %s" p)))
            ((symbol-function 'yes-or-no-p) (lambda (p) (error "Asked: %s" p)))
            ((symbol-function 'select-safe-coding-system-interactively)
             (lambda (&rest _) (error "Asked for a coding system"))))
    (funcall body)))
(defun chat ()
  "Return the text of the chat."
  (with-current-buffer (redline--session-buffer (session))
    (buffer-substring-no-properties (point-min) (point-max))))
(defun text (file)
  (with-current-buffer (find-buffer-visiting (expand-file-name file (getenv "REDLINE_ROOT")))
    (buffer-substring-no-properties (point-min) (point-max))))
(defun line-of (file n)
  (nth (1- n) (split-string (text file) "\n")))
(defun previews ()
  "Return what the overlays of the current buffer show, with where."
  (mapcar (lambda (o)
            (format "%d-%d %s%s" (line-number-at-pos (overlay-start o))
                    (line-number-at-pos (overlay-end o))
                    (substring-no-properties (or (overlay-get o 'before-string) ""))
                    (substring-no-properties (or (overlay-get o 'after-string) ""))))
          (cl-remove-if-not #'overlay-buffer redline--overlays)))

(defun drive-answer (expression)
  "Return the value of EXPRESSION, or the error, as JSON."
  (let ((jsonrpc-inhibit-debug-on-error t))
    (json-serialize
     (condition-case err
         (let ((value (with-current-buffer (window-buffer)
                        (eval (read (decode-coding-string expression 'utf-8)) t))))
           (list :value (cond ((stringp value) (substring-no-properties value))
                              ((and (consp value) (stringp (car value)))
                               (vconcat (mapcar #'substring-no-properties value)))
                              ((numberp value) value)
                              ((null value) :false)
                              (t t))))
       ((error quit) (list :error (format "%S" err)))))))

(defun drive-filter (process text)
  (let ((all (concat (process-get process 'text) text)))
    (process-put process 'text all)
    (when (string-suffix-p "\0" all)
      (run-with-timer
       0 nil
       (lambda ()
         (let ((answer (drive-answer (substring all 0 -1))))
           (when (process-live-p process)
             (process-send-string process answer)
             (delete-process process))))))))

(make-network-process :name "drive" :server t :family 'local :service (getenv "REDLINE_SOCKET")
                      :filter #'drive-filter :coding 'binary :noquery t)

(when noninteractive
  (send-string-to-terminal "ready\n") ; which is written at once
  ;; Not for ever, should the test be gone.
  (let ((parent (alist-get 'ppid (process-attributes (emacs-pid)))))
    (while (process-attributes parent) (accept-process-output nil 1))))
