;;; redline-diff.el --- Review in a diff buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Everything under review as one diff, in `diff-mode' with keys to decide.  The buffer
;; follows the proposals: what is decided goes, what moves is shown where it is now.

;;; Code:

(require 'diff-mode)
(require 'redline-inline)

(declare-function redline-amend "redline-amend")
(declare-function redline-ediff "redline-amend")
(declare-function redline-review-menu "redline-menu")

(defvar-keymap redline-diff-mode-map
  :doc "Keymap of `redline-diff-mode'."
  "a" #'redline-accept-hunk
  "r" #'redline-reject-hunk
  "R" #'redline-reject-hunk-because
  "e" #'redline-amend
  "E" #'redline-ediff
  "A" #'redline-accept-file
  "K" #'redline-reject-file
  "!" #'redline-accept-all
  "0" #'redline-reject-all
  "n" #'redline-diff-next
  "p" #'redline-diff-previous
  "RET" #'redline-diff-visit
  "u" #'redline-revert
  "g" #'redline-review
  "?" #'redline-review-menu
  "q" #'quit-window)

(define-derived-mode redline-diff-mode diff-mode "Redline-Diff"
  "Major mode of what is under review, as a diff.

\\{redline-diff-mode-map}"
  (setq buffer-read-only t)
  (setq-local redline--hunk-at-point-function #'redline--diff-hunk-at-point
              diff-font-lock-syntax nil
              header-line-format '((:eval (redline--diff-header))))
  ;; The keys that diff-mode has in read-only buffers would hide ours.
  (setq-local minor-mode-overriding-map-alist
              (cons (cons 'buffer-read-only redline-diff-mode-map)
                    minor-mode-overriding-map-alist)))

(defun redline--diff-header ()
  "Return what stands above the diff."
  (let ((hunks (redline--hunks (redline--running))))
    (if hunks
        (substitute-command-keys
         (format " %s  \\<redline-diff-mode-map>\\[redline-accept-hunk] accept  \\[redline-reject-hunk] reject  \\[redline-amend] edit  \\[redline-accept-file]/\\[redline-reject-file] file  \\[redline-review-menu] more"
                 (redline--counted (length hunks) "hunk")))
      " Nothing to review")))

;;;; The text

(defun redline--diff-name (server)
  "Return the name of the diff buffer of SERVER."
  (format "*redline review: %s*" (redline--project-name server)))

(defun redline--mark-hunks (proposal beg end)
  "Mark the lines of the diff from BEG to END with the hunks of PROPOSAL."
  (let ((hunks (redline--proposal-hunks proposal t)) path line hunk)
    (save-excursion
      (goto-char beg)
      (while (< (point) end)
        (cond
         ((looking-at "\\(---\\|\\+\\+\\+\\) \\(?:[ab]/\\)?\\([^\t\n]+\\)")
          (unless (equal (match-string 2) "/dev/null") (setq path (match-string 2)))
          (setq hunk nil))
         ((looking-at "@@ -\\([0-9]+\\)\\(?:,\\([0-9]+\\)\\)?")
          ;; Of an empty range the line before is told.
          (setq line (+ (string-to-number (match-string 1))
                        (if (equal (match-string 2) "0") 1 0) -1)
                hunk nil))
         ((and line (memq (char-after) '(?- ?+ ?\s)))
          (let ((sign (char-after)))
            (if (eq sign ?\s)
                (setq hunk nil)
              (setq hunk (redline--hunk-in hunks path line hunk)))
            (when hunk
              (put-text-property (point) (min end (1+ (pos-eol))) 'redline-hunk hunk))
            (unless (eq sign ?+) (setq line (1+ line))))))
        (forward-line)))))

(defun redline--hunk-in (hunks path line before)
  "Return the one of HUNKS that modifies LINE, from 0, of PATH.
One that only puts lines in does so before LINE.  BEFORE is what is returned
if there is none: the hunk of the line above."
  (or (cl-find-if
       (lambda (h)
         (let* ((range (plist-get (redline--hunk-data h) :range))
                (from (plist-get (plist-get range :start) :line))
                (stop (plist-get range :end))
                (to (+ (plist-get stop :line)
                       (if (zerop (plist-get stop :character)) 0 1))))
           (and (string-suffix-p path (redline--file-path (redline--hunk-file h)))
                (if (< from to) (and (<= from line) (< line to)) (= from line)))))
       (cl-remove-if-not (lambda (h) (redline--undecided-p (redline--hunk-data h))) hunks))
      before))

(defun redline--conflict-text (hunk)
  "Return HUNK, which does not fit any more, as lines of a diff."
  (let* ((data (redline--hunk-data hunk))
         (lines (lambda (text sign)
                  (if (equal text "") ""
                    (concat sign (string-replace "\n" (concat "\n" sign)
                                                 (string-remove-suffix "\n" text))
                            "\n")))))
    (propertize
     (concat (propertize (format "# %s:%d: %s\n"
                                 (redline--short (redline--file-path (redline--hunk-file hunk)))
                                 (1+ (plist-get (plist-get (plist-get data :range) :start) :line))
                                 (redline--conflict-words data))
                         'font-lock-face 'redline-conflict)
             (funcall lines (plist-get data :oldText) "#-")
             (funcall lines (plist-get data :newText) "#+"))
     'redline-hunk hunk)))

(defun redline--write-diff (server)
  "Write what of SERVER is under review into the current buffer."
  (let* ((inhibit-read-only t)
         (here (redline--diff-hunk-at-point))
         (line (line-number-at-pos)))
    (erase-buffer)
    (dolist (proposal (redline--open-proposals server))
      (insert (propertize (format "# %s\n" (plist-get proposal :title))
                          'font-lock-face 'redline-heading))
      (let ((beg (point)))
        (insert (string-replace "\r\n" "\n" (plist-get proposal :diff)))
        (unless (bolp) (insert "\n"))
        (redline--mark-hunks proposal beg (point)))
      (seq-doseq (file (plist-get proposal :files))
        (seq-doseq (data (plist-get file :hunks))
          (when (and (eq t (plist-get data :whole)) (redline--undecided-p data)
                     (not (equal (plist-get file :op) "create")))
            (insert (propertize (format "# %s: %s\n" (redline--short (redline--file-path file))
                                        (redline--operation-words file))
                                'font-lock-face 'redline-conflict
                                'redline-hunk (make-redline-hunk :proposal proposal :file file
                                                                 :data data))))))
      (dolist (h (redline--proposal-hunks proposal))
        (when (equal (plist-get (redline--hunk-data h) :state) "conflict")
          (insert (redline--conflict-text h)))))
    (goto-char (point-min))
    (forward-line (1- line))
    (let ((at (and here (redline--find-in-diff (redline--hunk-id here)))))
      (if at (goto-char at)
        (unless (redline--diff-hunk-at-point)
          (ignore-errors (redline-diff-next)))))))

(defun redline--find-in-diff (id)
  "Return where the diff presents the hunk that is called ID."
  (let ((at (point-min)) found)
    (while (and at (not found))
      (let ((h (get-text-property at 'redline-hunk)))
        (if (and h (equal id (redline--hunk-id h)))
            (setq found at)
          (setq at (next-single-property-change at 'redline-hunk)))))
    found))

(defun redline--diff-hunk-at-point ()
  "Return the hunk at point in the diff; on a heading the next one."
  (when-let* ((at (if (get-text-property (point) 'redline-hunk) (point)
                    ;; On a heading the next one is meant.
                    (save-excursion
                      (beginning-of-line)
                      (and (looking-at "@@\\|---\\|\\+\\+\\+\\|diff\\| ")
                           (let ((next (next-single-property-change (point) 'redline-hunk)))
                             next)))))
              (h (get-text-property at 'redline-hunk)))
    (redline--newest h)))

;;;; Commands

(defun redline-diff-next (&optional n)
  "Go to the next hunk of the diff; with N, do so N times."
  (interactive "p")
  (dotimes (_ (or n 1))
    (let ((at (point)))
      (while (and (setq at (next-single-property-change at 'redline-hunk))
                  (not (get-text-property at 'redline-hunk))))
      (unless at (user-error "Redline: no further hunk"))
      (goto-char at))))

(defun redline-diff-previous (&optional n)
  "Go to the previous hunk of the diff; with N, do so N times."
  (interactive "p")
  (dotimes (_ (or n 1))
    (let* ((here (get-text-property (point) 'redline-hunk))
           (at (point)))
      (while (and (setq at (previous-single-property-change at 'redline-hunk))
                  (or (not (get-text-property at 'redline-hunk))
                      (eq here (get-text-property at 'redline-hunk)))))
      (unless at (user-error "Redline: no hunk before this"))
      (goto-char at))))

(defun redline-diff-visit ()
  "Go to the hunk at point in its file."
  (interactive)
  (redline--go-to-hunk (redline--hunk-at-point)))

(defun redline-review ()
  "Show everything under review as a diff."
  (interactive)
  (let* ((server (redline--ensure))
         (buffer (get-buffer-create (redline--diff-name server))))
    (unless (redline--open-proposals server)
      (user-error "Redline: there is nothing to review"))
    (with-current-buffer buffer
      (unless (derived-mode-p 'redline-diff-mode)
        (redline-diff-mode)
        (setq redline--server server default-directory (redline--root server)))
      (setq redline--server server)
      (redline--write-diff server))
    (unless (eq buffer (window-buffer))
      (pop-to-buffer buffer '((display-buffer-reuse-window display-buffer-use-some-window
                               display-buffer-pop-up-window)
                              (inhibit-same-window . t)))
      (goto-char (point-min))
      (ignore-errors (redline-diff-next)))))

(defun redline--follow-diff (server _proposal)
  "Write the diff of SERVER anew, if it is shown anywhere."
  (when-let* ((buffer (get-buffer (redline--diff-name server))))
    (with-current-buffer buffer
      (let ((window (get-buffer-window buffer t)))
        (if window
            (with-selected-window window (redline--write-diff server))
          (redline--write-diff server))
        (when (and window (null (redline--open-proposals server)))
          (quit-window nil window))))))

(add-hook 'redline-proposal-functions #'redline--follow-diff)

(provide 'redline-diff)
;;; redline-diff.el ends here
