;;; redline-amend.el --- Hunks in your own words  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `redline-amend' opens the text of one hunk to be changed before it is taken.
;; `redline-ediff' compares the file with what is proposed for it: what you make of the
;; proposed text is what is decided, hunk by hunk, when you leave Ediff.

;;; Code:

(require 'ediff)
(require 'redline-inline)

(defvar-local redline--amended nil
  "The hunk whose text the current buffer holds.")

(defvar-keymap redline-amend-mode-map
  :doc "Keymap of `redline-amend-mode'."
  "C-c C-c" #'redline-amend-finish
  "C-c C-k" #'redline-amend-cancel)

(define-minor-mode redline-amend-mode
  "Minor mode of a buffer that holds the text of a hunk.

\\{redline-amend-mode-map}"
  :lighter " Amend"
  (setq header-line-format
        (and redline-amend-mode
             (substitute-command-keys
              " \\<redline-amend-mode-map>\\[redline-amend-finish] takes this text in place of what was proposed, \\[redline-amend-cancel] goes back"))))

(defun redline-amend ()
  "Change the text of the hunk at point before it is taken."
  (interactive)
  (let* ((hunk (redline--hunk-at-point))
         (data (redline--hunk-data hunk))
         (path (redline--file-path (redline--hunk-file hunk)))
         (server (redline--running))
         (buffer (generate-new-buffer (format "*redline amend: %s*"
                                              (file-name-nondirectory path)))))
    (when (and (eq t (plist-get data :whole))
               (not (equal "create" (plist-get (redline--hunk-file hunk) :op))))
      (user-error "Redline: this can be accepted or rejected, not changed"))
    (with-current-buffer buffer
      (insert (string-replace "\r\n" "\n" (plist-get data :newText)))
      (goto-char (point-min))
      (let ((buffer-file-name path)) (ignore-errors (delay-mode-hooks (set-auto-mode))))
      (set-buffer-modified-p nil)
      (setq redline--amended hunk redline--server server
            default-directory (redline--root server))
      (redline-amend-mode 1))
    (pop-to-buffer buffer '((display-buffer-below-selected) (window-height . 12)))))

(defun redline--with-eol (text hunk)
  "Return TEXT with the line ends of the file that HUNK is of."
  (let ((eol (plist-get (plist-get (redline--hunk-file hunk) :base) :eol)))
    (if (equal eol "crlf") (string-replace "\n" "\r\n" text) text)))

(defun redline-amend-finish ()
  "Take the text of this buffer in place of what was proposed."
  (interactive)
  (let* ((hunk redline--amended)
         (text (buffer-substring-no-properties (point-min) (point-max)))
         (proposed (plist-get (redline--hunk-data hunk) :newText)))
    ;; A hunk is whole lines; a line without an end would run into the next.
    (when (and (string-suffix-p "\n" proposed) (not (equal text ""))
               (not (string-suffix-p "\n" text)))
      (setq text (concat text "\n")))
    (setq text (redline--with-eol text hunk))
    (redline--resolve (redline--running) (redline--hunk-proposal hunk)
                      (list (redline--decision (redline--hunk-target hunk)
                                               "amend" nil text)))
    (redline-amend-cancel)))

(defun redline-amend-cancel ()
  "Leave the hunk as it was proposed."
  (interactive)
  (set-buffer-modified-p nil)
  (quit-window t))

;;;; Ediff

(defvar-local redline--ediff-hunks nil
  "In the buffer with the proposed text: hunks with markers of their text.")

(defun redline--proposed-buffer (path hunks text encoding)
  "Return a buffer with TEXT of PATH in which HUNKS are applied.
Their ranges are in units of ENCODING."
  (let ((buffer (generate-new-buffer (format "*redline proposed: %s*"
                                             (file-name-nondirectory path)))))
    (with-current-buffer buffer
      (insert text)
      (let ((buffer-file-name path)) (ignore-errors (delay-mode-hooks (set-auto-mode))))
      (let ((places (mapcar (lambda (h)
                              (let ((range (plist-get (redline--hunk-data h) :range)))
                                (list h
                                      (copy-marker (redline--point (plist-get range :start)
                                                                   encoding))
                                      (copy-marker (redline--point (plist-get range :end)
                                                                   encoding)
                                                   t))))
                            hunks)))
        ;; From the end, so that no text goes into the hunk before.
        (pcase-dolist (`(,h ,beg ,end) (reverse places))
          (let ((next (marker-position end)))
            (goto-char beg)
            (delete-region beg next)
            (insert (string-replace "\r\n" "\n" (plist-get (redline--hunk-data h) :newText)))
            (set-marker end (point))))
        (setq redline--ediff-hunks places)))
    buffer))

(defun redline-ediff ()
  "Compare the file at point with what is proposed for it, in Ediff.
Change the proposed text as you like, for example with \\`a', which puts your
text there.  When you quit, each hunk is accepted, rejected or amended as
the text says."
  (interactive)
  (pcase-let* ((`(,proposal . ,file) (redline--file-at-point))
               (server (redline--running))
               (path (redline--file-path file))
               (current (redline--visit path))
               (hunks (cl-remove-if-not
                       (lambda (h) (and (equal (plist-get (redline--hunk-file h) :fileId)
                                               (plist-get file :fileId))
                                        (equal (plist-get (redline--hunk-data h) :state)
                                               "pending")))
                       (redline--proposal-hunks proposal)))
               (proposed (redline--proposed-buffer
                          path hunks
                          (with-current-buffer current
                            (save-restriction
                              (widen)
                              (buffer-substring-no-properties (point-min) (point-max))))
                          (redline--encoding server)))
               (windows (current-window-configuration)))
    (with-current-buffer proposed (setq redline--server server))
    (ediff-buffers
     current proposed
     (list (lambda ()
             (add-hook 'ediff-quit-hook
                       (lambda () (redline--ediff-done server proposal proposed windows))
                       t t))))))

(defun redline--ediff-decision (place)
  "Return the decision that the text of PLACE, a hunk with markers, amounts to."
  (pcase-let* ((`(,h ,beg ,end) place)
               (text (buffer-substring-no-properties beg end))
               (data (redline--hunk-data h))
               (plain (lambda (key) (string-replace "\r\n" "\n" (plist-get data key)))))
    (cond
     ((equal text (funcall plain :newText))
      (redline--decision (redline--hunk-target h) "accept"))
     ((equal text (funcall plain :oldText))
      (redline--decision (redline--hunk-target h) "reject"))
     (t (redline--decision (redline--hunk-target h) "amend" nil
                           (redline--with-eol text h))))))

(defun redline--ediff-done (server proposal proposed windows)
  "Decide on PROPOSAL of SERVER as the buffer PROPOSED has to say; restore WINDOWS."
  (let* ((decisions (with-current-buffer proposed
                      (mapcar #'redline--ediff-decision redline--ediff-hunks)))
         (count (lambda (what) (cl-count what decisions :key (lambda (d) (plist-get d :decision))
                                         :test #'equal)))
         (words (format "%d accepted, %d rejected, %d changed" (funcall count "accept")
                        (funcall count "reject") (funcall count "amend"))))
    (set-window-configuration windows)
    (when (and decisions (y-or-n-p (format "Redline: decide like this: %s? " words)))
      (redline--resolve server proposal decisions))
    (kill-buffer proposed)))

(provide 'redline-amend)
;;; redline-amend.el ends here
