;;; redline-editor.el --- What the agent may ask of Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Diagnostics come from Flymake, or from lsp-mode; definitions, references and symbols from the
;; language server, else from xref and imenu; descriptions from the language server, else from
;; Eldoc; renaming from the language server.

;;; Code:

(require 'redline-context)
(require 'redline-language)
(require 'xref)
(require 'imenu)
(require 'eldoc)

(defun redline--buffer-of (params)
  "Return the buffer of the file that PARAMS name."
  (let ((path (redline--uri-to-path (plist-get params :uri))))
    (unless (and path (or (redline--visiting path) (file-exists-p path)))
      (jsonrpc-error "There is no file %s" (plist-get params :uri)))
    (redline--visit path)))

(defmacro redline--at (server params &rest body)
  "Run BODY in the file and at the position that SERVER names in PARAMS."
  (declare (indent 2) (debug t))
  `(with-current-buffer (redline--buffer-of ,params)
     (save-excursion
       (save-restriction
         (widen)
         (goto-char (redline--point (plist-get ,params :position)
                                    (redline--encoding ,server)))
         ,@body))))

;;;; Places

(defun redline--many (result)
  "Return RESULT, one, several or nothing, as a vector."
  (cond ((vectorp result) result) (result (vector result)) (t [])))

(defun redline--xref-location (item)
  "Return ITEM of xref as a Location, or nil if it is in no file."
  (when-let* ((location (xref-item-location item))
              (marker (ignore-errors (let ((inhibit-message t)) (xref-location-marker location))))
              (buffer (marker-buffer marker))
              (path (buffer-local-value 'buffer-file-name buffer)))
    (with-current-buffer buffer
      (let ((at (redline--position marker "utf-16")))
        (list :uri (redline--path-to-uri path) :range (list :start at :end at))))))

(defun redline--xref (function)
  "Return what FUNCTION of the xref backend yields at point, as a vector."
  (let* ((backend (or (xref-find-backend)
                      (jsonrpc-error "Nothing in Emacs knows the symbols of %s" (buffer-name))))
         (name (or (xref-backend-identifier-at-point backend)
                   (jsonrpc-error "There is no symbol at this place")))
         (non-essential t))
    (if (and (eq backend 'etags) (not (or (bound-and-true-p tags-file-name)
                                          (bound-and-true-p tags-table-list))))
        (jsonrpc-error "Emacs has no language server and no tags table for %s" (buffer-name))
      (vconcat (delq nil (mapcar #'redline--xref-location
                                 (with-timeout (10 nil)
                                   (funcall function backend name))))))))

(cl-defmethod redline--handle-request (server (_ (eql editor/definition)) params)
  "Tell SERVER where the symbol in PARAMS is defined."
  (redline--at server params
    (if-let* ((who (redline--language-server "textDocument/definition" :definitionProvider)))
        (redline--ask-language who "textDocument/definition" (redline--language-here who)
                               #'redline--many)
      (redline--xref #'xref-backend-definitions))))

(cl-defmethod redline--handle-request (server (_ (eql editor/references)) params)
  "Tell SERVER where the symbol in PARAMS is used."
  (redline--at server params
    (if-let* ((who (redline--language-server "textDocument/references" :referencesProvider)))
        (redline--ask-language who "textDocument/references"
                               (redline--language-here
                                who '(:context (:includeDeclaration t)))
                               #'redline--many)
      (redline--xref #'xref-backend-references))))

;;;; Symbols

(defun redline--imenu-symbols (index container)
  "Return the entries of INDEX, imenu's, in CONTAINER, as a list of symbols."
  (let ((uri (redline--path-to-uri buffer-file-name)))
    (cl-loop for (name . at) in index
             append
             (cond
              ((and (listp at) (not (functionp (car-safe at))))
               (redline--imenu-symbols at name))
              ((and (consp at) (integer-or-marker-p (car at)))
               (redline--imenu-symbols (list (cons name (car at))) container))
              ((and (or (integerp at) (markerp at)) (> at 0))
               (let ((place (redline--position at "utf-16")))
                 (list (append (list :name (substring-no-properties name) :kind 12
                                     :location (list :uri uri
                                                     :range (list :start place :end place)))
                               (and container
                                    (list :containerName
                                          (substring-no-properties container)))))))))))

(cl-defmethod redline--handle-request (server (_ (eql editor/symbols)) params)
  "Tell SERVER the symbols of the file in PARAMS, or those that match its query."
  (if (plist-get params :uri)
      (with-current-buffer (redline--buffer-of params)
        (if-let* ((who (redline--language-server "textDocument/documentSymbol"
                                                 :documentSymbolProvider)))
            (redline--ask-language who "textDocument/documentSymbol"
                                   (list :textDocument
                                         (list :uri (redline--path-to-uri buffer-file-name)))
                                   #'redline--many)
          (let ((imenu-auto-rescan t) (imenu-use-markers nil))
            (vconcat (redline--imenu-symbols
                      (ignore-errors (save-excursion (funcall imenu-create-index-function)))
                      nil)))))
    (redline--query-symbols server (or (plist-get params :query) ""))))

(defun redline--query-symbols (server query)
  "Return the symbols of SERVER's project that match QUERY."
  (let* ((buffers (redline--documents server))
         (knows (lambda (b)
                  (with-current-buffer b
                    (redline--language-server "workspace/symbol" :workspaceSymbolProvider))))
         (buffer (cl-find-if knows buffers)))
    (if buffer
        (with-current-buffer buffer
          (redline--ask-language (funcall knows buffer) "workspace/symbol" (list :query query)
                                 #'redline--many))
      (let ((words (split-string query)))
        (with-current-buffer (or (car buffers)
                                 (jsonrpc-error "No file of the project is open in Emacs"))
          (let ((backend (xref-find-backend)))
            (when (or (null backend)
                      (and (eq backend 'etags) (not (bound-and-true-p tags-file-name))))
              (jsonrpc-error "Emacs has no language server for this; search for the text"))
            (vconcat
             (delq nil
                   (mapcar (lambda (item)
                             (when-let* ((location (redline--xref-location item)))
                               (list :name (substring-no-properties (xref-item-summary item))
                                     :kind 12 :location location)))
                           (seq-take (xref-backend-apropos
                                      backend (if (cdr words) query (or (car words) "")))
                                     200))))))))))

;;;; Hover and renaming

(cl-defmethod redline--handle-request (server (_ (eql editor/hover)) params)
  "Tell SERVER what is known of the symbol in PARAMS."
  (redline--at server params
    (if-let* ((who (redline--language-server "textDocument/hover" :hoverProvider)))
        (redline--ask-language who "textDocument/hover" (redline--language-here who)
                               (lambda (result) (or result '(:contents ""))))
      (let (found)
        (run-hook-wrapped
         'eldoc-documentation-functions
         (lambda (f)
           (let ((text (ignore-errors
                         (funcall f (lambda (doc &rest _) (when doc (push doc found)))))))
             (when (stringp text) (push text found)))
           nil))
        (list :contents (list :kind "plaintext"
                              :value (substring-no-properties
                                      (mapconcat (lambda (d) (format "%s" d))
                                                 (nreverse found) "\n"))))))))

(defun redline--convert-position (position from to)
  "Return POSITION in the current buffer, in units of FROM, in those of TO."
  (redline--position (redline--point position from) to))

(defun redline--convert-ranges (things from to)
  "Return THINGS, a vector of what has a range in the current buffer.
The ranges are in units of FROM, and then in those of TO."
  (vconcat
   (mapcar (lambda (e)
             (let ((range (plist-get e :range)))
               (plist-put (copy-sequence e) :range
                          (list :start (redline--convert-position
                                        (plist-get range :start) from to)
                                :end (redline--convert-position
                                      (plist-get range :end) from to)))))
           things)))

(defun redline--convert-edits (uri edits from to)
  "Return EDITS of the file URI, in units of FROM, in those of TO."
  (if (equal from to)
      edits
    (with-current-buffer (redline--visit (redline--uri-to-path uri))
      (redline--convert-ranges edits from to))))

(cl-defmethod redline--handle-request (server (_ (eql editor/rename)) params)
  "Tell SERVER the edits that rename the symbol in PARAMS."
  (redline--at server params
    (let* ((who (or (redline--language-server "textDocument/rename" :renameProvider)
                    (jsonrpc-error "No language server in Emacs can rename in %s"
                                   (buffer-name))))
           (from (redline--language-encoding who)) (to (redline--encoding server)))
      (redline--ask-language
       who "textDocument/rename"
       (redline--language-here who (list :newName (plist-get params :newName)))
       (lambda (edit)
         (list :documentChanges
               (vconcat
                (mapcar (lambda (change)
                          (if (plist-get change :kind)
                              change
                            (let ((uri (plist-get (plist-get change :textDocument) :uri)))
                              ;; The versions are not ours.
                              (list :textDocument (list :uri uri)
                                    :edits (redline--convert-edits
                                            uri (plist-get change :edits) from to)))))
                        (redline--changes edit)))))))))

;;;; Diagnostics

(defun redline--wire-diagnostic (d encoding)
  "Return D of Flymake as a Diagnostic, in units of ENCODING."
  (list :range (redline--range (flymake-diagnostic-beg d) (flymake-diagnostic-end d) encoding)
        :severity (redline--severity (flymake-diagnostic-type d))
        :message (substring-no-properties (flymake-diagnostic-text d))
        :source (let ((backend (flymake-diagnostic-backend d)))
                  (if (symbolp backend) (symbol-name (or backend 'flymake)) "flymake"))))

(defun redline--wire-diagnostics (buffers encoding)
  "Return what Flymake has to say of BUFFERS, in units of ENCODING, as the answer."
  (list :items
        (vconcat
         (mapcar (lambda (buffer)
                   (with-current-buffer buffer
                     (list :uri (redline--path-to-uri buffer-file-name)
                           :version (and redline--document
                                         (redline--doc-version redline--document))
                           :diagnostics
                           (if (bound-and-true-p flymake-mode)
                               (vconcat
                                (mapcar (lambda (d) (redline--wire-diagnostic d encoding))
                                        (flymake-diagnostics)))
                             (redline--convert-ranges (redline--lsp-mode-diagnostics)
                                                      "utf-16" encoding)))))
                 buffers))))

(defun redline--checking-p (buffer)
  "Return non-nil if Flymake waits for what its backends find in BUFFER."
  (with-current-buffer buffer
    (seq-difference (flymake-running-backends) (flymake-reporting-backends))))

(defun redline--reported ()
  "Return what is known to be wrong in the current buffer."
  (if (bound-and-true-p flymake-mode) (flymake-diagnostics) (redline--lsp-mode-diagnostics)))

(cl-defmethod redline--handle-request (server (_ (eql editor/diagnostics)) params)
  "Tell SERVER what Flymake has to say of the file in PARAMS, or of all."
  (let* ((path (and (plist-get params :uri) (redline--uri-to-path (plist-get params :uri))))
         (buffer (and path (redline--visiting path)))
         (buffers (if path (and buffer (list buffer)) (redline--documents server)))
         (wait (min 10.0 (/ (or (plist-get params :waitMs) 0) 1000.0)))
         (encoding (redline--encoding server))
         (checked (cl-remove-if-not
                   (lambda (b)
                     (with-current-buffer b (or flymake-mode (bound-and-true-p lsp-mode))))
                   buffers)))
    (if (or (null checked) (zerop wait))
        (redline--wire-diagnostics buffers encoding)
      ;; Let Flymake look at the text as it is now, and answer when it has.
      (let ((promise (make-redline-promise)) (since (float-time)) look reported)
        (dolist (b checked)
          (with-current-buffer b
            (let ((eglot (redline--eglot :textDocumentSync)))
              (if (not (or eglot (bound-and-true-p lsp-mode)))
                  (ignore-errors (flymake-start))
                ;; It reports when it likes: any change of what is reported is the answer.
                (redline--tell-language eglot)
                (push (cons b (redline--reported)) reported)))))
        (setq look
              (lambda ()
                (let ((live (cl-remove-if-not #'buffer-live-p buffers)))
                  (if (and (< (- (float-time) since) wait)
                           (or (< (- (float-time) since) (min wait 0.3))
                               (cl-some (lambda (b)
                                          (if-let* ((before (assq b reported)))
                                              (with-current-buffer b
                                                (equal (cdr before) (redline--reported)))
                                            (redline--checking-p b)))
                                        (cl-intersection checked live))))
                      (run-with-timer 0.1 nil look)
                    (redline--settle promise :result
                                     (redline--wire-diagnostics live encoding))))))
        (funcall look)
        promise))))

;;;; Buffers

(cl-defmethod redline--handle-request (server (_ (eql editor/openBuffers)) _params)
  "Tell SERVER which of its files are open."
  (list :buffers
        (vconcat (mapcar (lambda (b)
                           (with-current-buffer b
                             (list :uri (redline--doc-uri redline--document)
                                   :version (redline--doc-version redline--document)
                                   :modified (if (buffer-modified-p) t :json-false))))
                         (redline--documents server)))))

(declare-function redline--open-link "redline-account")

(defun redline--save (path)
  "Save the buffer of PATH without a question; return non-nil if it is on disk now."
  (when-let* ((buffer (redline--visiting path)))
    (with-current-buffer buffer
      (ignore-errors
        (when (and (buffer-modified-p)
                   (verify-visited-file-modtime)
                   (not (stringp (file-locked-p path)))
                   (not (unencodable-char-position (point-min) (point-max)
                                                   (or buffer-file-coding-system 'utf-8)))
                   (or (file-writable-p path) (not (file-exists-p path))))
          (let ((inhibit-message t))
            (save-restriction (widen) (save-buffer)))))
      (not (buffer-modified-p)))))

(cl-defmethod redline--handle-request (_server (_ (eql editor/save)) params)
  "Save the files in PARAMS."
  (let (saved failed)
    (seq-doseq (uri (plist-get params :uris))
      (if (redline--save (redline--uri-to-path uri))
          (push uri saved)
        (push uri failed)))
    (list :saved (vconcat (nreverse saved)) :failed (vconcat (nreverse failed)))))

(cl-defmethod redline--handle-request (_server (_ (eql window/showDocument)) params)
  "Show the document in PARAMS."
  (let ((uri (plist-get params :uri)))
    (if (eq t (plist-get params :external))
        ;; Later on: a browser may take its time to start, and the server waits.
        (run-with-timer 0 nil #'redline--open-link uri)
      (let ((buffer (redline--visit (redline--uri-to-path uri))))
        (if (eq t (plist-get params :takeFocus))
            (pop-to-buffer buffer)
          (display-buffer buffer))))
    '(:success t)))

(cl-defmethod redline--handle-request (_server (_ (eql window/workDoneProgress/create)) _params)
  "Take note that there will be progress."
  nil)

(cl-defmethod redline--handle-notification (server (_ (eql $/progress)) params)
  "Note what SERVER has to say in PARAMS of long work."
  (let* ((token (plist-get params :token)) (value (plist-get params :value))
         (text (string-join (delq nil (list (plist-get value :title) (plist-get value :message)))
                            ": ")))
    (pcase (plist-get value :kind)
      ("end" (setf (alist-get token (redline--progress server) nil t #'equal) nil))
      (_ (setf (alist-get token (redline--progress server) nil nil #'equal) text)))
    (redline--status-changed)))

(provide 'redline-editor)
;;; redline-editor.el ends here
