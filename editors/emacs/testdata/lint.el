;;; lint.el --- Compiles the package and checks its texts  -*- lexical-binding: t; -*-

;; Usage: emacs -Q --batch -l lint.el PLUGIN OUT LINT
;; Compiles the files of PLUGIN into OUT and prints every warning of the compiler, of
;; checkdoc and of package-lint, which is in LINT; nothing when there is none.

(require 'bytecomp)
(require 'checkdoc)

(let* ((plugin (pop command-line-args-left)) (out (pop command-line-args-left))
       (lint (pop command-line-args-left))
       (files (directory-files plugin t "\\.el\\'"))
       (byte-compile-dest-file-function
        (lambda (f) (expand-file-name (concat (file-name-nondirectory f) "c") out)))
       (byte-compile-warnings t)
       (inhibit-message t))
  (add-to-list 'load-path plugin)
  (dolist (f files) (byte-compile-file f))
  (with-current-buffer (get-buffer-create byte-compile-log-buffer)
    (goto-char (point-min))
    (while (re-search-forward "^.*\\(?:Warning\\|Error\\).*\n\\(?: .*\n\\)*" nil t)
      (princ (match-string 0))))
  (let ((checkdoc-create-error-function
         (lambda (text start _end &optional _unfixable)
           (princ (format "%s:%d: checkdoc: %s\n" (file-name-nondirectory buffer-file-name)
                          (line-number-at-pos start t) text))
           nil))
        ;; Words such as LSP's that stand in capitals are none of its business.
        (checkdoc-arguments-in-order-flag nil)
        (checkdoc-force-docstrings-flag t))
    (dolist (f files)
      (with-current-buffer (find-file-noselect f)
        (checkdoc-current-buffer t))))
  (add-to-list 'load-path lint)
  (require 'package-lint)
  (setq package-lint-main-file (expand-file-name "redline.el" plugin))
  (dolist (f files)
    (with-current-buffer (find-file-noselect f)
      (setq-local package-lint-main-file (expand-file-name "redline.el" plugin))
      (pcase-dolist (`(,line ,_column ,kind ,text) (package-lint-buffer))
        (princ (format "%s:%d: %s: %s\n" (file-name-nondirectory f) line kind text))))))
