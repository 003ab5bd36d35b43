;;; floor.el --- Emacs 28 in the place of 29  -*- lexical-binding: t; -*-

;; Debian has no Emacs 29 any more.  What is built into Emacs 28, jsonrpc and transient for example, is
;; older than what is built into 29; what 29 has beyond that and the package uses comes from the compat
;; library or from here.  In newer Emacsen this does nothing.

(when (< emacs-major-version 29)
  (add-to-list 'load-path (expand-file-name "../../compat" invocation-directory))
  (require 'compat)
  (provide 'treesit)
  (defun treesit-available-p () nil)
  (defun yank-media-handler (&rest _))
  ;; The last argument may be left out since Emacs 29.
  (advice-add 'mapconcat :around
              (lambda (mapconcat function sequence &optional separator)
                (funcall mapconcat function sequence (or separator "")))))
