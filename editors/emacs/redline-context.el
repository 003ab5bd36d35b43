;;; redline-context.el --- What a prompt is about  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Regions, buffers, what Flymake found, what xref found, web pages and images as
;; ContextItems.

;;; Code:

(require 'redline-chat)
(require 'redline-language)
(require 'flymake)

(defun redline--place-label (beg end)
  "Return a short name of the text from BEG to END of the current buffer."
  (let ((first (line-number-at-pos beg t))
        (last (line-number-at-pos (if (and (> end beg) (eq (char-before end) ?\n)) (1- end) end)
                                  t))
        (name (if buffer-file-name (redline--short (expand-file-name buffer-file-name))
                (buffer-name))))
    (if (= first last) (format "%s:%d" name first) (format "%s:%d-%d" name first last))))

(defun redline--buffer-uri ()
  "Return a URI, or at least a name, of the current buffer."
  (if buffer-file-name (redline--path-to-uri buffer-file-name) (buffer-name)))

(defun redline--context-region (beg end)
  "Return the text from BEG to END of the current buffer, labelled."
  (cons (concat "selection " (redline--place-label beg end))
        (append (list :kind "selection" :uri (redline--buffer-uri)
                      :range (redline--range beg end "utf-16")
                      :text (buffer-substring-no-properties beg end))
                (and redline--document
                     (list :version (redline--doc-version redline--document))))))

(defun redline--context-buffer ()
  "Return the whole current buffer, labelled."
  (if buffer-file-name
      (cons (concat "file " (redline--short (expand-file-name buffer-file-name)))
            (list :kind "file" :uri (redline--buffer-uri)))
    (cons (concat "buffer " (buffer-name))
          (list :kind "text" :uri (buffer-name)
                :text (buffer-substring-no-properties (point-min) (point-max))))))

(defun redline--diagnostic-words (d)
  "Return the Flymake diagnostic D as a line of text."
  (format "line %d: %s: %s" (line-number-at-pos (flymake-diagnostic-beg d) t)
          (redline--severity-words (redline--severity (flymake-diagnostic-type d)))
          (flymake-diagnostic-text d)))

(defun redline--severity (type)
  "Return LSP's number for TYPE, one of Flymake's."
  (let ((category (or (get type 'flymake-category) type)))
    (pcase category
      ((or :error 'flymake-error 'eglot-error) 1)
      ((or :warning 'flymake-warning 'eglot-warning) 2)
      (_ 3))))

(defun redline--severity-words (number)
  "Return LSP's severity NUMBER as a word."
  (pcase number (1 "error") (2 "warning") (_ "note")))

(defun redline--problems (beg end)
  "Return what is known to be wrong between BEG and END, as lines.
Without BEG and END, in the whole buffer.  Flymake knows, or lsp-mode."
  (if (bound-and-true-p flymake-mode)
      (mapcar #'redline--diagnostic-words
              (sort (flymake-diagnostics beg end)
                    (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b)))))
    (cl-loop for d in (redline--lsp-mode-diagnostics)
             for start = (plist-get (plist-get d :range) :start)
             for at = (redline--point start "utf-16")
             when (or (null beg) (<= beg at end))
             collect (format "line %d: %s: %s" (1+ (plist-get start :line))
                             (redline--severity-words (plist-get d :severity))
                             (plist-get d :message)))))

(defun redline--context-diagnostics (&optional beg end)
  "Return what is known to be wrong in the current buffer, labelled, or nil.
With BEG and END, in the text between these."
  (when-let* ((found (redline--problems beg end)))
    (cons (format "%s in %s" (redline--counted (length found) "diagnostic") (buffer-name))
          (list :kind "diagnostics" :uri (redline--buffer-uri)
                :text (string-join found "\n")))))

(defun redline--context-xref ()
  "Return the places that the *xref* buffer presents, labelled, or nil."
  (when-let* ((buffer (get-buffer "*xref*"))
              (text (with-current-buffer buffer
                      (string-trim (buffer-substring-no-properties (point-min) (point-max))))))
    (cons "places of *xref*" (list :kind "text" :uri "xref" :text text))))

(defun redline--last-buffer ()
  "Return the buffer with a file that the user was in last."
  (cl-find-if (lambda (b) (buffer-local-value 'buffer-file-name b)) (buffer-list)))

(defun redline--context-of-word (word)
  "Return what WORD after @ stands for, labelled, or nil."
  (if (equal word "xref")
      (redline--context-xref)
    (when-let* ((buffer (redline--last-buffer)))
      (with-current-buffer buffer
        (pcase word
          ("buffer" (redline--context-buffer))
          ("selection" (when-let* ((mark (mark t)))
                         (redline--context-region (min mark (point)) (max mark (point)))))
          ("diagnostics" (redline--context-diagnostics)))))))

(defun redline--mentioned (text)
  "Return the ContextItems that @ and a word in TEXT ask for.
Names of files after @ are the server's matter."
  (let ((at 0) out)
    (while (string-match "\\(?:\\`\\|[ \t\n]\\)@\\([a-z]+\\)" text at)
      (setq at (match-end 0))
      (when-let* (((assoc (match-string 1 text) redline--words))
                  (item (redline--context-of-word (match-string 1 text))))
        (cl-pushnew (cdr item) out :test #'equal)))
    (nreverse out)))

;;;; Commands

(defun redline--here ()
  "Return what a prompt from the current buffer is about: the active region.
The server is started, for names are told as it knows them."
  (redline--ensure)
  (when (use-region-p)
    (let ((beg (region-beginning)) (end (region-end)))
      (delq nil (list (redline--context-region beg end)
                      (redline--context-diagnostics beg end))))))

(defun redline--attach (items)
  "Attach ITEMS to the next prompt of the current session."
  (let ((session (redline--session)))
    (with-current-buffer (redline--show-chat session)
      (setq redline--attached
            (append redline--attached
                    (cl-remove-if (lambda (i) (assoc (car i) redline--attached)) items)))
      (redline--write-prompt))
    (message "Redline: attached %s" (mapconcat #'car items ", "))))

(defconst redline--image-types
  '(("png" . "image/png") ("jpg" . "image/jpeg") ("jpeg" . "image/jpeg") ("webp" . "image/webp")
    ("gif" . "image/gif") ("heic" . "image/heic") ("heif" . "image/heif"))
  "Names of pictures end like this; what is told of them.")

(defun redline--image-type (file)
  "Return the MIME type of the picture in FILE by its name, or nil."
  (cdr (assoc (downcase (or (file-name-extension file) "")) redline--image-types)))

(defun redline--image (label type data)
  "Return the picture DATA, bytes of TYPE, labelled LABEL."
  (cons (concat "image " label)
        (list :kind "image" :mimeType type :data (base64-encode-string data t))))

(defun redline--image-item (file)
  "Return the picture in FILE, labelled."
  (redline--image
   (file-name-nondirectory file)
   (or (redline--image-type file)
       (user-error "Redline: %s is no picture that a model can see (%s)"
                   (file-name-nondirectory file)
                   (mapconcat #'car redline--image-types ", ")))
   (with-temp-buffer
     (set-buffer-multibyte nil)
     (insert-file-contents-literally file)
     (buffer-string))))

(defun redline--yank-image (type data)
  "Attach the picture DATA of TYPE, from the clipboard, to the next prompt."
  (unless (rassoc (symbol-name type) redline--image-types)
    (user-error "Redline: no model can see %s" type))
  (redline--attach (list (redline--image (format-time-string "of %T") (symbol-name type) data))))

(defun redline--take-images ()
  "Have `yank-media' attach pictures in the current chat."
  (yank-media-handler "image/.*" #'redline--yank-image))

(add-hook 'redline-chat-mode-hook #'redline--take-images)

(defun redline-attach (what)
  "Attach WHAT to the next prompt: a region, buffer, diagnostics or other things."
  (interactive
   (list (if (use-region-p) "selection"
           (completing-read "Attach: "
                            (redline--annotated
                             (append redline--words '(("file" . "any file")
                                                      ("image" . "a picture")
                                                      ("url" . "a web page")
                                                      ("diff" . "what git says is changed"))))
                            nil t))))
  (redline--ensure)
  (let ((item
         (pcase what
           ((and "selection" (guard (use-region-p)))
            (redline--context-region (region-beginning) (region-end)))
           ("file" (let ((file (read-file-name "File: " nil nil t)))
                     (if (redline--image-type file)
                         (redline--image-item file)
                       (with-current-buffer (redline--visit file) (redline--context-buffer)))))
           ("image" (redline--image-item (read-file-name "Image: " nil nil t)))
           ("url" (let ((url (read-string "URL: "))) (cons url (list :kind "url" :uri url))))
           ("diff" (cons "diff of git"
                         (list :kind "diff"
                               :text (shell-command-to-string "git diff HEAD --no-color"))))
           (_ (redline--context-of-word what)))))
    (unless item (user-error "Redline: there is nothing of that"))
    (redline--attach (list item))))

(defun redline-detach ()
  "Take away what is attached to the next prompt."
  (interactive)
  (setq redline--attached nil)
  (redline--write-prompt))

(defun redline-ask (text &optional context)
  "Ask the agent TEXT, about the region if it is active, or about CONTEXT."
  (interactive
   (let ((context (redline--here)))
     (list (read-string (format "Ask%s: "
                                (if context (format " about %s" (mapconcat #'car context ", "))
                                  "")))
           (mapcar #'cdr context))))
  (when (string-blank-p text) (user-error "Redline: there is nothing to ask"))
  (let ((session (redline--session)))
    (redline--show-chat session)
    (redline--prompt session text (append context (redline--mentioned text)))))

(defun redline-ask-about-buffer (text)
  "Ask the agent TEXT about the current buffer."
  (interactive (list (read-string (format "Ask about %s: " (buffer-name)))))
  (redline-ask text (list (cdr (redline--context-buffer)))))

(defun redline-fix ()
  "Have the agent fix what Flymake has to say of the region, line or buffer."
  (interactive)
  (let* ((region (if (use-region-p) (cons (region-beginning) (region-end))
                   (cons (pos-bol) (pos-eol))))
         (found (or (redline--context-diagnostics (car region) (cdr region))
                    (redline--context-diagnostics)
                    (user-error "Redline: nothing is known to be wrong here"))))
    (redline-ask "Fix these problems."
                 (list (cdr found)
                       (cdr (redline--context-region (car region) (cdr region)))))))

(provide 'redline-context)
;;; redline-context.el ends here
