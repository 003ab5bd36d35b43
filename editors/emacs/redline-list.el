;;; redline-list.el --- Lists of sessions and checkpoints  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Tables in which the sessions of a project are taken up again, copied and deleted, and in
;; which one goes back to the state before a prompt.

;;; Code:

(require 'iso8601)
(require 'tabulated-list)
(require 'diff-mode)
(require 'redline-chat)

(defun redline--when (time)
  "Return TIME, of RFC 3339, for people."
  (if (member time '(nil "")) ""
    (format-time-string "%F %R" (encode-time (iso8601-parse time)))))

(defun redline--list-buffer (name mode server)
  "Show the buffer NAME in MODE about SERVER and return it."
  (let ((buffer (get-buffer-create (format "*redline %s: %s*" name
                                           (redline--project-name server)))))
    (with-current-buffer buffer
      (unless (derived-mode-p mode) (funcall mode))
      (setq redline--server server default-directory (redline--root server))
      (revert-buffer))
    (pop-to-buffer buffer)
    buffer))

(defun redline--id-at-point ()
  "Return the ID of the row at point."
  (or (tabulated-list-get-id) (user-error "Redline: there is nothing in this line")))

;;;; Sessions

(defvar-keymap redline-sessions-mode-map
  :doc "Keymap of `redline-sessions-mode'."
  :parent tabulated-list-mode-map
  "RET" #'redline-sessions-open
  "c" #'redline-new-session
  "f" #'redline-sessions-fork
  "D" #'redline-sessions-delete)

(define-derived-mode redline-sessions-mode tabulated-list-mode "Redline-Sessions"
  "Major mode of the list of a project's sessions.

\\{redline-sessions-mode-map}"
  (setq tabulated-list-format [("Updated" 17 t) ("Title" 36 t) ("Turns" 5 nil :right-align t)
                               ("Mode" 9 t) ("Model" 0 t)]
        tabulated-list-sort-key '("Updated" . t))
  (add-hook 'tabulated-list-revert-hook #'redline--list-sessions nil t)
  (tabulated-list-init-header))

(defun redline--session-infos (server)
  "Return the sessions of SERVER, running and saved, as a list."
  (append (plist-get (redline--call server :agent/session/list nil) :sessions) nil))

(defun redline--title (info)
  "Return what the session INFO is about."
  (let ((title (plist-get info :title)))
    (if (member title '(nil "")) "(nothing was asked yet)" title)))

(defun redline--list-sessions ()
  "Fill the list of sessions."
  (setq tabulated-list-entries
        (mapcar (lambda (i)
                  (list (plist-get i :sessionId)
                        (vector (redline--when (plist-get i :updatedAt))
                                (concat (and (eq t (plist-get i :running)) "● ")
                                        (car (split-string (redline--title i) "\n")))
                                (number-to-string (plist-get i :turns))
                                (plist-get i :mode) (plist-get i :model))))
                (redline--session-infos redline--server))))

(defun redline-sessions ()
  "List the sessions of the project."
  (interactive)
  (redline--list-buffer "sessions" 'redline-sessions-mode (redline--ensure)))

(defun redline--take-up (server id)
  "Make the session ID of SERVER the current one and show its chat."
  (let ((session (or (redline--find-session server id)
                     (let ((new (make-redline-session :server server :id id)))
                       (push new (redline--sessions server))
                       new))))
    (condition-case err
        (unless (buffer-live-p (redline--session-buffer session))
          ;; The chat is there before its events come.
          (setf (redline--session-shown session) 0)
          (let ((seen (redline--session-seen session)))
            (redline--chat-buffer session)
            (when (zerop seen) (redline--resume server id 0))))
      (error
       (setf (redline--sessions server) (delq session (redline--sessions server)))
       (when (buffer-live-p (redline--session-buffer session))
         (kill-buffer (redline--session-buffer session)))
       (signal (car err) (cdr err))))
    (setf (redline--current-session server) session)
    (redline--show-chat session t)
    session))

(defun redline-sessions-open ()
  "Go on with the session at point."
  (interactive)
  (redline--take-up redline--server (redline--id-at-point)))

(defun redline-sessions-fork ()
  "Go on with a copy of the session at point."
  (interactive)
  (redline-fork-session (redline--id-at-point)))

(defun redline-fork-session (id)
  "Go on with a copy of the session ID, by default the current one."
  (interactive (list (redline--session-id (redline--session))))
  (let* ((server (redline--ensure))
         (info (redline--call server :agent/session/fork (list :sessionId id))))
    (redline--take-up server (plist-get info :sessionId))))

(defun redline-sessions-delete ()
  "Delete the session at point."
  (interactive)
  (let* ((id (redline--id-at-point)) (server redline--server)
         (session (redline--find-session server id)))
    (when (yes-or-no-p "Redline: delete this session for good? ")
      (redline--call server :agent/session/delete (list :sessionId id))
      (when session
        (setf (redline--sessions server) (delq session (redline--sessions server)))
        (when (eq session (redline--current-session server))
          (setf (redline--current-session server) nil))
        (when (buffer-live-p (redline--session-buffer session))
          (kill-buffer (redline--session-buffer session))))
      (revert-buffer))))

(defun redline-new-session ()
  "Start a new session and show its chat."
  (interactive)
  (redline--show-chat (redline--new-session (redline--ensure)) t))

(defun redline-resume (id)
  "Go on with the session ID of the project."
  (interactive
   (let* ((infos (or (redline--session-infos (redline--ensure))
                     (user-error "Redline: there is no session yet")))
          (names (mapcar (lambda (i)
                           (cons (format "%s  %s" (redline--when (plist-get i :updatedAt))
                                         (redline--title i))
                                 (plist-get i :sessionId)))
                         infos)))
     (list (cdr (assoc (completing-read "Session: "
                                        (redline--annotated
                                         (mapcar (lambda (n) (list (car n))) names))
                                        nil t)
                       names)))))
  (redline--take-up (redline--ensure) id))

;;;; Checkpoints

(defvar-keymap redline-checkpoints-mode-map
  :doc "Keymap of `redline-checkpoints-mode'."
  :parent tabulated-list-mode-map
  "RET" #'redline-checkpoints-preview
  "r" #'redline-checkpoints-restore)

(defvar-local redline--checkpoints-of nil
  "The session whose checkpoints the current buffer lists.")

(define-derived-mode redline-checkpoints-mode tabulated-list-mode "Redline-Checkpoints"
  "Major mode of the states one can go back to.

\\{redline-checkpoints-mode-map}"
  (setq tabulated-list-format [("When" 17 t) ("Files" 6 nil :right-align t) ("Before" 0 nil)])
  (add-hook 'tabulated-list-revert-hook #'redline--list-checkpoints nil t)
  (tabulated-list-init-header))

(defun redline--list-checkpoints ()
  "Fill the list of checkpoints, the newest first."
  (setq tabulated-list-entries
        (when redline--checkpoints-of
          (reverse
           (mapcar (lambda (c)
                     (list (plist-get c :checkpointId)
                           (vector (redline--when (plist-get c :createdAt))
                                   (number-to-string (length (plist-get c :files)))
                                   (plist-get c :title))))
                   (plist-get (redline--call redline--server :agent/checkpoint/list
                                             (list :sessionId (redline--session-id
                                                               redline--checkpoints-of)))
                              :checkpoints))))))

(defun redline-checkpoints ()
  "List the states of the session that one can go back to."
  (interactive)
  (let ((session (redline--session)))
    (with-current-buffer (redline--list-buffer "checkpoints" 'redline-checkpoints-mode
                                               (redline--session-server session))
      (setq redline--checkpoints-of session)
      (revert-buffer))))

(defun redline--left-out (result)
  "Return what RESULT of a way back spares as it is, in lines."
  (concat
   (mapconcat (lambda (uri)
                (format "# %s stays: %s\n" (redline--short (redline--uri-to-path uri))
                        (or (plist-get (plist-get result :reasons)
                                       (intern (concat ":" uri)))
                            "it was changed since")))
              (plist-get result :skipped))
   (mapconcat (lambda (c) (format "# what this did stays: %s\n" c)) (plist-get result :commands))))

(defun redline-checkpoints-preview ()
  "Show what going back to the checkpoint at point would change."
  (interactive)
  (let* ((server redline--server)
         (result (redline--call server :agent/checkpoint/preview
                                (list :checkpointId (redline--id-at-point)))))
    (with-current-buffer (get-buffer-create (format "*redline preview: %s*"
                                                    (redline--project-name server)))
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (redline--left-out result) (or (plist-get result :diff) ""))
        (when (zerop (buffer-size)) (insert "# Nothing would change.\n")))
      (diff-mode)
      (setq buffer-read-only t default-directory (redline--root server))
      (goto-char (point-min))
      (display-buffer (current-buffer)))))

(defun redline-checkpoints-restore (scope)
  "Go back to the checkpoint at point, with SCOPE files, conversation or both.
The files are changed in their buffers; that can be undone, also from the
list of checkpoints."
  (interactive
   (list (completing-read "Take back: "
                          (redline--annotated
                           '(("files" . "what the agent changed since")
                             ("conversation" . "what was said since")
                             ("both" . "both")))
                          nil t nil nil "files")))
  (let ((server redline--server) (buffer (current-buffer)) (id (redline--id-at-point)))
    (redline--request
     server :agent/checkpoint/restore (list :checkpointId id :scope scope)
     (lambda (result)
       (let ((left (string-trim (redline--left-out result))))
         (message "Redline: gone back%s" (if (equal left "") "" (concat "\n" left))))
       (when (buffer-live-p buffer)
         (with-current-buffer buffer (revert-buffer)))))))

;;;; Instructions

(defun redline-instructions ()
  "Show the instructions that the session works with: GEMINI.md and the like."
  (interactive)
  (let* ((session (redline--session)) (server (redline--session-server session))
         (list (redline--call server :agent/memory/list
                              (list :sessionId (redline--session-id session))))
         (files (append (plist-get list :files) nil)))
    (with-current-buffer (get-buffer-create (format "*redline instructions: %s*"
                                                    (redline--project-name server)))
      (special-mode)
      (setq default-directory (redline--root server))
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (if files "The agent reads these before what you ask:\n\n"
                  "There are none.  Write what the agent should know of the project into GEMINI.md there.\n"))
        (dolist (f files)
          (let ((path (redline--uri-to-path (plist-get f :uri))))
            (insert "  " (redline--link (redline--short path) (cons path nil))
                    (format "  %s, %d bytes%s\n" (plist-get f :level) (plist-get f :bytes)
                            (if (eq t (plist-get f :open)) ", as it is in Emacs" "")))))
        (seq-doseq (note (plist-get list :notes)) (insert "\n! " note "\n"))
        (goto-char (point-min)))
      (pop-to-buffer (current-buffer)))))

;;;; Processes

(defun redline-processes ()
  "List what commands of the session left running, and stop one."
  (interactive)
  (let* ((session (redline--session)) (server (redline--session-server session))
         (id (redline--session-id session))
         (running (cl-remove-if-not
                   (lambda (p) (eq t (plist-get p :running)))
                   (append (plist-get (redline--call server :agent/process/list
                                                     (list :sessionId id))
                                      :processes)
                           nil)))
         (names (mapcar (lambda (p) (cons (format "%d %s" (plist-get p :pid)
                                                  (plist-get p :command))
                                          (plist-get p :pid)))
                        running)))
    (unless names (user-error "Redline: no command was left running"))
    (redline--call server :agent/process/stop
                   (list :sessionId id
                         :pid (cdr (assoc (completing-read "Stop: " names nil t) names))))
    (message "Redline: stopped")))

(provide 'redline-list)
;;; redline-list.el ends here
