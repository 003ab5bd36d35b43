;;; redline-apply.el --- Edits that the server has applied  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Our own answer to workspace/applyEdit.  Every document is looked at before the first is
;; touched: one that is not at the version that the edit was made for, that is read-only, that
;; was changed on disk or that somebody else has locked is refused, with the reason, and nothing
;; is changed.  An edit that fails halfway is taken back in all buffers.  Each buffer gets
;; one step of undo.  Files are not written, unless `redline-save-applied' says so.

;;; Code:

(require 'redline-client)

(define-error 'redline-refused "Redline: the edit was refused")

(defun redline--refuse (format &rest args)
  "Refuse an edit for the reason that FORMAT and ARGS make."
  (signal 'redline-refused (list (apply #'format format args))))

(defun redline--visiting (path)
  "Return the buffer that visits PATH."
  (or (get-file-buffer path) (find-buffer-visiting path)))

(defun redline--short (path)
  "Return PATH as the user knows it."
  (let ((server (redline--running)))
    (if (and server (redline--below-p path (redline--root server)))
        (file-relative-name path (redline--root server))
      (abbreviate-file-name path))))

(defun redline--visit (path)
  "Return a buffer that visits PATH, in the background and without a question."
  (or (redline--visiting path)
      (let ((enable-local-variables (and enable-local-variables :safe))
            (large-file-warning-threshold nil)
            (find-file-suppress-same-file-warnings t)
            (vc-follow-symlinks t)
            (inhibit-message t))
        (with-current-buffer (find-file-noselect path t)
          (redline--unprotect path)
          (current-buffer)))))

(defun redline--unprotect (path)
  "Make the current buffer, which visits PATH, writable if only its folder lacks."
  (when (and buffer-read-only (not (file-exists-p (file-name-directory path)))
             (file-writable-p (locate-dominating-file path #'file-exists-p)))
    (setq buffer-read-only nil)))

;;;; What may be edited

(defun redline--check-document (server document)
  "Refuse an edit of DOCUMENT, a versioned identifier, that does not fit SERVER's."
  (let* ((path (or (redline--uri-to-path (plist-get document :uri))
                   (redline--refuse "%s is no file" (plist-get document :uri))))
         (name (redline--short path))
         (version (plist-get document :version))
         (buffer (redline--visiting path)))
    (cond
     ((null buffer)
      (when version (redline--refuse "%s is not open any more" name))
      (when (and (file-exists-p path) (not (file-writable-p path)))
        (redline--refuse "%s is write-protected" name)))
     (t
      (with-current-buffer buffer
        (when (and (file-exists-p path) (not (verify-visited-file-modtime buffer)))
          (if (buffer-modified-p)
              (redline--refuse "%s was changed on disk and in Emacs; M-x revert-buffer or save it" name)
            (let ((inhibit-message t)) (revert-buffer t t t))
            (redline--flush-document)))
        (let ((doc redline--document))
          (cond
           ((and version (or (null doc) (not (eq server (redline--doc-server doc)))))
            (redline--refuse "%s is not open any more" name))
           ((and version (/= version (redline--doc-version doc)))
            (redline--refuse "%s was changed meanwhile" name))
           ((and (null version) (or doc (buffer-modified-p)))
            (redline--refuse "%s was opened meanwhile" name))
           ((redline--unsendable-p)
            (redline--refuse "%s holds bytes that are no text" name))))
        (redline--unprotect path)
        (when buffer-read-only
          (redline--refuse "%s is read-only in Emacs (C-x C-q)" name)))))
    (when-let* ((owner (file-locked-p path))
                ((stringp owner)))
      (redline--refuse "%s is locked by %s" name owner))))

(defun redline--check-operation (change)
  "Refuse CHANGE, an operation on files, that would lose something."
  (let ((path (redline--uri-to-path (or (plist-get change :oldUri) (plist-get change :uri))))
        (new (and (plist-get change :newUri) (redline--uri-to-path (plist-get change :newUri)))))
    (pcase (plist-get change :kind)
      ("create"
       (when (and (file-exists-p path)
                  (not (eq t (plist-get (plist-get change :options) :ignoreIfExists))))
         (redline--refuse "%s exists already" (redline--short path))))
      ("rename"
       (when (or (file-exists-p new) (redline--visiting new))
         (redline--refuse "%s exists already" (redline--short new))))
      ("delete")
      (kind (redline--refuse "Emacs does not know how to %s a file" kind)))))

;;;; Text

(defun redline--common (old new)
  "Return how many characters OLD and NEW begin with in common, and end with."
  (let* ((n (min (length old) (length new)))
         (first (let ((c (compare-strings old nil nil new nil nil)))
                  (if (eq c t) n (1- (abs c)))))
         (last 0))
    (while (and (< last (- n first))
                (eq (aref old (- (length old) last 1)) (aref new (- (length new) last 1))))
      (setq last (1+ last)))
    (cons first last)))

(defun redline--replace (beg end new)
  "Put NEW in the place of the text from BEG to END, touching what differs only."
  (let* ((same (redline--common (buffer-substring-no-properties beg end) new))
         (beg (+ beg (car same)))
         (end (- end (cdr same))))
    (goto-char beg)
    (insert (substring new (car same) (- (length new) (cdr same))))
    (delete-region (point) (+ (point) (- end beg)))))

(defun redline--apply-text-edits (edits encoding)
  "Apply EDITS, a vector of LSP's, to the current buffer, in units of ENCODING.
They refer to the text as it is before the first."
  (save-excursion
    (save-restriction
      (widen)
      (let* ((eol (redline--eol))
             (places (seq-map-indexed
                      (lambda (edit i)
                        (let ((range (plist-get edit :range)))
                          (list (redline--point (plist-get range :start) encoding)
                                (redline--point (plist-get range :end) encoding)
                                i
                                (redline--buffer-text (plist-get edit :newText) eol))))
                      edits)))
        ;; From the end, so that what is before stays in place; of several at one
        ;; place the last first.
        (setq places (sort places (lambda (a b)
                                    (or (> (car a) (car b))
                                        (and (= (car a) (car b)) (> (nth 2 a) (nth 2 b)))))))
        (pcase-dolist (`(,beg ,end ,_ ,text) places)
          (redline--replace beg end text))))))

(defun redline--fill (edits)
  "Make EDITS the text of the current buffer, which is new and empty."
  (let ((text (mapconcat (lambda (e) (plist-get e :newText)) edits)))
    (setq buffer-file-coding-system 'utf-8-unix)
    (when (and (string-search "\r\n" text)
               (not (string-match-p "\\(?:\\`\\|[^\r]\\)\n\\|\r\\(?:[^\n]\\|\\'\\)" text)))
      (setq buffer-file-coding-system 'utf-8-dos))
    (insert (redline--buffer-text text (redline--eol)))))

(defun redline--make-folder ()
  "Make the folder of the current buffer's file, which is about to be written."
  (make-directory (file-name-directory buffer-file-name) t))

(defun redline--edit-text (server change)
  "Apply CHANGE, the edits of one document of SERVER."
  (let* ((document (plist-get change :textDocument))
         (path (redline--uri-to-path (plist-get document :uri)))
         (edits (plist-get change :edits)))
    (with-current-buffer (redline--visit path)
      (when (and (not redline--document) (redline--unsendable-p))
        (redline--refuse "%s holds bytes that are no text" (redline--short path)))
      (when buffer-read-only
        (redline--refuse "%s is read-only in Emacs" (redline--short path)))
      (let ((clean (not (buffer-modified-p)))
            (open-end (save-restriction
                        (widen)
                        (and (> (buffer-size) 0) (/= (char-before (point-max)) ?\n))))
            (new (and (not redline--document) (zerop (buffer-size))
                      (not (file-exists-p path)))))
        (if new
            (redline--fill edits)
          (redline--open-document server)
          (redline--apply-text-edits edits (redline--encoding server)))
        (when new
          (add-hook 'before-save-hook #'redline--make-folder nil t))
        (redline--open-document server)
        ;; A last line without an end keeps it that way, unless the edit gave it one.
        (when (or new open-end)
          (setq-local require-final-newline nil))
        (and clean redline-save-applied (current-buffer))))))

;;;; Files

(defun redline--operate (server change)
  "Do what CHANGE has to say with a file of SERVER's."
  (let ((path (redline--uri-to-path (or (plist-get change :oldUri) (plist-get change :uri)))))
    (pcase (plist-get change :kind)
      ;; A new file is a buffer until it is saved, as changed ones are.
      ("create" (redline--visit path))
      ("rename"
       (redline--rename path (redline--uri-to-path (plist-get change :newUri))))
      ("delete" (redline--delete server path)))
    nil))

(defun redline--rename (path new)
  "Rename the file PATH to NEW, and its buffer."
  (make-directory (file-name-directory new) t)
  (when (file-exists-p path) (rename-file path new))
  (when-let* ((buffer (redline--visiting path)))
    (with-current-buffer buffer
      (let ((modified (buffer-modified-p)) (inhibit-message t))
        (set-visited-file-name new t t)
        (set-visited-file-modtime)
        (set-buffer-modified-p modified))))
  nil)

(defun redline--delete (_server path)
  "Delete the file PATH and its buffer."
  (when (file-exists-p path) (delete-file path delete-by-moving-to-trash))
  (when-let* ((buffer (redline--visiting path)))
    (with-current-buffer buffer
      (set-buffer-modified-p nil)
      (let ((kill-buffer-query-functions nil)) (kill-buffer buffer))))
  nil)

;;;; The whole

(defun redline--changes (edit)
  "Return the parts of EDIT, a WorkspaceEdit of either form, as a list."
  (or (append (plist-get edit :documentChanges) nil)
      (cl-loop for (uri edits) on (plist-get edit :changes) by #'cddr
               collect (list :textDocument (list :uri (substring (symbol-name uri) 1))
                             :edits edits))))

(defun redline--apply (server edit)
  "Apply EDIT for SERVER and return ApplyWorkspaceEditResult."
  (let ((changes (redline--changes edit)) (i 0) groups save)
    (condition-case err
        (progn
          (redline--flush server)
          (dolist (change changes)
            (if (plist-get change :kind)
                (redline--check-operation change)
              (redline--check-document server (plist-get change :textDocument)))
            (setq i (1+ i)))
          (setq i 0)
          (let (done)
            (unwind-protect
                (progn
                  (dolist (change changes)
                    (if (plist-get change :kind)
                        (redline--operate server change)
                      (let ((buffer (redline--visit
                                     (redline--uri-to-path
                                      (plist-get (plist-get change :textDocument) :uri)))))
                        (unless (assq buffer groups)
                          (with-current-buffer buffer
                            (undo-boundary)
                            (let ((group (prepare-change-group)))
                              (activate-change-group group)
                              (push (cons buffer group) groups))))
                        (when-let* ((clean (redline--edit-text server change)))
                          (push clean save))))
                    (setq i (1+ i)))
                  (setq done t))
              (pcase-dolist (`(,buffer . ,group) groups)
                (with-current-buffer buffer
                  (if (not done)
                      (cancel-change-group group)
                    (undo-amalgamate-change-group group)
                    (accept-change-group group)
                    (undo-boundary))))))
          (dolist (buffer save)
            (with-current-buffer buffer
              (let ((inhibit-message t)) (save-buffer))))
          (redline--flush server)
          '(:applied t))
      ((error quit)
       (let ((why (if (eq (car err) 'redline-refused) (cadr err) (error-message-string err))))
         (list :applied :json-false :failureReason why :failedChange i))))))

(cl-defmethod redline--handle-request (server (_ (eql workspace/applyEdit)) params)
  "Apply the edit of PARAMS for SERVER."
  (redline--apply server (plist-get params :edit)))

(provide 'redline-apply)
;;; redline-apply.el ends here
