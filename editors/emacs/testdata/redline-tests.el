;;; redline-tests.el --- Tests that need no server  -*- lexical-binding: t; -*-

(require 'ert)
(require 'redline)

(defmacro redline-tests-with-text (text &rest body)
  "Run BODY in a buffer with TEXT."
  (declare (indent 1))
  `(with-temp-buffer
     (setq buffer-file-coding-system 'utf-8-unix)
     (insert ,text)
     ,@body))

(ert-deftest redline-tests-positions ()
  "Positions are right in every encoding, also with carriage returns, and come back."
  (redline-tests-with-text "naïve 🎉 one\r\ntwo\rthree\n\nlast 🎉"
    (dolist (case '((7 0 6 7 6) (8 0 8 11 7) (12 0 12 15 11) (14 1 0 0 0) (18 2 0 0 0)
                    (24 3 0 0 0) (25 4 0 0 0) (31 4 7 9 6)))
      (pcase-let ((`(,pos ,line ,utf16 ,utf8 ,utf32) case))
        (pcase-dolist (`(,encoding . ,n) `(("utf-16" . ,utf16) ("utf-8" . ,utf8)
                                           ("utf-32" . ,utf32)))
          (let ((want (list :line line :character n)))
            (should (equal (list pos encoding (redline--position pos encoding))
                           (list pos encoding want)))
            (should (equal (redline--point want encoding) pos))))))
    ;; Beyond the end of a line is its end, beyond the last line the end of the text.
    (should (equal (redline--point '(:line 1 :character 99) "utf-8") 17))
    (should (equal (redline--point '(:line 99 :character 0) "utf-8") (point-max)))
    ;; Narrowing is no matter.
    (narrow-to-region 3 5)
    (should (equal (redline--position 31 "utf-32") '(:line 4 :character 6)))))

(ert-deftest redline-tests-positions-agree ()
  "Both ways to count agree on random places."
  (random "redline")
  (redline-tests-with-text ""
    (dotimes (_ 300)
      (insert (aref ["a" "é" "🎉" "\n" "xyz" "漢" "\t"] (random 7))))
    (dotimes (_ 200)
      (let ((pos (1+ (random (buffer-size)))))
        (dolist (encoding '("utf-8" "utf-16" "utf-32"))
          (should (= pos (redline--point (redline--position pos encoding) encoding))))))))

(ert-deftest redline-tests-uris ()
  "Names of files survive the way to the server and back."
  (dolist (path '("/a/b c.txt" "/ä/漢字.go" "/100%/#x?y.el" "/a+b&c=d/[e].txt"))
    (should (equal path (redline--uri-to-path (redline--path-to-uri path)))))
  (should (equal "/a b" (redline--uri-to-path "file://localhost/a%20b")))
  (should (equal "/ä" (redline--uri-to-path "file:///ä")))
  (should-not (redline--uri-to-path "untitled:x")))

(defun redline-tests-edit (line from to text)
  "Return an edit that puts TEXT in the place of FROM to TO in LINE."
  (list :range (list :start (list :line line :character from) :end (list :line line :character to))
        :newText text))

(ert-deftest redline-tests-edits ()
  "Edits refer to the text before the first, and insertions at a place stay in order."
  (redline-tests-with-text "one\ntwo\nthree\n"
    (redline--apply-text-edits
     (vector (redline-tests-edit 2 0 5 "drei") (redline-tests-edit 0 0 3 "eins")
             (redline-tests-edit 1 0 0 "a\n") (redline-tests-edit 1 0 0 "b\n"))
     "utf-16")
    (should (equal (buffer-string) "eins\na\nb\ntwo\ndrei\n"))))

(ert-deftest redline-tests-edit-keeps-places ()
  "Only what differs is touched, so that markers stay."
  (redline-tests-with-text "func f(alpha, beta)\n"
    (let ((marker (copy-marker (+ (point-min) 14))))
      (redline--apply-text-edits (vector (redline-tests-edit 0 0 19 "func f(gamma, beta)"))
                                 "utf-8")
      (should (equal (buffer-string) "func f(gamma, beta)\n"))
      (should (equal "beta" (buffer-substring marker (+ marker 4)))))))

(ert-deftest redline-tests-random-edits ()
  "Replacing line by line makes the text that was wanted."
  (random "edits")
  (dotimes (_ 50)
    (let* ((line (lambda () (aref ["a" "bb" "a🎉c" "é" ""] (random 5))))
           (old (cl-loop repeat (1+ (random 8)) collect (funcall line)))
           (new (mapcar (lambda (l) (if (zerop (random 3)) (funcall line) l)) old)))
      (redline-tests-with-text (string-join old "\n")
        (redline--apply-text-edits
         (vconcat (cl-loop for l in new for o in old for i from 0
                           unless (equal l o)
                           collect (redline-tests-edit i 0 (length (encode-coding-string o 'utf-8))
                                                       l)))
         "utf-8")
        (should (equal (buffer-string) (string-join new "\n")))))))

(ert-deftest redline-tests-undo-shift ()
  "What was typed in the chat can be undone after the transcript grew."
  (with-temp-buffer
    (redline-chat-mode)
    (buffer-enable-undo)
    (goto-char (point-max))
    (insert "what I ")
    (undo-boundary)
    (insert "type")
    (undo-boundary)
    (redline--show-notice "info" "something came in between")
    (should (string-suffix-p "what I type" (buffer-string)))
    (should (equal (redline--input-text) "what I type"))
    (primitive-undo 2 buffer-undo-list)
    (should (string-search "something came in between" (buffer-string)))
    (should (equal (redline--input-text) "what I "))))

(ert-deftest redline-tests-transcript ()
  "Blocks are folded, answers are buttons where they name files, and the rest is read-only."
  (let* ((default-directory (file-name-as-directory (make-temp-file "redline" t)))
         (file (expand-file-name "main.go")))
    (write-region "package main\n" nil file nil 'quiet)
    (with-temp-buffer
      (redline-chat-mode)
      (redline--show-event '(:type "thought/delta" :messageId "1" :text "deep" :subject "On"))
      (should-not (string-search "deep" (buffer-string)))
      (redline--toggle (car redline--blocks))
      (should (string-search "deep" (buffer-string)))
      (redline--show-event '(:type "message/delta" :messageId "2" :text "See main.go:1 and "))
      (redline--show-event '(:type "message/delta" :messageId "2" :text "`x`.\n"))
      (redline--finish-answer)
      (goto-char (point-min))
      (search-forward "main.g")
      (should (equal (button-get (button-at (point)) 'redline-place) (cons file 1)))
      (should-error (insert "x") :type 'text-read-only)
      (goto-char (point-max))
      (insert "fine")
      (should (equal (redline--input-text) "fine")))
    (delete-directory default-directory t)))

(ert-deftest redline-tests-reader-stays ()
  "Who reads above is not moved by what comes below."
  (with-temp-buffer
    (redline-chat-mode)
    (dotimes (i 20)
      (redline--show-event (list :type "message/delta" :messageId i :text (format "line %d\n" i))))
    (goto-char (point-min))
    (search-forward "line 5")
    (let ((here (point)))
      (redline--show-event '(:type "message/delta" :messageId 99 :text "more\n"))
      (redline--show-event '(:type "tool/updated" :callId "c" :name "x" :title "X" :status "running"))
      (redline--show-event '(:type "tool/output" :callId "c" :text "out\n"))
      (should (= (point) here))
      (should (looking-back "line 5" (pos-bol))))))

(ert-deftest redline-tests-promise ()
  "A promise is kept once."
  (let ((p (make-redline-promise)))
    (redline--settle p :result 1)
    (redline--settle p :result 2)
    (should (equal (redline--promise-value p) '(:result 1)))))

(ert-deftest redline-tests-options ()
  "Another prefix of the keys takes the place of the old one."
  (let ((before redline-review-prefix))
    (unwind-protect
        (progn
          (customize-set-variable 'redline-review-prefix "C-c ^")
          (should (eq (keymap-lookup redline-inline-mode-map "C-c ^ a") 'redline-accept-hunk))
          (should-not (commandp (keymap-lookup redline-inline-mode-map "C-c = a"))))
      (customize-set-variable 'redline-review-prefix before))
    (should (eq (keymap-lookup redline-inline-mode-map "C-c = a") 'redline-accept-hunk))))
