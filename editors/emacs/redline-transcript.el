;;; redline-transcript.el --- What was said, as text in the chat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The transcript is a row of blocks above the place where one types: what you asked, the
;; answer, thoughts, tool calls, proposals, questions and notices.  A block with a body can
;; be folded, by a click or RET on its line.  Text goes in at the end of the last block; a
;; block that changes is written anew.  Nobody's point is moved, and undo in the place where
;; one types goes on to work.

;;; Code:

(require 'redline-session)
(require 'redline-review)
(require 'button)
(require 'treesit)

(cl-defstruct (redline-block (:conc-name redline--block-))
  "A part of the transcript."
  kind id
  start end   ; markers
  data        ; what it was made of
  (text "")   ; output or thoughts so far
  folded)

(defvar-local redline--blocks nil
  "The blocks of the current chat, newest first.")

(defvar-local redline--end nil
  "Marker of the end of the transcript, before the place to type.")

;;;; Changing the text

(defun redline--shift-undo (list at delta)
  "Return the undo LIST with all places after AT moved by DELTA."
  (let ((move (lambda (pos)
                (cond ((not (integerp pos)) pos)
                      ((and (>= pos 0) (>= pos at)) (+ pos delta))
                      ((and (< pos 0) (>= (- pos) at)) (- pos delta))
                      (t pos)))))
    (mapcar (lambda (entry)
              (pcase entry
                ((pred integerp) (funcall move entry))
                (`(,(and (pred integerp) beg) . ,(and (pred integerp) end))
                 (cons (funcall move beg) (funcall move end)))
                (`(,(and (pred stringp) text) . ,(and (pred integerp) pos))
                 (cons text (funcall move pos)))
                (_ entry)))
            ;; What is told by other means would be wrong.
            (cl-remove-if (lambda (entry) (and (consp entry) (memq (car entry) '(nil apply))))
                          list))))

(defmacro redline--writing (at &rest body)
  "Run BODY, which modifies the transcript at AT, apart from what the user types."
  (declare (indent 1) (debug t))
  (let ((undo (gensym)) (size (gensym)) (place (gensym)))
    `(let ((,undo buffer-undo-list) (,size (buffer-size)) (,place (marker-position ,at)))
       (let ((inhibit-read-only t) (buffer-undo-list t) (inhibit-modification-hooks t))
         (save-excursion ,@body))
       (unless (or (eq ,undo t) (= ,size (buffer-size)))
         (setq buffer-undo-list
               (redline--shift-undo ,undo ,place (- (buffer-size) ,size)))))))

(defun redline--styled (text &rest properties)
  "Return TEXT, not to be changed, with PROPERTIES."
  (apply #'propertize text 'read-only t 'front-sticky '(read-only) 'rear-nonsticky t
         properties))

(defun redline--add-block (block text)
  "Put BLOCK with TEXT at the end of the transcript."
  (redline--writing redline--end
    (goto-char redline--end)
    (let ((start (point)))
      ;; Calls follow one another without a gap.
      (unless (and (eq (redline--block-kind block) 'tool) redline--blocks
                   (eq (redline--block-kind (car redline--blocks)) 'tool))
        (insert (redline--styled "\n"))
        (setq start (point)))
      (insert (apply #'redline--styled text (redline--block-props block)))
      (setf (redline--block-start block) (copy-marker start)
            ;; It stays behind when the next block comes, and is moved by hand.
            (redline--block-end block) (copy-marker (point)))
      (set-marker redline--end (point))))
  (push block redline--blocks)
  block)

(defun redline--block-props (block)
  "Return the text properties of BLOCK."
  (list 'redline-block block))

(defun redline--append-text (block text)
  "Put TEXT at the end of BLOCK, which is the last."
  (redline--writing redline--end
    (goto-char (redline--block-end block))
    (insert (apply #'redline--styled text (redline--block-props block)))
    (set-marker (redline--block-end block) (point))
    (set-marker redline--end (max (point) redline--end))))

(defun redline--rewrite (block text)
  "Put TEXT in the place of that of BLOCK."
  (let* ((start (redline--block-start block)) (end (redline--block-end block))
         (old (- end start)) (new (length text))
         ;; Who reads in the block goes on to read there.
         (inside (lambda (pos) (and (> pos start) (< pos end) (- pos start))))
         (point (funcall inside (point)))
         (windows (mapcar (lambda (w) (list w (funcall inside (window-point w))
                                            (funcall inside (window-start w))))
                          (get-buffer-window-list nil nil t))))
    (redline--writing start
      (let ((last (= end redline--end)))
        (goto-char start)
        (insert (apply #'redline--styled text (redline--block-props block)))
        (delete-region (point) (+ (point) old))
        (set-marker end (+ start new))
        (when last (set-marker redline--end end))))
    (when point (goto-char (+ start (min point new))))
    (pcase-dolist (`(,window ,at ,top) windows)
      (when at (set-window-point window (+ start (min at new))))
      (when top (set-window-start window (+ start (min top new)) t)))))

(defun redline--find-block (id)
  "Return the block of the current chat that is called ID."
  (cl-find id redline--blocks :key #'redline--block-id :test #'equal))

;;;; Buttons

(define-button-type 'redline-location
  'help-echo "Go there" 'follow-link t 'face 'link
  'action (lambda (button) (redline--visit-place (button-get button 'redline-place))))

(define-button-type 'redline-do
  'help-echo nil 'follow-link t 'face 'link
  'action (lambda (button) (funcall (button-get button 'redline-do))))

(defun redline--visit-place (place)
  "Show PLACE, a cons of a path and a line from 1, in another window."
  (let ((path (car place)))
    (unless (or (file-exists-p path) (redline--visiting path))
      (user-error "Redline: there is no file %s any more" path))
    (pop-to-buffer (redline--visit path) '((display-buffer-reuse-window
                                            display-buffer-use-some-window)
                                           (inhibit-same-window . t)))
    (when (cdr place)
      (widen)
      (goto-char (point-min))
      (forward-line (1- (cdr place))))))

(defun redline--link (label place)
  "Return LABEL as a button that leads to PLACE."
  (with-temp-buffer
    (insert-text-button label 'type 'redline-location 'redline-place place)
    (buffer-string)))

(defun redline--action (label action &optional help)
  "Return LABEL as a button that invokes ACTION, with HELP."
  (with-temp-buffer
    (insert-text-button (concat "[" label "]") 'type 'redline-do 'redline-do action
                        'help-echo help)
    (buffer-string)))

;;;; Answers

(defconst redline--inline-faces
  '(("^#+ .*" 0 redline-heading)
    ("`\\([^`\n]+\\)`" 1 redline-code)
    ("\\*\\*\\([^*\n]+\\)\\*\\*" 1 bold))
  "What in a line of an answer gets a face: regexp, group, face.")

(defun redline--decorate (beg end)
  "Give the Markdown from BEG to END faces, and names of files buttons."
  (let ((case-fold-search nil))
    (pcase-dolist (`(,regexp ,group ,face) redline--inline-faces)
      (goto-char beg)
      (while (re-search-forward regexp end t)
        (put-text-property (match-beginning group) (match-end group) 'font-lock-face face)))
    (goto-char beg)
    (while (re-search-forward
            "`?\\(\\(?:[[:alnum:]_.~+-]*/\\)*[[:alnum:]_+-]+\\.[[:alnum:]]+\\)\\(?::\\([0-9]+\\)\\)?`?"
            end t)
      (let ((path (expand-file-name (match-string 1)))
            (line (and (match-beginning 2) (string-to-number (match-string 2)))))
        (when (and (redline--below-p path default-directory) (file-regular-p path))
          (make-text-button (match-beginning 1) (or (match-end 2) (match-end 1))
                            'type 'redline-location 'redline-place (cons path line)))))
    (goto-char beg)
    (while (re-search-forward "^```\\([[:alnum:]+-]*\\).*\n" end t)
      (let ((code (point)) (language (match-string 1)))
        (put-text-property (match-beginning 0) (point) 'font-lock-face 'redline-quiet)
        (when (re-search-forward "^```[ \t]*$" end 'move)
          (put-text-property (match-beginning 0) (match-end 0) 'font-lock-face 'redline-quiet)
          (goto-char (match-beginning 0)))
        (redline--highlight code (point) language)
        (forward-line)))))

(defun redline--language-mode (language)
  "Return the major mode of LANGUAGE, if there is one that works here."
  (let ((plain (intern (concat language "-mode"))) (ts (intern (concat language "-ts-mode"))))
    (cond ((and (fboundp ts) (treesit-available-p)
                (treesit-language-available-p (intern language)))
           ts)
          ((fboundp plain) plain))))

(defun redline--highlight (beg end language)
  "Give the code from BEG to END the faces of LANGUAGE's mode, if there is one."
  (let ((mode (redline--language-mode (downcase language)))
        (text (buffer-substring-no-properties beg end)))
    (put-text-property beg end 'font-lock-face 'redline-code)
    (when (and mode (not (string-empty-p language)) (< (length text) 20000))
      (ignore-errors
        (let ((faces (with-temp-buffer
                       (insert text)
                       (delay-mode-hooks (funcall mode))
                       (font-lock-ensure)
                       (let ((at (point-min)) out)
                         (while (< at (point-max))
                           (let ((next (next-single-property-change at 'face nil (point-max))))
                             (when-let* ((face (get-text-property at 'face)))
                               (push (list (1- at) (1- next) face) out))
                             (setq at next)))
                         out))))
          (pcase-dolist (`(,from ,to ,face) faces)
            (put-text-property (+ beg from) (+ beg to) 'font-lock-face face)))))))

(defun redline--finish-answer ()
  "Decorate the last block, if it is an answer that is complete now."
  (when-let* ((block (car redline--blocks))
              ((eq (redline--block-kind block) 'answer))
              ((not (redline--block-data block))))
    (setf (redline--block-data block) 'complete)
    (unless (eq (char-before (redline--block-end block)) ?\n)
      (redline--append-text block "\n"))
    (redline--writing redline--end
      (redline--decorate (marker-position (redline--block-start block))
                         (marker-position (redline--block-end block))))))

;;;; Folding

(defun redline--headline (block text)
  "Return TEXT as the line of BLOCK by which its body is folded and unfolded."
  (with-temp-buffer
    (insert-text-button text 'type 'redline-do 'face nil 'redline-do
                        (lambda () (redline--toggle block))
                        'help-echo "Fold or unfold")
    (buffer-string)))

(defun redline--toggle (block)
  "Fold or unfold BLOCK."
  (setf (redline--block-folded block) (not (redline--block-folded block)))
  (redline--write block))

(defun redline--quoted (text &optional face)
  "Return TEXT with its lines set off, in FACE."
  (propertize (concat "  │ " (string-replace "\n" "\n  │ " (string-trim-right text)))
              'font-lock-face (or face 'redline-quiet) 'wrap-prefix "  │ "))

(defun redline--write (block)
  "Write BLOCK, or write it anew, as what it is made of has to say."
  (let ((text (pcase (redline--block-kind block)
                ('thought (redline--thought-text block))
                ('tool (redline--tool-text block))
                ('proposal (redline--proposal-text block))
                ('question (redline--question-text block))
                ('plan (redline--plan-text block)))))
    (if (redline--block-start block)
        (redline--rewrite block text)
      (redline--finish-answer)
      (redline--add-block block text))))

;;;; Kinds of blocks

(defun redline--thought-text (block)
  "Return the text of BLOCK, which is with thoughts."
  (concat
   (redline--headline
    block (propertize (concat (if (redline--block-folded block) "▸ " "▾ ") "Thought: "
                              (or (redline--block-data block) ""))
                      'font-lock-face 'redline-quiet))
   "\n"
   (if (redline--block-folded block) ""
     (concat (redline--quoted (redline--block-text block)) "\n"))))

(defconst redline--marks
  '(("pending" . "…") ("confirming" . "?") ("running" . "…") ("completed" . "✓")
    ("failed" . "✗") ("rejected" . "✗") ("cancelled" . "–"))
  "Signs of the states of a tool call.")

(defconst redline--verbs
  '(("read_file" . "read ") ("read_many_files" . "read ") ("list_directory" . "list ")
    ("glob" . "find ") ("grep_search" . "search ") ("run_shell_command" . "$ ")
    ("web_fetch" . "fetch ") ("google_web_search" . "search the web: "))
  "What is said before the title of a call, where that does not say what is done.")

(defun redline--tool-text (block)
  "Return the text of BLOCK, which is a tool call."
  (let* ((event (redline--block-data block))
         (status (plist-get event :status))
         (running (member status '("pending" "running" "confirming")))
         (output (redline--block-text block))
         (folded (and (not running) (redline--block-folded block)))
         (title (car (split-string (or (plist-get event :title) (plist-get event :name)) "\n")))
         (empty (string-blank-p output)))
    (concat
     (redline--headline
      block (concat
             (propertize (or (cdr (assoc status redline--marks)) "·")
                         'font-lock-face (if (member status '("failed" "rejected"))
                                             'redline-conflict 'redline-tool))
             " "
             (propertize (or (cdr (assoc (plist-get event :name) redline--verbs)) "")
                         'font-lock-face 'redline-tool)
             title
             (cond (empty "") (folded " ▸") (t " ▾"))))
     (mapconcat (lambda (l) (concat "  " (redline--place-link l title)))
                (seq-take (plist-get event :locations) 3))
     "\n"
     (if (or empty folded) ""
       (let* ((lines (split-string (string-trim-right output) "\n"))
              (max (if running redline-output-lines 200))
              (more (- (length lines) max)))
         (concat (if (> more 0)
                     (redline--quoted (format "… %s before" (redline--counted more "line")))
                   "")
                 (if (> more 0) "\n" "")
                 (redline--quoted (string-join (last lines max) "\n")) "\n"))))))

(defun redline--place-link (location title)
  "Return a button to LOCATION, short where TITLE names the file already."
  (let* ((path (redline--uri-to-path (plist-get location :uri)))
         (line (plist-get location :line))
         (name (redline--short path)))
    (redline--link (concat (if (string-search name title) "↗" name)
                           (and line (> line 0) (format ":%d" (1+ line))))
                   (cons path (and line (1+ line))))))

(defun redline--states (file)
  "Return the states of the hunks of FILE in words."
  (let (count)
    (seq-doseq (h (plist-get file :hunks))
      (cl-incf (alist-get (plist-get h :state) count 0 nil #'equal)))
    (mapconcat (lambda (c) (format "%d %s" (cdr c) (car c))) (nreverse count) ", ")))

(defun redline--proposal-text (block)
  "Return the text of BLOCK, which is a proposal."
  (let* ((proposal (redline--block-data block))
         (open (redline--open-p proposal))
         (server (redline--session-server redline--session)))
    (concat
     (propertize (format "◆ %s" (plist-get proposal :title)) 'font-lock-face 'redline-heading)
     "\n"
     (mapconcat
      (lambda (file)
        (concat "  "
                (pcase (plist-get file :op)
                  ("create" "new ") ("delete" "delete ") ("rename" "rename ") (_ ""))
                (redline--action-link (redline--short (redline--file-path file))
                                      (lambda () (redline--show-file server proposal file)))
                (propertize (format "  %s\n" (redline--states file))
                            'font-lock-face 'redline-quiet)))
      (plist-get proposal :files))
     (if open
         (concat "  "
                 (redline--action "Review" #'redline-review "Show the diff") " "
                 (redline--action "Accept all" (lambda () (redline--decide-one proposal "accept")))
                 " "
                 (redline--action "Reject all" (lambda () (redline--decide-one proposal "reject")))
                 "\n")
       ""))))

(defun redline--action-link (label action)
  "Return LABEL as a link that invokes ACTION."
  (with-temp-buffer
    (insert-text-button label 'type 'redline-do 'redline-do action)
    (buffer-string)))

(defun redline--decide-one (proposal decision)
  "Make DECISION on all of PROPOSAL."
  (redline--resolve (redline--session-server redline--session) proposal
                    (list (redline--decision "all" decision))))

(defun redline--show-file (server proposal file)
  "Go to the first open hunk of FILE of PROPOSAL of SERVER, or to the file."
  (let ((now (redline--proposal server (plist-get proposal :proposalId))))
    (if-let* ((hunk (cl-find (plist-get file :fileId)
                             (and now (redline--open-p now) (redline--proposal-hunks now))
                             :key (lambda (h) (plist-get (redline--hunk-file h) :fileId))
                             :test #'equal)))
        (redline--go-to-hunk hunk)
      (redline--visit-place
       (cons (redline--uri-to-path (or (plist-get file :newUri) (plist-get file :uri)))
             nil)))))

(defvar redline-question-text-function #'ignore
  "Function that returns the text of a question, the data of a block.")

(defun redline--question-text (block)
  "Return the text of BLOCK, which is a question to the user."
  (funcall redline-question-text-function (redline--block-data block)))

(defun redline--plan-text (block)
  "Return the text of BLOCK, which is a plan."
  (mapconcat (lambda (e)
               (format "  [%s] %s\n" (if (equal (plist-get e :status) "completed") "x" " ")
                       (or (plist-get e :content) (plist-get e :text))))
             (redline--block-data block)))

;;;; Events

(defun redline--say (kind event)
  "Append the text of EVENT to the last block, if it is of KIND and not over."
  (let* ((id (cons kind (plist-get event :messageId)))
         (block (car redline--blocks))
         (text (plist-get event :text)))
    (unless (and block (equal (redline--block-id block) id))
      (redline--finish-answer)
      (setq block (make-redline-block :kind kind :id id :folded (eq kind 'thought))))
    (if (eq kind 'answer)
        (if (redline--block-start block)
            (redline--append-text block text)
          (redline--add-block block (string-trim-left text)))
      (let ((before (list (redline--block-data block))))
        (setf (redline--block-text block) (concat (redline--block-text block) text))
        (when-let* ((subject (plist-get event :subject)))
          (setf (redline--block-data block) subject))
        ;; A folded body that grows need not be written.
        (unless (and (redline--block-start block) (redline--block-folded block)
                     (equal before (list (redline--block-data block))))
          (redline--write block))))))

(defun redline--show-notice (level text &optional action)
  "Show TEXT as a notice of LEVEL, with the button ACTION."
  (redline--finish-answer)
  (redline--add-block
   (make-redline-block :kind 'notice)
   (concat (propertize (format "%s %s" (if (equal level "info") "·" "!") text)
                       'font-lock-face (pcase level
                                         ("error" 'error) ("warning" 'warning)
                                         (_ 'redline-quiet)))
           (and action (concat " " action))
           "\n")))

(declare-function redline-login "redline-account")
(declare-function redline-review "redline-diff")
(declare-function redline--go-to-hunk "redline-inline")

(defun redline--show-end (event)
  "Show what EVENT has to say of the end of a turn."
  (redline--finish-answer)
  (let* ((err (plist-get event :error)) (why (plist-get err :message)))
    (pcase (plist-get event :status)
      ("failed"
       (redline--show-notice
        "error" (or why "the turn failed")
        (when (equal (plist-get err :kind) "auth")
          (redline--action "Sign in" (lambda () (call-interactively #'redline-login))))))
      ("limit" (redline--show-notice
                "warning" (or why "the limit of steps was reached; ask again to go on")))
      ("cancelled" (redline--show-notice "info" "stopped")))))

(defun redline--show-tool (event)
  "Show what EVENT has to say of a tool call."
  (let ((block (or (redline--find-block (plist-get event :callId))
                   (make-redline-block :kind 'tool :id (plist-get event :callId) :folded t)))
        (output (cond ((not (member (plist-get event :display) '(nil "")))
                       (plist-get event :display))
                      ((or (equal (plist-get event :status) "failed")
                           (equal (plist-get event :kind) "execute"))
                       (plist-get event :output)))))
    (setf (redline--block-data block) event)
    (unless (member output '(nil ""))
      (setf (redline--block-text block) output))
    (redline--write block)))

(defun redline--show-output (event)
  "Show the live output in EVENT."
  (when-let* ((block (redline--find-block (plist-get event :callId))))
    (let ((text (concat (redline--block-text block) (plist-get event :text))))
      (setf (redline--block-text block)
            (if (> (length text) 65536) (substring text -49152) text)))
    (redline--write block)))

(defun redline--show-block (kind id data)
  "Show DATA in the block of KIND that is called ID, a new one if there is none."
  (let ((block (or (redline--find-block id) (make-redline-block :kind kind :id id))))
    (setf (redline--block-data block) data)
    (redline--write block)))

(defun redline--show-event (event)
  "Show EVENT in the current chat."
  (pcase (plist-get event :type)
    ("message/user"
     (redline--finish-answer)
     (redline--add-block
      (make-redline-block :kind 'user)
      (concat (propertize "You" 'font-lock-face 'redline-user) "\n"
              (string-trim (plist-get event :text)) "\n")))
    ("message/delta" (redline--say 'answer event))
    ("thought/delta" (redline--say 'thought event))
    ("tool/updated" (redline--show-tool event))
    ("tool/output" (redline--show-output event))
    ("proposal/updated"
     (let ((p (plist-get event :proposal)))
       (redline--show-block 'proposal (plist-get p :proposalId) p)))
    ("plan/updated" (redline--show-block 'plan 'plan (plist-get event :entries)))
    ("turn/ended" (redline--show-end event))
    ("retry"
     (redline--show-notice
      "warning" (format "%s; trying again in %.1f s (attempt %d)" (plist-get event :reason)
                        (/ (plist-get event :delayMs) 1000.0) (plist-get event :attempt))))
    ("model/changed"
     (redline--show-notice "info" (format "the model is %s now: %s" (plist-get event :model)
                                          (plist-get event :reason))))
    ("loop/detected" (redline--show-notice "warning" "the model repeats itself"))
    ("history/compressed"
     (redline--show-notice "info" (format "the conversation was shortened from %d to %d tokens"
                                          (plist-get event :tokensBefore)
                                          (plist-get event :tokensAfter))))
    ("notice" (redline--show-notice (plist-get event :level) (plist-get event :text)))))

(provide 'redline-transcript)
;;; redline-transcript.el ends here
