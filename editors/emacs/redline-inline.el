;;; redline-inline.el --- Hunks in the buffers they are about  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Each hunk is an overlay on the lines it would replace, with a bar above them and the
;; proposed text below.  The text of the buffer is not touched.  The overlays move along with
;; what is typed; the server tells where a hunk is after that, and whether it still fits.
;; `redline-inline-mode' is on in buffers with open hunks, for its keys.

;;; Code:

(require 'redline-review)

(defvar-keymap redline-hunk-map
  :doc "Keys after `redline-review-prefix' in buffers with open hunks."
  "n" #'redline-next-hunk
  "p" #'redline-previous-hunk
  "a" #'redline-accept-hunk
  "r" #'redline-reject-hunk
  "R" #'redline-reject-hunk-because
  "e" #'redline-amend
  "E" #'redline-ediff
  "A" #'redline-accept-file
  "K" #'redline-reject-file
  "!" #'redline-accept-all
  "0" #'redline-reject-all
  "d" #'redline-review
  "?" #'redline-review-menu)

(defvar redline-inline-mode-map
  (let ((map (make-sparse-keymap)))
    (keymap-set map redline-review-prefix redline-hunk-map)
    map)
  "Keymap of `redline-inline-mode'.")

;; With `repeat-mode' the prefix is typed once.
(dolist (command '(redline-next-hunk redline-previous-hunk redline-accept-hunk
                   redline-reject-hunk))
  (put command 'repeat-map 'redline-hunk-map))

(define-minor-mode redline-inline-mode
  "Minor mode of the buffers of a project in which hunks are under review.
It comes with the first hunk and stays as long as the server does: keys that
went with the last hunk would be typed into the text.

\\{redline-inline-mode-map}"
  :lighter (redline--overlays " Redline")
  (setq redline--hunk-at-point-function
        (and redline-inline-mode #'redline--inline-hunk-at-point))
  (unless redline-inline-mode (redline--remove-overlays)))

(defvar-local redline--overlays nil
  "The overlays of the hunks in the current buffer.")
(put 'redline--overlays 'permanent-local t)

(defun redline--remove-overlays ()
  "Remove the hunks from the current buffer."
  (mapc #'delete-overlay redline--overlays)
  (setq redline--overlays nil))

;;;; What a hunk looks like

(defun redline--button (label command help)
  "Return LABEL as text that does COMMAND on a click, with HELP."
  (propertize label 'mouse-face 'highlight 'help-echo help
              'keymap (let ((map (make-sparse-keymap)))
                        (define-key map [mouse-1]
                                    (lambda (event)
                                      (interactive "e")
                                      (mouse-set-point event)
                                      (call-interactively command)))
                        map)))

(defun redline--key (command)
  "Return the last key of COMMAND in a buffer with hunks."
  (if-let* ((key (where-is-internal command redline-hunk-map t)))
      (key-description key)
    "-"))

(defun redline--conflict-words (data)
  "Return why the hunk DATA does not fit, for the user."
  (let ((why (plist-get data :reason)))
    (if (or (member why '(nil "")) (string-search "the user changed" why))
        "you changed these lines; your text stands"
      (concat "not applied: " why))))

(defun redline--bar (hunk number count)
  "Return the line above HUNK, which is number NUMBER of COUNT."
  (let* ((data (redline--hunk-data hunk))
         (conflict (equal (plist-get data :state) "conflict")))
    (concat
     (propertize (format "%s %d/%d" (if conflict "⚠" "▾") number count)
                 'face (if conflict 'redline-conflict 'redline-hunk-bar))
     (if conflict (propertize (concat " " (redline--conflict-words data))
                              'face 'redline-conflict)
       "")
     (propertize
      (concat
       "  " redline-review-prefix
       (if conflict ""
         (concat " " (redline--button (concat (redline--key 'redline-accept-hunk) " accept")
                                      #'redline-accept-hunk "Accept this hunk")
                 " "))
       " " (redline--button (concat (redline--key 'redline-reject-hunk)
                                    (if conflict " drop it" " reject"))
                            #'redline-reject-hunk "Reject this hunk")
       (if conflict ""
         (concat "  " (redline--button (concat (redline--key 'redline-amend) " edit")
                                       #'redline-amend "Change the text before it is taken"))))
      'face 'redline-hunk-bar)
     "\n")))

(defun redline--preview (text)
  "Return TEXT as lines that would be added, not too many of them."
  (let* ((text (string-replace "\r" "" text))
         (lines (split-string (string-remove-suffix "\n" text) "\n"))
         (more (- (length lines) redline-preview-lines)))
    (if (string-empty-p text) ""
      (concat
       (propertize (concat (string-join (if (> more 0) (take redline-preview-lines lines) lines)
                                        "\n")
                           "\n")
                   'face 'redline-added)
       (if (> more 0)
           (propertize (format "… %s more (%s shows all)\n" (redline--counted more "line")
                               (redline--key 'redline-review))
                       'face 'redline-hunk-bar)
         "")))))

(defun redline--operation-words (file)
  "Return what a proposal would do with FILE itself."
  (pcase (plist-get file :op)
    ("delete" "delete this file")
    ("rename" (format "rename this file to %s"
                      (redline--short (redline--uri-to-path (plist-get file :newUri)))))
    ("create" "create this file")))

(defun redline--show-hunk (hunk number count encoding)
  "Show HUNK in the current buffer, as number NUMBER of COUNT.
Its range is in units of ENCODING."
  (let* ((data (redline--hunk-data hunk))
         (range (plist-get data :range))
         (whole (eq t (plist-get data :whole)))
         (beg (if whole (point-min) (redline--point (plist-get range :start) encoding)))
         (end (if whole (point-min) (redline--point (plist-get range :end) encoding)))
         (overlay (make-overlay beg end nil t nil))
         (text (redline--preview (plist-get data :newText)))
         (bar (redline--bar hunk number count))
         ;; After a last line without an end.
         (open (and (= end (point-max)) (> end (point-min)) (/= (char-before end) ?\n))))
    (overlay-put overlay 'redline-hunk hunk)
    (overlay-put overlay 'priority 50)
    (overlay-put overlay 'evaporate nil)
    (when whole
      (setq text (if (equal (plist-get (redline--hunk-file hunk) :op) "create")
                     text
                   (propertize (concat "  " (redline--operation-words
                                             (redline--hunk-file hunk))
                                       "\n")
                               'face 'redline-conflict))))
    (if (= beg end)
        (overlay-put overlay 'before-string
                     (concat (and open (= beg (point-max)) "\n") bar text))
      (overlay-put overlay 'face 'redline-removed)
      (overlay-put overlay 'before-string bar)
      (overlay-put overlay 'after-string (concat (and open "\n") text)))
    (push overlay redline--overlays)))

(defun redline--show-hunks (server &optional keep)
  "Show the open hunks of SERVER in the current buffer.
With KEEP those that are shown stay if the server's places are of an older text."
  (let* ((path (and buffer-file-name (expand-file-name buffer-file-name)))
         (all (redline--hunks server))
         (mine (cl-remove-if-not
                (lambda (h) (equal path (redline--file-path (redline--hunk-file h))))
                all)))
    (cond
     ((null mine) (redline--remove-overlays))
     ((and keep redline--overlays redline--document
           (not (and (redline--current-p redline--document)
                     (cl-every (lambda (h)
                                 (equal (plist-get (plist-get (redline--hunk-file h) :base)
                                                   :version)
                                        (redline--doc-version redline--document)))
                               mine)))
           ;; They are told anew for the text as it is now; decided ones go at once.
           (let ((left (mapcar #'redline--hunk-id mine)))
             (dolist (o redline--overlays t)
               (unless (member (redline--hunk-id (overlay-get o 'redline-hunk)) left)
                 (delete-overlay o))))))
     (t
      (redline--remove-overlays)
      (unless redline-inline-mode (redline-inline-mode 1))
      (save-excursion
        (save-restriction
          (widen)
          (dolist (h mine)
            (redline--show-hunk h (1+ (cl-position h all)) (length all)
                                (redline--encoding server)))))
      (setq redline--overlays (nreverse redline--overlays))))))

(defun redline--show-proposal (server proposal)
  "Show what PROPOSAL of SERVER modifies, or that all proposals are gone."
  (if (null proposal)
      (dolist (buffer (buffer-list))
        (with-current-buffer buffer
          (when (and redline-inline-mode buffer-file-name
                     (redline--below-p (expand-file-name buffer-file-name)
                                       (redline--root server)))
            (redline--remove-overlays))))
    (when (redline--open-p proposal)
      (dolist (buffer (redline--documents server))
        (with-current-buffer buffer
          (unless redline-inline-mode (redline-inline-mode 1)))))
    ;; Files with hunks of other proposals count theirs anew.
    (dolist (path (delete-dups
                   (append (mapcar #'redline--file-path (plist-get proposal :files))
                           (mapcar (lambda (h) (redline--file-path (redline--hunk-file h)))
                                   (redline--hunks server)))))
      (when-let* ((buffer (redline--visiting path)))
        (with-current-buffer buffer (redline--show-hunks server t))))))

(add-hook 'redline-proposal-functions #'redline--show-proposal)

(defun redline--show-in-new-buffer ()
  "Show the open hunks in the current buffer, which has just visited its file."
  (when-let* ((server (redline--running))
              ((redline--open-proposals server)))
    (redline--show-hunks server)))

(add-hook 'find-file-hook #'redline--show-in-new-buffer 90)

;;;; Where point is

(defun redline--inline-hunk-at-point ()
  "Return the hunk at point in the current buffer, or the only one."
  (let ((live (cl-remove-if-not #'overlay-buffer redline--overlays)))
    (if-let* ((o (or (cl-find-if (lambda (o) (and (<= (overlay-start o) (point))
                                                  (< (point) (overlay-end o))))
                                 live)
                     ;; What is put in belongs to the lines around it.
                     (cl-find-if (lambda (o)
                                   (and (= (overlay-start o) (overlay-end o))
                                        (<= (1- (save-excursion
                                                  (goto-char (1- (max 2 (overlay-start o))))
                                                  (pos-bol)))
                                            (point))
                                        (<= (point) (save-excursion
                                                      (goto-char (overlay-start o))
                                                      (pos-eol)))))
                                 live)
                     (and (null (cdr live)) (car live)))))
        (redline--newest (overlay-get o 'redline-hunk)))))

(defun redline--newest (hunk)
  "Return HUNK in the newest state of its proposal."
  (or (when-let* ((server (redline--running))
                  (proposal (redline--proposal server (plist-get (redline--hunk-proposal hunk)
                                                                 :proposalId))))
        (cl-find (redline--hunk-id hunk) (redline--proposal-hunks proposal t)
                 :key #'redline--hunk-id :test #'equal))
      hunk))

(defun redline--go-to-hunk (hunk)
  "Show the buffer of HUNK, with point at it."
  (let* ((path (redline--file-path (redline--hunk-file hunk)))
         (buffer (or (redline--visiting path) (redline--visit path))))
    (if (eq buffer (current-buffer))
        (push-mark nil t)
      (pop-to-buffer buffer '((display-buffer-reuse-window display-buffer-use-some-window
                               display-buffer-pop-up-window)
                              (inhibit-same-window . nil)))
      (redline--show-hunks (redline--running)))
    (when-let* ((o (cl-find (redline--hunk-id hunk) redline--overlays
                            :key (lambda (o) (redline--hunk-id (overlay-get o 'redline-hunk)))
                            :test #'equal)))
      (widen)
      (goto-char (overlay-start o)))
    (let ((all (redline--hunks (redline--running))))
      (message "Redline: hunk %d of %d"
               (1+ (or (cl-position (redline--hunk-id hunk) all
                                    :key #'redline--hunk-id :test #'equal)
                       0))
               (length all)))))

(defun redline-next-hunk (&optional n)
  "Go to the next open hunk, on through all files and around, N times."
  (interactive "p")
  (let* ((n (or n 1))
         (all (or (redline--hunks (redline--ensure))
                  (user-error "Redline: there is nothing to review")))
         (path (and buffer-file-name (expand-file-name buffer-file-name)))
         (here (cl-find-if (lambda (o) (and (overlay-buffer o)
                                            (<= (overlay-start o) (point))
                                            (or (< (point) (overlay-end o))
                                                (= (point) (overlay-start o)))))
                           redline--overlays))
         (at (and here
                  (cl-position (redline--hunk-id (overlay-get here 'redline-hunk)) all
                               :key #'redline--hunk-id :test #'equal))))
    (redline--go-to-hunk
     (nth (mod (cond (at (+ at n))
                     ;; From between hunks: the next of this file, else the first of all.
                     ((when-let* ((next (redline--hunk-near path (> n 0))))
                        (+ (cl-position (redline--hunk-id next) all
                                        :key #'redline--hunk-id :test #'equal)
                           (if (> n 0) (1- n) (1+ n)))))
                     ((> n 0) (1- n))
                     (t n))
               (length all))
          all))))

(defun redline--hunk-near (path after)
  "Return the hunk of the current buffer, which visits PATH, next to point.
AFTER says on which side."
  (when path
    (let ((live (cl-remove-if-not #'overlay-buffer redline--overlays)))
      (when-let* ((o (if after
                         (cl-find-if (lambda (o) (> (overlay-start o) (point))) live)
                       (cl-find-if (lambda (o) (< (overlay-start o) (point))) live
                                   :from-end t))))
        (overlay-get o 'redline-hunk)))))

(defun redline-previous-hunk (&optional n)
  "Go to the previous open hunk; with N, do so N times."
  (interactive "p")
  (redline-next-hunk (- (or n 1))))

(declare-function redline-amend "redline-amend")
(declare-function redline-ediff "redline-amend")
(declare-function redline-review "redline-diff")
(declare-function redline-review-menu "redline-menu")

(provide 'redline-inline)
;;; redline-inline.el ends here
