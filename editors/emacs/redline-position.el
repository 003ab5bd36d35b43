;;; redline-position.el --- Places and names as the protocol has them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Positions of LSP are a line and a count of units in it, both from 0; the unit is a
;; byte, half a surrogate pair or a character, as was agreed on with the server.
;; Lines end after CR LF, LF or CR.  A buffer has its own idea of line ends: those of
;; its coding system are newlines in it, so what the server sees is made with
;; `redline--wire-text' and taken with `redline--buffer-text'.

;;; Code:

(require 'url-util)

(defun redline--path-to-uri (path)
  "Return the file: URI of PATH."
  (concat "file://" (url-hexify-string (expand-file-name path) url-path-allowed-chars)))

(defun redline--uri-to-path (uri)
  "Return the path that a file: URI names, nil for any other."
  (when (string-match "\\`file://\\(?:localhost\\)?\\(/.*\\)\\'" uri)
    (decode-coding-string
     (url-unhex-string (encode-coding-string (match-string 1 uri) 'utf-8)) 'utf-8)))

(defun redline--eol ()
  "Return the line end of the current buffer's file: \"\\n\", \"\\r\\n\" or \"\\r\"."
  (pcase (and buffer-file-coding-system
              (coding-system-eol-type buffer-file-coding-system))
    (1 "\r\n")
    (2 "\r")
    (_ "\n")))

(defun redline--wire-text (text eol)
  "Return TEXT of a buffer whose file's line end is EOL, as the file has it."
  (if (equal eol "\n") text (string-replace "\n" eol text)))

(defun redline--buffer-text (text eol)
  "Return TEXT of a file whose line end is EOL, as its buffer has it."
  (if (equal eol "\n") text (string-replace eol "\n" text)))

(defconst redline--unsendable "[^\0-\ud7ff\ue000-\U0010ffff]"
  "Matches what is no text for a server: raw bytes and lone surrogates.")

(defun redline--unsendable-p ()
  "Return where the current buffer is with what is no text, if it does."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (and (re-search-forward redline--unsendable nil t) (match-beginning 0)))))

(defvar-local redline--returns nil
  "Cons of a tick of the buffer and whether it held carriage returns then.")

(defun redline--returns-p ()
  "Return non-nil if there is a CR beside the line ends of the buffer."
  (let ((tick (buffer-chars-modified-tick)))
    (unless (eq tick (car redline--returns))
      (setq redline--returns
            (cons tick (save-excursion
                         (save-restriction
                           (widen)
                           (goto-char (point-min))
                           (and (search-forward "\r" nil t) t))))))
    (cdr redline--returns)))

(defun redline--line-end-regexp ()
  "Return what ends a line for the server, in the text of the current buffer."
  (if (equal (redline--eol) "\n") "\r\n\\|\n\\|\r" "\n\\|\r"))

(defun redline--units (beg end encoding)
  "Return how many units of ENCODING the text from BEG to END takes."
  (pcase encoding
    ("utf-8" (- (position-bytes end) (position-bytes beg)))
    ("utf-32" (- end beg))
    (_ (let ((n (- end beg)))
         (save-excursion
           (goto-char beg)
           (while (re-search-forward "[\U00010000-\U0010ffff]" end t)
             (setq n (1+ n))))
         n))))

(defun redline--position (pos encoding)
  "Return POS of the current buffer as a position of LSP, in units of ENCODING."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char pos)
      (let ((line (1- (line-number-at-pos pos t)))
            (bol (pos-bol)))
        (when (redline--returns-p)
          (let ((end (redline--line-end-regexp)))
            (goto-char (point-min))
            (setq line 0 bol (point-min))
            (while (and (re-search-forward end pos t) (> (point) bol))
              (setq line (1+ line) bol (point)))))
        (list :line line :character (redline--units bol pos encoding))))))

(defun redline--goto-line (line)
  "Go to the start of LINE, from 0, and return the end of its text.
A line past the end is the end of the buffer."
  (goto-char (point-min))
  (if (redline--returns-p)
      (let ((end (redline--line-end-regexp)))
        (while (and (> line 0) (re-search-forward end nil 'move))
          (setq line (1- line)))
        (save-excursion
          (if (re-search-forward end nil 'move) (match-beginning 0) (point))))
    (unless (zerop (forward-line line))
      (goto-char (point-max)))
    (pos-eol)))

(defun redline--point (position encoding)
  "Return where POSITION of LSP is in the current buffer, in units of ENCODING."
  (save-excursion
    (save-restriction
      (widen)
      (let* ((eol (redline--goto-line (plist-get position :line)))
             (bol (point))
             (n (plist-get position :character)))
        (pcase encoding
          ("utf-8" (let ((at (byte-to-position (+ (position-bytes bol) n))))
                     (if at (min at eol) eol)))
          ("utf-32" (min (+ bol n) eol))
          (_ (while (and (> n 0) (< (point) eol))
               (setq n (- n (if (> (char-after) #xffff) 2 1)))
               (forward-char))
             (point)))))))

(defun redline--range (beg end encoding)
  "Return the text from BEG to END as a range of LSP, in units of ENCODING."
  (list :start (redline--position beg encoding) :end (redline--position end encoding)))

(provide 'redline-position)
;;; redline-position.el ends here
