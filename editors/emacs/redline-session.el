;;; redline-session.el --- Conversations with the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What goes on in a session is told by the server's events, which are numbered.  What
;; was missed, because the server ended or a chat buffer was killed, is asked for again.

;;; Code:

(require 'redline-client)

(cl-defstruct (redline-session (:conc-name redline--session-))
  "A conversation."
  server id (title "") mode model updated (turns 0)
  running
  (state 'idle)  ; what the mode line says
  (seen 0)       ; the number of the last event
  usage context  ; tokens, and how full the model's window is
  queue          ; prompts that wait for the end of the turn, oldest first
  buffer         ; the chat
  (shown 0))     ; the number of the last event in it

(defvar redline-event-functions nil
  "Functions that are called with a session and an event of it, a plist.")

(defvar redline-status-hook nil
  "Hook that runs when what the mode line says has changed.")

(defun redline--find-session (server id)
  "Return the session of SERVER that is called ID, if it is known."
  (cl-find id (redline--sessions server) :key #'redline--session-id :test #'equal))

(defun redline--adopt (server info)
  "Return the session of SERVER that INFO, a SessionInfo, is about."
  (let* ((id (plist-get info :sessionId))
         (session (or (redline--find-session server id)
                      (car (push (make-redline-session :server server :id id)
                                 (redline--sessions server))))))
    (setf (redline--session-title session) (plist-get info :title)
          (redline--session-mode session) (plist-get info :mode)
          (redline--session-model session) (plist-get info :model)
          (redline--session-turns session) (plist-get info :turns)
          (redline--session-updated session) (plist-get info :updatedAt)
          (redline--session-running session) (eq t (plist-get info :running)))
    (redline--status-changed)
    session))

(defun redline--status-changed ()
  "Have the mode lines shown anew."
  (run-hooks 'redline-status-hook)
  (force-mode-line-update t))

(defun redline--new-session (server)
  "Return a new session of SERVER, which is the current one now."
  (let* ((params (append (and redline-mode (list :mode redline-mode))
                         (and redline-model (list :model redline-model))))
         (session (redline--adopt server (redline--call server :agent/session/new params))))
    (setf (redline--current-session server) session)))

(defvar-local redline--session nil
  "The session that a chat buffer shows.")

(defun redline--session ()
  "Return the session that a command in the current buffer is about.
It is made if there is none, and its server is started."
  (if (and redline--session (redline--serving-p (redline--session-server redline--session)))
      redline--session
    (let ((server (redline--ensure)))
      (or (redline--current-session server)
          (redline--new-session server)))))

(defun redline--session-if-any ()
  "Return the session that the current buffer is about, or nil."
  (or redline--session
      (when-let* ((server (redline--running)))
        (redline--current-session server))))

(defun redline--resume (server id after)
  "Resume the session ID of SERVER and return it; its events after AFTER come."
  (redline--adopt server (redline--call server :agent/session/resume
                                        (list :sessionId id :afterSeq after))))

;;;; Events

(defconst redline--states
  '(("turn/started" . waiting) ("message/user" . waiting) ("message/delta" . answering)
    ("thought/delta" . thinking) ("turn/ended" . idle) ("retry" . retrying))
  "What the mode line says after an event.")

(cl-defmethod redline--handle-notification (server (_ (eql agent/event)) params)
  "Take the event of SERVER in PARAMS."
  (let* ((id (plist-get params :sessionId))
         (session (or (redline--find-session server id)
                      (car (push (make-redline-session :server server :id id :mode "" :model "")
                                 (redline--sessions server)))))
         (event (plist-get params :event))
         (seq (plist-get params :seq)))
    (when (> seq (redline--session-seen session))
      (setf (redline--session-seen session) seq)
      (redline--follow session event))
    (when (> seq (redline--session-shown session))
      (setf (redline--session-shown session) seq)
      (run-hook-with-args 'redline-event-functions session event))))

(defun redline--follow (session event)
  "Note in SESSION what EVENT, a new one, has to say."
  (let* ((type (plist-get event :type))
         (state (cdr (assoc type redline--states))))
    (when state (setf (redline--session-state session) state))
    (pcase type
      ("turn/started" (setf (redline--session-running session) t))
      ("message/user"
       (when (member (redline--session-title session) '(nil ""))
         (setf (redline--session-title session)
               (car (split-string (string-trim (plist-get event :text)) "\n")))))
      ("turn/ended"
       (setf (redline--session-running session) nil)
       (run-with-timer 0 nil #'redline--send-queued session))
      ("tool/updated"
       (setf (redline--session-state session)
             (pcase (plist-get event :status)
               ("confirming" 'reviewing)
               ((or "pending" "running") 'working)
               (_ 'waiting))))
      ("usage/updated" (setf (redline--session-usage session) (plist-get event :usage)))
      ("model/changed" (setf (redline--session-model session) (plist-get event :model))))
    (when (or state (member type '("tool/updated" "model/changed" "proposal/updated")))
      (redline--status-changed))))

;;;; Prompts

(defun redline--notice (session level text)
  "Tell the user TEXT of SESSION, in the chat and the echo area, as LEVEL."
  (run-hook-with-args 'redline-event-functions session
                      (list :type "notice" :level level :text text))
  (message "Redline: %s" text))

(defun redline--prompt (session text &optional context how)
  "Send TEXT to SESSION, with CONTEXT, a list of ContextItems.
While a turn runs HOW says what happens, as `redline-when-running' does."
  (let ((fail (lambda (err) (redline--notice session "error" (plist-get err :message))))
        (server (redline--session-server session))
        (id (redline--session-id session)))
    (cond
     ((not (redline--session-running session))
      (setf (redline--session-running session) t) ; until the server tells
      (redline--request
       server :agent/prompt
       (append (list :sessionId id :text text)
               (and context (list :context (vconcat context))))
       #'ignore
       (lambda (err)
         (setf (redline--session-running session) nil)
         (redline--status-changed)
         (funcall fail err))))
     ((or context (eq (or how redline-when-running) 'queue))
      (setf (redline--session-queue session)
            (append (redline--session-queue session) (list (cons text context))))
      (redline--notice session "info" (format "waits for the end of the turn: %s" text)))
     (t
      (redline--request
       server :agent/steer (list :sessionId id :text text) #'ignore
       ;; The turn may have ended meanwhile.
       (lambda (err)
         (if (redline--session-running session)
             (funcall fail err)
           (redline--prompt session text context))))))))

(defun redline--send-queued (session)
  "Send the next prompt that waits in SESSION."
  (when (and (redline--session-queue session)
             (not (redline--session-running session))
             (redline--serving-p (redline--session-server session)))
    (pcase-let ((`(,text . ,context) (pop (redline--session-queue session))))
      (redline--prompt session text context))))

(defun redline-stop ()
  "End the running turn; what was queued is dropped."
  (interactive)
  (let ((session (redline--session-if-any)))
    (unless (and session (redline--session-running session))
      (user-error "Redline: nothing runs"))
    (setf (redline--session-queue session) nil)
    (redline--request (redline--session-server session) :agent/cancel
                      (list :sessionId (redline--session-id session)))))

;;;; Mode and model

(defconst redline--modes
  '(("default" . "every edit is reviewed") ("autoEdit" . "edits are applied at once")
    ("plan" . "nothing is changed") ("yolo" . "nothing is asked"))
  "The modes of a session, with what they do.")

(defun redline--configure (session &rest change)
  "Change SESSION by CHANGE, a plist of the parameters of the request."
  (redline--adopt (redline--session-server session)
                  (redline--call (redline--session-server session) :agent/session/configure
                                 (append (list :sessionId (redline--session-id session))
                                         change))))

(defun redline--annotated (alist &optional category)
  "Return a completion table of ALIST of names and what is said of them.
CATEGORY is that of the names; they stay in order."
  (lambda (string pred action)
    (if (eq action 'metadata)
        `(metadata (category . ,(or category 'redline))
                   (display-sort-function . identity)
                   (cycle-sort-function . identity)
                   (annotation-function
                    . ,(lambda (name)
                         (when-let* ((note (cdr (assoc name alist))))
                           (propertize (concat "  " note) 'face 'completions-annotations)))))
      (complete-with-action action alist string pred))))

(defun redline-set-mode (mode)
  "Set the MODE of the session: what happens to edits and questions."
  (interactive
   (list (completing-read (format "Mode (now %s): " (redline--session-mode (redline--session)))
                          (redline--annotated redline--modes) nil t)))
  (redline--configure (redline--session) :mode mode)
  (message "Redline: %s: %s" mode (cdr (assoc mode redline--modes))))

(defun redline--model-names (server)
  "Return an alist of the models of SERVER and what is said of them."
  (let ((list (redline--call server :agent/model/list nil)))
    (when-let* ((why (plist-get list :message)))
      (message "Redline: %s" why))
    (append
     (cl-loop for (alias model) on (plist-get list :aliases) by #'cddr
              collect (cons (substring (symbol-name alias) 1) (format "%s" model)))
     (mapcar (lambda (m)
               (let ((price (plist-get m :price)))
                 (cons (plist-get m :name)
                       (string-join
                        (delq nil
                              (list (plist-get m :displayName)
                                    (and price (format "$%s in, $%s out a million tokens"
                                                       (plist-get price :input)
                                                       (plist-get price :output)))))
                        ", "))))
             (plist-get list :models)))))

(defun redline-set-model (model)
  "Set the MODEL of the session."
  (interactive
   (let ((session (redline--session)))
     (list (completing-read
            (format "Model (now %s): " (redline--session-model session))
            (redline--annotated (redline--model-names (redline--session-server session)))))))
  (redline--configure (redline--session) :model model)
  (message "Redline: the model is %s" model))

(defun redline-compress ()
  "Put a summary in the place of the older part of the conversation."
  (interactive)
  (let ((session (redline--session)))
    (message "Redline: summarising…")
    (redline--request
     (redline--session-server session) :agent/session/compress
     (list :sessionId (redline--session-id session))
     (lambda (result)
       (message "Redline: %s"
                (if (eq t (plist-get result :compressed))
                    (format "the conversation takes %d tokens in the place of %d"
                            (plist-get result :tokensAfter) (plist-get result :tokensBefore))
                  "there is nothing that a summary would make shorter"))))))

;;;; A server that ended

(defun redline--sessions-lost (server)
  "Note that SERVER, which ended, is in no turn any more."
  (dolist (session (redline--sessions server))
    (when (redline--session-running session)
      (redline--notice session "warning"
                       "the server ended in the middle of the turn; what was said is kept"))
    (setf (redline--session-running session) nil
          (redline--session-state session) 'idle))
  (redline--status-changed))

(defun redline--sessions-back (old new)
  "Resume in NEW the sessions of OLD, a server that has ended."
  (dolist (session (reverse (redline--sessions old)))
    (setf (redline--session-server session) new)
    (push session (redline--sessions new))
    (condition-case err
        (progn
          (redline--resume new (redline--session-id session) (redline--session-seen session))
          (when (eq session (redline--current-session old))
            (setf (redline--current-session new) session))
          (when (buffer-live-p (redline--session-buffer session))
            (with-current-buffer (redline--session-buffer session)
              (setq redline--server new)))
          (redline--send-queued session))
      (error
       ;; One without a prompt is not kept anywhere.
       (setf (redline--sessions new) (delq session (redline--sessions new)))
       (unless (zerop (redline--session-seen session))
         (message "%s" (error-message-string err)))))))

(add-hook 'redline-lost-functions #'redline--sessions-lost)
(add-hook 'redline-back-functions #'redline--sessions-back)

(provide 'redline-session)
;;; redline-session.el ends here
