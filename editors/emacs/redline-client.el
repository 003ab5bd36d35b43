;;; redline-client.el --- The server's process  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One server a project, started by the first command that needs it, over the built-in
;; jsonrpc.  It is a connection of our own, beside whatever eglot or lsp-mode run: Redline
;; offers no completion and no diagnostics and so stands in nobody's way.
;;
;; A server's request is answered by what its handler returns; a handler that must ask the
;; user first returns a promise (`redline--promise') and is not waited for.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'project)
(require 'redline-options)
(require 'redline-document)

(defvar redline--servers nil
  "The servers that run or are to be started again, newest first.")

(defvar redline--lost nil
  "Alist of folders and the servers that ended there last.")

(defclass redline-server (jsonrpc-process-connection)
  ((root :initarg :root :reader redline--root)
   (encoding :initform "utf-16" :accessor redline--encoding)
   (methods :initform nil :accessor redline--methods
            :documentation "The requests that the server knows.")
   (ready :initform nil :accessor redline--ready-p)
   (stopping :initform nil :accessor redline--stopping
             :documentation "Set while the server ends because we asked it to.")
   (started :initform nil :accessor redline--started)
   (documents :initform nil :reader redline--documents)
   (promises :initform nil :accessor redline--promises
             :documentation "Alist of requests that are not answered yet.")
   (sessions :initform nil :accessor redline--sessions)
   (current :initform nil :accessor redline--current-session
            :documentation "The session that commands are about.")
   (proposals :initform nil :accessor redline--proposals
              :documentation "What is or was under review, newest first.")
   (questions :initform nil :accessor redline--questions
              :documentation "What the user is asked, oldest first.")
   (progress :initform nil :accessor redline--progress
             :documentation "Alist of tokens and titles of long work."))
  :documentation "A connection to `redline serve'.")

(cl-defmethod redline--set-documents ((server redline-server) buffers)
  "Note that SERVER knows BUFFERS."
  (oset server documents buffers))

(cl-defmethod redline--serving-p ((server redline-server))
  "Return non-nil if SERVER is running and has been initialized."
  (and (redline--ready-p server) (jsonrpc-running-p server)))

;;;; Requests of the server

(cl-defstruct (redline-promise (:conc-name redline--promise-))
  "An answer to a request of the server that comes later."
  server id
  value   ; (:result R) or (:error E) once it is there
  cancel) ; called without arguments when the server gives up waiting

(defun redline--settle (promise &rest reply)
  "Answer the request of PROMISE with REPLY, :result or :error and its value, once."
  (unless (redline--promise-value promise)
    (setf (redline--promise-value promise) reply)
    (when-let* ((id (redline--promise-id promise))
                (server (redline--promise-server promise)))
      (setf (redline--promises server) (assoc-delete-all id (redline--promises server)))
      (when (jsonrpc-running-p server)
        (apply #'jsonrpc-connection-send server :id id reply)))))

(cl-defmethod jsonrpc-connection-send :around ((server redline-server) &rest args)
  "Send ARGS to SERVER, after what was typed, and not before a promise is kept."
  (let ((promise (plist-get args :result)))
    (cond
     ((not (redline-promise-p promise))
      (unless (memq (plist-get args :method)
                    '(:textDocument/didOpen :textDocument/didClose :textDocument/didChange
                      :initialize :initialized))
        (redline--flush server))
      (apply #'cl-call-next-method server args))
     ((redline--promise-value promise)
      (apply #'cl-call-next-method server :id (plist-get args :id)
             (redline--promise-value promise)))
     (t
      (setf (redline--promise-id promise) (plist-get args :id)
            (redline--promise-server promise) server)
      (push (cons (plist-get args :id) promise) (redline--promises server))))))

(cl-defgeneric redline--handle-request (server method params)
  "Answer the request METHOD, a symbol, of SERVER, with PARAMS.")

(cl-defmethod redline--handle-request (_server method _params)
  "Refuse METHOD, which nobody knows."
  (jsonrpc-error :code -32601 :message (format "Emacs does not know %s" method)))

(cl-defgeneric redline--handle-notification (server method params)
  "Take the notification METHOD, a symbol, of SERVER, with PARAMS."
  (:method (_server _method _params) nil))

(cl-defmethod redline--handle-notification (server (_ (eql $/cancelRequest)) params)
  "Let go of the request of SERVER that PARAMS name."
  (when-let* ((promise (alist-get (plist-get params :id) (redline--promises server)
                                  nil nil #'equal)))
    (redline--settle promise :error '(:code -32800 :message "cancelled"))
    (when-let* ((cancel (redline--promise-cancel promise)))
      (funcall cancel))))

(cl-defmethod redline--handle-notification (_server (_ (eql window/showMessage)) params)
  "Show the message of PARAMS."
  (message "Redline: %s" (plist-get params :message)))

(cl-defmethod redline--handle-notification (server (_ (eql window/logMessage)) params)
  "Keep the message of PARAMS in the log of SERVER."
  (with-current-buffer (get-buffer-create (redline--log-name server))
    (unless (derived-mode-p 'special-mode) (special-mode))
    (let ((inhibit-read-only t))
      (save-excursion
        (goto-char (point-max))
        (insert (format-time-string "%T ") (plist-get params :message) "\n")
        (when (> (buffer-size) 200000)
          (goto-char 100000)
          (forward-line)
          (delete-region (point-min) (point)))))))

(defun redline--log-name (server)
  "Return the name of the buffer that SERVER's log is in."
  (format "*redline log: %s*" (redline--project-name server)))

(defun redline--project-name (server)
  "Return the short name of SERVER's folder."
  (file-name-nondirectory (directory-file-name (redline--root server))))

;;;; Requests of ours

(defconst redline--empty (make-hash-table :size 1)
  "An object without members, as JSON.")

(defun redline--complain (server err)
  "Tell the user of ERR, the error answer of SERVER."
  (ignore server)
  (message "Redline: %s" (or (plist-get err :message) err)))

(defun redline--request (server method params &optional then fail)
  "Send SERVER the request METHOD with PARAMS, and go on.
THEN is called with the result, FAIL with the error; without FAIL the
user is told."
  (jsonrpc-async-request
   server method (or params redline--empty)
   :timeout nil
   :success-fn (or then #'ignore)
   :error-fn (or fail (lambda (err) (redline--complain server err)))))

(defun redline--call (server method params)
  "Send SERVER the request METHOD with PARAMS and return the result.
An error answer is a `user-error'; quitting gives up waiting."
  (condition-case err
      (jsonrpc-request server method (or params redline--empty) :timeout 30)
    (jsonrpc-error
     (user-error "Redline: %s" (or (alist-get 'jsonrpc-error-message (cdr err)) (cadr err))))))

;;;; Start and end

(defun redline-default-root ()
  "Return the root of the current project, or the current folder."
  (expand-file-name
   (if-let* ((project (project-current))) (project-root project) default-directory)))

(defvar-local redline--server nil
  "The server that a buffer of Redline's own belongs to.")

(defun redline--running ()
  "Return the server for the current buffer, if it is running."
  (if (and redline--server (redline--serving-p redline--server))
      redline--server
    (let ((dir (expand-file-name (or buffer-file-name default-directory)))
          found)
      (dolist (server redline--servers found)
        (when (and (redline--serving-p server)
                   (or (redline--below-p dir (redline--root server))
                       (and redline--server
                            (equal (redline--root server) (redline--root redline--server))))
                   (or (null found)
                       (string-prefix-p (redline--root found) (redline--root server))))
          (setq found server))))))

(defun redline--ensure ()
  "Return the server for the current buffer, starting it if need be."
  (or (redline--running)
      (redline--start (file-name-as-directory
                       (if redline--server
                           (redline--root redline--server)
                         (expand-file-name (funcall redline-root-function)))))))

(defconst redline--capabilities
  `( :general (:positionEncodings ["utf-8" "utf-32" "utf-16"])
     :textDocument (:synchronization (:dynamicRegistration :json-false :didSave t))
     :workspace ( :applyEdit t
                  :workspaceFolders t
                  :workspaceEdit ( :documentChanges t
                                   :resourceOperations ["create" "rename" "delete"]
                                   :failureHandling "transactional"))
     :window ( :workDoneProgress t
               :showDocument (:support t)
               :showMessage (:messageActionItem (:additionalPropertiesSupport :json-false)))
     :experimental
     (:redline ( :version 1
                 :proposals ,redline--empty :approve ,redline--empty :ask ,redline--empty
                 :editor ( :diagnostics ,redline--empty :definition ,redline--empty
                           :references ,redline--empty :symbols ,redline--empty
                           :hover ,redline--empty :rename ,redline--empty
                           :openBuffers ,redline--empty :save ,redline--empty))))
  "What we tell the server that we can.")

(defun redline--missing (program)
  "Signal that PROGRAM, the server, is not there."
  (user-error "Redline: there is no program %S.  Install it (go install ./cmd/redline) and put it on the PATH, or customize `redline-command'" program))

;; Before Emacs 30 jsonrpc takes what comes right in the process filter.  A handler that waits
;; there for another answer, and `jsonrpc-request' itself, which leaves the filter by a throw,
;; would have it lose its place in the stream: what came in the same read is not seen until
;; more comes.  So messages are only cut there, and taken when the filter is done.

(defun redline--cut (process text)
  "Cut TEXT, from PROCESS, into messages, which are taken later on, in order."
  (cl-letf (((symbol-function 'jsonrpc-connection-receive)
             (lambda (server message)
               (process-put process 'redline-came
                            (append (process-get process 'redline-came) (list message)))
               (run-with-timer 0 nil #'redline--take process server))))
    (jsonrpc--process-filter process text)))

(defun redline--take (process server)
  "Have SERVER take the next message that came from PROCESS."
  (when-let* ((came (process-get process 'redline-came)))
    (process-put process 'redline-came (cdr came))
    (jsonrpc-connection-receive server (car came))))

(defun redline--make (root)
  "Return a new connection to a server in ROOT."
  (let* ((default-directory root)
         (program (car redline-command))
         (path (or (executable-find program) (redline--missing program)))
         (process-environment (append redline-environment process-environment))
         (name (format "redline: %s" (file-name-nondirectory (directory-file-name root))))
         (new (boundp 'jsonrpc-event-hook)) ; since Emacs 30
         (server
          (apply #'make-instance 'redline-server
                 :name name :root root
                 :request-dispatcher #'redline--handle-request
                 :notification-dispatcher #'redline--handle-notification
                 :on-shutdown #'redline--ended
                 :process (lambda ()
                            (make-process
                             :name name :command (cons path (cdr redline-command))
                             :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                             :stderr (get-buffer-create (format "*%s stderr*" name))))
                 (if new
                     `(:events-buffer-config (:size ,redline-log-size :format full))
                   `(:events-buffer-scrollback-size ,redline-log-size)))))
    (unless new (set-process-filter (jsonrpc--process server) #'redline--cut))
    server))

(defun redline--start (root)
  "Start a server in ROOT, initialize it and return it."
  (let ((server (redline--make root)) done)
    (setf (redline--started server) (float-time))
    (unwind-protect
        (progn
          (redline--initialize server)
          (setq done t))
      (unless done
        (setf (redline--stopping server) t)
        (delete-process (jsonrpc--process server))))
    (push server redline--servers)
    (redline--watch)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer (redline--open-document server)))
    (when-let* ((old (alist-get root redline--lost nil nil #'equal)))
      (setf (alist-get root redline--lost nil t #'equal) nil)
      (run-hook-with-args 'redline-back-functions old server))
    server))

(defun redline--initialize (server)
  "Shake hands with SERVER."
  (let* ((root (redline--root server))
         (uri (redline--path-to-uri (directory-file-name root)))
         (result
          (condition-case err
              (jsonrpc-request
               server :initialize
               (list :processId (emacs-pid)
                     :clientInfo (list :name "Emacs" :version emacs-version)
                     :rootUri uri
                     :capabilities redline--capabilities
                     :workspaceFolders (vector (list :uri uri
                                                     :name (redline--project-name server))))
               :timeout 20)
            (error
             (accept-process-output nil 0.1) ; what it said last
             (user-error "Redline: the server did not start: %s%s"
                         (or (alist-get 'jsonrpc-error-message (cdr err))
                             (error-message-string err))
                         (redline--last-words server)))))
         (capabilities (plist-get result :capabilities))
         (ext (plist-get (plist-get capabilities :experimental) :redline)))
    (unless (and ext (<= (plist-get ext :minVersion) 1 (plist-get ext :version)))
      (user-error "Redline: %s speaks another version of the protocol; update the %s"
                  (car redline-command)
                  (if (and ext (> (plist-get ext :minVersion) 1)) "package" "server")))
    (setf (redline--encoding server) (or (plist-get capabilities :positionEncoding) "utf-16")
          (redline--methods server) (append (plist-get ext :methods) nil)
          (redline--ready-p server) t)
    (jsonrpc-notify server :initialized redline--empty)))

(defun redline--last-words (server)
  "Return what SERVER said on its standard error, if anything, to be shown."
  (if-let* ((buffer (jsonrpc-stderr-buffer server))
            (text (and (buffer-live-p buffer)
                       (with-current-buffer buffer (string-trim (buffer-string)))))
            ((not (string-empty-p text))))
      (concat ": " (truncate-string-to-width text 300 nil nil "…"))
    ""))

(defvar redline-lost-functions nil
  "Functions that are called with a server that ended by itself.")

(defvar redline-back-functions nil
  "Functions called with a server that ended and the one in its place.")

(defun redline--ended (server)
  "Clean up after SERVER, whose process has ended."
  (dolist (buffer (redline--documents server))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer (redline--forget-document))))
  (setq redline--servers (delq server redline--servers))
  (unless redline--servers (redline--unwatch))
  (pcase-dolist (`(,_ . ,promise) (redline--promises server))
    (when-let* ((cancel (redline--promise-cancel promise)))
      (funcall cancel)))
  (setf (redline--promises server) nil)
  (when (redline--ready-p server)
    (setf (alist-get (redline--root server) redline--lost nil nil #'equal) server)
    (run-hook-with-args 'redline-lost-functions server)
    (unless (redline--stopping server)
      (message "Redline: the server ended%s" (redline--last-words server))
      (cond ((not redline-restart))
            ((< (- (float-time) (redline--started server)) 2)
             (message "Redline: the server ended right after its start%s; M-x redline starts it again"
                      (redline--last-words server)))
            (t (run-with-timer 0.2 nil #'redline--start-again (redline--root server)))))))

(defun redline--start-again (root)
  "Start a server in ROOT, where one has ended, unless one is running by now."
  (unless (cl-find root redline--servers :key #'redline--root :test #'equal)
    (condition-case err
        (progn (redline--start root)
               (message "Redline: the server runs again"))
      (error (message "%s" (error-message-string err))))))

(defun redline--stop (server)
  "End SERVER in good order."
  (setf (redline--stopping server) t)
  (when (jsonrpc-running-p server)
    (ignore-errors (jsonrpc-request server :shutdown redline--empty :timeout 3))
    (ignore-errors (jsonrpc-notify server :exit redline--empty))
    (let ((deadline (+ (float-time) 3)))
      (while (and (jsonrpc-running-p server) (< (float-time) deadline))
        (accept-process-output nil 0.02)))
    (when (jsonrpc-running-p server)
      (delete-process (jsonrpc--process server)))))

(defun redline--stop-all ()
  "End all servers; Emacs ends.
They are not waited for: each ends when its standard input does."
  (dolist (server redline--servers)
    (setf (redline--stopping server) t)
    (ignore-errors (redline--flush server))))

;;;; Buffers that come and go

(defun redline--buffer-changed-name ()
  "Tell the server of the new name of the current buffer."
  (unless (equal (and redline--document (redline--doc-uri redline--document))
                 (and buffer-file-name (redline--path-to-uri buffer-file-name)))
    (redline--close-document)
    (redline--note-buffer)))

(defun redline--note-buffer ()
  "Tell the server of the current buffer, once there is something to tell."
  (when-let* (((and buffer-file-name (not redline--document)))
              (server (redline--running)))
    (unless (redline--open-document server)
      (add-hook 'first-change-hook #'redline--note-buffer-soon nil t))))

(defun redline--note-buffer-soon ()
  "Tell the server of the current buffer when its first change is over."
  (remove-hook 'first-change-hook #'redline--note-buffer-soon t)
  (let ((buffer (current-buffer)))
    (run-with-timer 0 nil (lambda ()
                            (when (buffer-live-p buffer)
                              (with-current-buffer buffer (redline--note-buffer)))))))

(defun redline--note-saved ()
  "Tell the server that the current buffer was saved."
  (if-let* ((doc redline--document))
      (when (redline--serving-p (redline--doc-server doc))
        (jsonrpc-notify (redline--doc-server doc) :textDocument/didSave
                        (list :textDocument (list :uri (redline--doc-uri doc)))))
    (redline--note-buffer)))

(defconst redline--hooks
  '((find-file-hook . redline--note-buffer)
    (after-save-hook . redline--note-saved)
    (after-set-visited-file-name-hook . redline--buffer-changed-name)
    (kill-emacs-hook . redline--stop-all))
  "What is hooked while a server runs.")

(defun redline--watch ()
  "Follow the buffers that come and go."
  (pcase-dolist (`(,hook . ,function) redline--hooks)
    (add-hook hook function)))

(defun redline--unwatch ()
  "Stop following buffers; no server is running."
  (pcase-dolist (`(,hook . ,function) redline--hooks)
    (remove-hook hook function)))

(provide 'redline-client)
;;; redline-client.el ends here
