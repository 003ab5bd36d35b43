;;; redline-document.el --- What the server knows of buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Buffers of files below a server's root are told to it with all that is typed, so
;; that unsaved text is what the agent reads.  Changes are sent with a short delay, and
;; in any case before anything else is: what the server gets is never older than what
;; it is told in the same breath.
;;
;; The buffer's tick of changes is compared with the one of the last change that was
;; seen; when something went past the hooks, the whole text is sent.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'redline-position)

(cl-defstruct (redline-document (:conc-name redline--doc-))
  "What a server was told of a buffer."
  server uri
  (version 1)
  changes   ; newest first
  pending   ; (BEG END START STOP) of the change that has begun
  full      ; the next change sends the whole text
  tick      ; of the buffer, at the last change that was seen
  eol)

(defvar-local redline--document nil
  "The current buffer's `redline-document', if a server knows the buffer.")
(put 'redline--document 'permanent-local t)

(defvar redline-sync-delay 0.1
  "Seconds after a change until the server hears of it at the latest.")

(cl-defgeneric redline--documents (server)
  "Return the buffers that SERVER knows.")
(cl-defgeneric redline--set-documents (server buffers)
  "Note that SERVER knows BUFFERS.")
(cl-defgeneric redline--encoding (server)
  "Return the unit of positions that was agreed on with SERVER.")
(cl-defgeneric redline--root (server)
  "Return the folder of SERVER.")
(cl-defgeneric redline--serving-p (server)
  "Return non-nil if SERVER is running and can be told of documents.")

(defun redline--below-p (path root)
  "Return non-nil if PATH is in the folder ROOT."
  (string-prefix-p (file-name-as-directory root) path))

(defun redline--language ()
  "Return LSP's word for the language of the current buffer."
  (string-remove-suffix "-ts" (string-remove-suffix "-mode" (symbol-name major-mode))))

(defun redline--wanted-p (server)
  "Return non-nil if SERVER should know the current buffer.
The empty buffer of a file that is not there would be a file whose
name is taken."
  (and buffer-file-name
       (not (buffer-base-buffer))
       (not (file-remote-p buffer-file-name))
       (redline--below-p (expand-file-name buffer-file-name) (redline--root server))
       (or (buffer-modified-p) (> (buffer-size) 0) (file-exists-p buffer-file-name))
       (not (redline--unsendable-p))))

(defun redline--whole-text ()
  "Return the text of the current buffer as its file has it."
  (save-restriction
    (widen)
    (redline--wire-text (buffer-substring-no-properties (point-min) (point-max))
                        (redline--eol))))

(defun redline--open-document (server)
  "Tell SERVER of the current buffer, if it should know it."
  (when (and (not redline--document) (redline--serving-p server) (redline--wanted-p server))
    (setq redline--document
          (make-redline-document
           :server server :uri (redline--path-to-uri buffer-file-name)
           :tick (buffer-chars-modified-tick) :eol (redline--eol)))
    (redline--set-documents server (cons (current-buffer) (redline--documents server)))
    (jsonrpc-notify server :textDocument/didOpen
                    (list :textDocument
                          (list :uri (redline--doc-uri redline--document)
                                :languageId (redline--language)
                                :version (redline--doc-version redline--document)
                                :text (redline--whole-text))))
    (add-hook 'before-change-functions #'redline--before-change nil t)
    (add-hook 'after-change-functions #'redline--after-change nil t)
    (add-hook 'kill-buffer-hook #'redline--close-document nil t)
    redline--document))

(defun redline--close-document ()
  "Tell the server that the current buffer is gone, for it."
  (when-let* ((doc redline--document)
              (server (redline--doc-server doc)))
    (when (redline--serving-p server)
      (redline--flush-document)
      (jsonrpc-notify server :textDocument/didClose
                      (list :textDocument (list :uri (redline--doc-uri doc)))))
    (redline--forget-document)))

(defun redline--forget-document ()
  "Forget that a server knows the current buffer."
  (when-let* ((doc redline--document) (server (redline--doc-server doc)))
    (redline--set-documents server (delq (current-buffer) (redline--documents server)))
    (setq redline--document nil)
    (remove-hook 'before-change-functions #'redline--before-change t)
    (remove-hook 'after-change-functions #'redline--after-change t)
    (remove-hook 'kill-buffer-hook #'redline--close-document t)))

;;;; Changes

(defun redline--before-change (beg end)
  "Note where the text from BEG to END is for the server, before it is modified."
  (when-let* ((doc redline--document))
    (unless (eq (redline--doc-tick doc) (buffer-chars-modified-tick))
      (setf (redline--doc-full doc) t))
    (unless (redline--doc-full doc)
      (if (redline--returns-p)
          (setf (redline--doc-full doc) t)
        (let* ((encoding (redline--encoding (redline--doc-server doc)))
               (start (redline--position beg encoding)))
          (setf (redline--doc-pending doc)
                (list beg end start
                      (if (= beg end) start (redline--position end encoding)))))))))

(defun redline--after-change (beg end length)
  "Note that the text from BEG to END took the place of LENGTH characters."
  (when-let* ((doc redline--document))
    (setf (redline--doc-tick doc) (buffer-chars-modified-tick))
    (unless (redline--doc-full doc)
      (pcase (redline--doc-pending doc)
        ((and `(,from ,to ,start ,stop)
              (guard (and (eq from beg) (eq (- to from) length))))
         (let ((text (save-restriction
                       (widen)
                       (buffer-substring-no-properties beg end))))
           (if (string-search "\r" text)
               (setf (redline--doc-full doc) t)
             (push (list :range (list :start start :end stop)
                         :text (redline--wire-text text (redline--doc-eol doc)))
                   (redline--doc-changes doc)))))
        (_ (setf (redline--doc-full doc) t))))
    (setf (redline--doc-pending doc) nil)
    (redline--flush-soon (redline--doc-server doc))))

(defun redline--current-p (doc)
  "Return non-nil if the server knows all of the current buffer, which is DOC's."
  (and (not (redline--doc-full doc))
       (null (redline--doc-changes doc))
       (eq (redline--doc-tick doc) (buffer-chars-modified-tick))
       (equal (redline--doc-eol doc) (redline--eol))))

(defun redline--flush-document ()
  "Send what changed in the current buffer."
  (when-let* ((doc redline--document))
    (unless (redline--current-p doc)
      (when (or (not (eq (redline--doc-tick doc) (buffer-chars-modified-tick)))
                (not (equal (redline--doc-eol doc) (redline--eol))))
        (setf (redline--doc-full doc) t))
      (let ((changes (if (redline--doc-full doc)
                         (list (list :text (redline--whole-text)))
                       (reverse (redline--doc-changes doc)))))
        (setf (redline--doc-changes doc) nil
              (redline--doc-full doc) nil
              (redline--doc-tick doc) (buffer-chars-modified-tick)
              (redline--doc-eol doc) (redline--eol))
        (if (cl-some (lambda (c) (string-match-p redline--unsendable (plist-get c :text)))
                     changes)
            (progn
              (message "Redline: %s holds raw bytes now; the agent reads it from the disk"
                       (buffer-name))
              (jsonrpc-notify (redline--doc-server doc) :textDocument/didClose
                              (list :textDocument (list :uri (redline--doc-uri doc))))
              (redline--forget-document))
          (cl-incf (redline--doc-version doc))
          (jsonrpc-notify (redline--doc-server doc) :textDocument/didChange
                          (list :textDocument (list :uri (redline--doc-uri doc)
                                                    :version (redline--doc-version doc))
                                :contentChanges (vconcat changes))))))))

(defun redline--flush (server)
  "Send SERVER what changed in all buffers."
  (dolist (buffer (redline--documents server))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer (redline--flush-document)))))

(defvar redline--flush-timers nil
  "Servers that are told of changes soon, with their timers.")

(defun redline--flush-soon (server)
  "Send SERVER what changed, when the user's command is over."
  (unless (assq server redline--flush-timers)
    (push (cons server
                (run-with-timer
                 redline-sync-delay nil
                 (lambda ()
                   (setq redline--flush-timers (assq-delete-all server redline--flush-timers))
                   (when (redline--serving-p server) (redline--flush server)))))
          redline--flush-timers)))

(provide 'redline-document)
;;; redline-document.el ends here
