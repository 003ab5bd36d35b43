;;; redline-language.el --- The language servers beside us  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The language server of a buffer is run by eglot or by lsp-mode.  Either is asked without
;; waiting; what comes back is in plists, as our own server wants it.  Neither is required or
;; loaded here.

;;; Code:

(require 'redline-client)

(declare-function eglot-current-server "eglot")
(declare-function eglot--signal-textDocument/didChange "eglot")
(declare-function eglot--capabilities "eglot")
(defvar eglot-current-linepos-function)

(declare-function lsp-request-async "lsp-mode")
(declare-function lsp--find-workspaces-for "lsp-mode")
(declare-function lsp--flush-delayed-changes "lsp-mode")
(declare-function lsp-diagnostics "lsp-mode")
(declare-function lsp--fix-path-casing "lsp-mode")

(defun redline--eglot (feature)
  "Return eglot's server for the current buffer, if it has FEATURE."
  (and (featurep 'eglot)
       (when-let* ((server (eglot-current-server)))
         (and (jsonrpc-running-p server)
              (not (memq (plist-get (eglot--capabilities server) feature) '(nil :json-false)))
              server))))

(defun redline--language-server (method feature)
  "Return what answers METHOD, which takes FEATURE, in the current buffer.
That is a server of eglot, the symbol `lsp-mode', or nil."
  (or (redline--eglot feature)
      (and (bound-and-true-p lsp-mode)
           (lsp--find-workspaces-for method)
           'lsp-mode)))

(defun redline--language-encoding (who)
  "Return the unit of positions of WHO, a `redline--language-server'."
  (if (eq who 'lsp-mode) "utf-16"
    (pcase eglot-current-linepos-function
      ('eglot-utf-8-linepos "utf-8")
      ('eglot-utf-32-linepos "utf-32")
      (_ "utf-16"))))

(defun redline--language-here (who &optional more)
  "Return point as WHO counts, and MORE, as parameters."
  (append (list :textDocument (list :uri (redline--path-to-uri buffer-file-name))
                :position (redline--position (point) (redline--language-encoding who)))
          more))

(defun redline--plain (value)
  "Return VALUE of lsp-mode, hash tables or plists, as plists without nulls."
  (cond
   ((hash-table-p value)
    (let (plist)
      (maphash (lambda (k v)
                 (when v (setq plist (cons (intern (concat ":" k))
                                           (cons (redline--plain v) plist)))))
               value)
      plist))
   ((vectorp value) (vconcat (mapcar #'redline--plain value)))
   ;; Results of several servers come as a list of them.
   ((and (consp value) (not (keywordp (car value)))) (vconcat (mapcar #'redline--plain value)))
   ((consp value) (cl-loop for (k v) on value by #'cddr
                           when v nconc (list k (redline--plain v))))
   (t value)))

(defun redline--tell-language (who)
  "Have WHO, a `redline--language-server', or lsp-mode, told of what was typed."
  (cond ((and who (not (eq who 'lsp-mode))) (eglot--signal-textDocument/didChange))
        ((bound-and-true-p lsp-mode) (lsp--flush-delayed-changes))))

(defun redline--ask-language (who method params convert)
  "Ask WHO, a `redline--language-server', METHOD with PARAMS; return a promise.
Its value is the answer, after CONVERT."
  (let* ((promise (make-redline-promise))
         (fail (lambda (text)
                 (redline--settle promise :error (list :code -32603 :message text))))
         (take (lambda (result)
                 (condition-case err
                     (redline--settle promise :result (funcall convert result))
                   (error (funcall fail (error-message-string err))))))
         (silent (lambda () (funcall fail "the language server does not answer"))))
    (if (eq who 'lsp-mode)
        (let ((timer (run-with-timer 12 nil silent)))
          (lsp-request-async
           method params
           (lambda (result) (cancel-timer timer) (funcall take (redline--plain result)))
           :mode 'detached
           :error-handler
           (lambda (err)
             (cancel-timer timer)
             (funcall fail (or (plist-get (redline--plain err) :message)
                               "the language server refused"))))
          promise)
      (redline--tell-language who)
      (jsonrpc-async-request
       who (intern (concat ":" method)) params :timeout 12
       :success-fn take
       :error-fn (lambda (err) (funcall fail (plist-get err :message)))
       :timeout-fn silent)
      promise)))

(defun redline--lsp-mode-diagnostics ()
  "Return what lsp-mode knows to be wrong in the current buffer, as Diagnostics."
  (and (bound-and-true-p lsp-mode) buffer-file-name
       (mapcar #'redline--plain
               (gethash (lsp--fix-path-casing buffer-file-name) (lsp-diagnostics t)))))

(provide 'redline-language)
;;; redline-language.el ends here
