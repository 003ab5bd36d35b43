;;; redline-review.el --- Proposals and the decisions on them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The redline authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The state of what is under review, and the commands that decide: on the hunk at point, on a
;; file, or on all.  How hunks are shown is the matter of redline-inline.el and
;; redline-diff.el, which follow `redline-proposal-functions'.

;;; Code:

(require 'redline-session)
(require 'redline-apply)

(defvar redline-proposal-functions nil
  "Functions called with a server and a proposal that is new or changed.
The proposal is nil when all are gone, with the server.")

;;;; Proposals

(defun redline--undecided-p (hunk)
  "Return non-nil if HUNK waits for a word of the user.
A conflict that came of typing does: it may be healed."
  (pcase (plist-get hunk :state)
    ("pending" t)
    ("conflict" (not (eq t (plist-get hunk :closed))))))

(defun redline--open-p (proposal)
  "Return non-nil if PROPOSAL is under review."
  (member (plist-get proposal :state) '("open" "applying")))

(defun redline--open-proposals (server)
  "Return the proposals of SERVER that are under review, oldest first."
  (and server (reverse (cl-remove-if-not #'redline--open-p (redline--proposals server)))))

(defun redline--proposal (server id)
  "Return the newest state of the proposal of SERVER that is called ID."
  (cl-find id (redline--proposals server)
           :key (lambda (p) (plist-get p :proposalId)) :test #'equal))

(defun redline--file-path (file)
  "Return the path of FILE of a proposal."
  (redline--uri-to-path (plist-get file :uri)))

(cl-defstruct (redline-hunk (:conc-name redline--hunk-))
  "A hunk with what it belongs to."
  proposal file data)

(defun redline--hunk-id (hunk)
  "Return the ID of HUNK."
  (plist-get (redline--hunk-data hunk) :hunkId))

(defun redline--proposal-hunks (proposal &optional all)
  "Return the undecided hunks of PROPOSAL, or ALL."
  (cl-loop for file across (plist-get proposal :files)
           append (cl-loop for data across (plist-get file :hunks)
                           when (or all (redline--undecided-p data))
                           collect (make-redline-hunk :proposal proposal :file file
                                                      :data data))))

(defun redline--hunks (server)
  "Return the undecided hunks of SERVER, in the order of review."
  (mapcan #'redline--proposal-hunks (redline--open-proposals server)))

(defun redline--counted (n what)
  "Return N with the word WHAT, in the plural if need be."
  (format "%d %s%s" n what (if (= n 1) "" "s")))

(defun redline--handle-proposal (server proposal)
  "Take PROPOSAL of SERVER, in its newest state."
  (let ((before (redline--proposal server (plist-get proposal :proposalId))))
    (unless (and before (> (plist-get before :rev) (plist-get proposal :rev)))
      (if before
          (setf (redline--proposals server)
                (cl-substitute proposal before (redline--proposals server)))
        (push proposal (redline--proposals server)))
      (run-hook-with-args 'redline-proposal-functions server proposal)
      (redline--status-changed)
      (when (and (redline--open-p proposal) (not (and before (redline--open-p before))))
        (message "%s"
                 (substitute-command-keys
                  (format "Redline: %s in %s to review (\\[redline-review] shows them, \\[redline-next-hunk] goes to one)"
                          (redline--counted (length (redline--proposal-hunks proposal)) "hunk")
                          (redline--counted (length (plist-get proposal :files)) "file"))))))))

(defun redline--proposal-event (session event)
  "Follow EVENT of SESSION, if it is about a proposal."
  (when (equal (plist-get event :type) "proposal/updated")
    (redline--handle-proposal (redline--session-server session)
                              (plist-get event :proposal))))

(defun redline--proposals-lost (server)
  "Forget what was under review; SERVER is gone."
  (setf (redline--proposals server) nil)
  (run-hook-with-args 'redline-proposal-functions server nil))

;; Before the chat, which shows what is known here.
(add-hook 'redline-event-functions #'redline--proposal-event -50)
(add-hook 'redline-lost-functions #'redline--proposals-lost)

;;;; Decisions

(defun redline--same-p (seen now target)
  "Return non-nil if the hunks of TARGET in SEEN have the same texts in NOW."
  (let ((texts (make-hash-table :test #'equal)))
    (dolist (h (redline--proposal-hunks now t))
      (puthash (redline--hunk-id h) (redline--hunk-data h) texts))
    (cl-every (lambda (h)
                (or (not (or (equal target "all")
                             (equal (plist-get target :hunkId) (redline--hunk-id h))
                             (equal (plist-get target :fileId)
                                    (plist-get (redline--hunk-file h) :fileId))))
                    (when-let* ((new (gethash (redline--hunk-id h) texts)))
                      (and (equal (plist-get new :oldText)
                                  (plist-get (redline--hunk-data h) :oldText))
                           (equal (plist-get new :newText)
                                  (plist-get (redline--hunk-data h) :newText))))))
              (redline--proposal-hunks seen))))

(defconst redline--stale -32801 "The code of an error: things have moved on.")

(defun redline--resolve (server proposal decisions &optional then)
  "Tell SERVER the DECISIONS, a list, on PROPOSAL as the user saw it.
THEN is called with the proposal afterwards.  When it has moved on since, the
decisions still stand if the texts are as they were seen."
  (let ((tries 0) send)
    (setq send
          (lambda (rev)
            (setq tries (1+ tries))
            (redline--request
             server :agent/proposal/resolve
             (list :proposalId (plist-get proposal :proposalId) :rev rev
                   :decisions (vconcat decisions))
             (lambda (now)
               (redline--handle-proposal server now)
               (redline--tell-kept proposal now)
               (when then (funcall then now)))
             (lambda (err)
               (let ((now (and (eql (plist-get err :code) redline--stale)
                               (plist-get (plist-get err :data) :proposal))))
                 (if (and now (< tries 5) (redline--open-p now)
                          (cl-every (lambda (d)
                                      (redline--same-p proposal now (plist-get d :target)))
                                    decisions))
                     (funcall send (plist-get now :rev))
                   (when now (redline--handle-proposal server now))
                   (redline--complain server err)))))))
    (funcall send (plist-get proposal :rev))))

(defun redline--tell-kept (before now)
  "Say which hunks of BEFORE did not land, as NOW has them."
  (let ((was (mapcar (lambda (h) (cons (redline--hunk-id h)
                                       (plist-get (redline--hunk-data h) :state)))
                     (redline--proposal-hunks before t))))
    (dolist (h (redline--proposal-hunks now t))
      (let ((data (redline--hunk-data h)))
        (when (and (equal (plist-get data :state) "conflict")
                   (equal (cdr (assoc (redline--hunk-id h) was)) "pending"))
          (message "Redline: a hunk of %s was not applied: %s"
                   (redline--short (redline--file-path (redline--hunk-file h)))
                   (let ((why (plist-get data :reason)))
                     (if (and why (not (equal why ""))) why
                       "the lines were changed meanwhile; your text was kept"))))))))

(defun redline--decision (target decision &optional reason text)
  "Return a HunkDecision: DECISION on TARGET, with REASON or TEXT."
  (append (list :target target :decision decision)
          (and reason (not (equal reason "")) (list :reason reason))
          (and text (list :newText text))))

;;;; What a command is about

(defvar-local redline--hunk-at-point-function nil
  "Function that returns the hunk at point, in buffers that show hunks.")

(defun redline--hunk-at-point ()
  "Return the hunk at point, or signal that there is none."
  (unless (redline--open-proposals (redline--running))
    (user-error "Redline: there is nothing to review"))
  (or (and redline--hunk-at-point-function (funcall redline--hunk-at-point-function))
      (user-error "%s" (substitute-command-keys
                        "Redline: there is no hunk here; \\[redline-next-hunk] goes to one"))))

(defun redline--hunk-target (hunk)
  "Return what names HUNK in a decision."
  (list :hunkId (redline--hunk-id hunk)))

(defun redline--file-at-point ()
  "Return a cons of a proposal and a file of it that the current buffer is about."
  (or (when-let* ((hunk (and redline--hunk-at-point-function
                             (funcall redline--hunk-at-point-function))))
        (cons (redline--hunk-proposal hunk) (redline--hunk-file hunk)))
      (when-let* ((path (and buffer-file-name (expand-file-name buffer-file-name)))
                  (hunk (cl-find-if (lambda (h)
                                      (equal path (redline--file-path (redline--hunk-file h))))
                                    (redline--hunks (redline--running)))))
        (cons (redline--hunk-proposal hunk) (redline--hunk-file hunk)))
      (user-error "Redline: there is no hunk in this file")))

(defun redline--read-reason (what)
  "Read why WHAT is rejected, for the agent; empty is fine."
  (read-string (format "Reject %s because (may be empty): " what)))

;;;; Commands

(defun redline-accept-hunk ()
  "Accept the hunk at point: put it into the buffer."
  (interactive)
  (let ((hunk (redline--hunk-at-point)))
    (redline--resolve (redline--running) (redline--hunk-proposal hunk)
                      (list (redline--decision (redline--hunk-target hunk) "accept")))))

(defun redline-reject-hunk (&optional reason)
  "Reject the hunk at point.
With a prefix argument you are asked for the REASON, which the agent is told."
  (interactive (list (and current-prefix-arg (redline--read-reason "this hunk"))))
  (let ((hunk (redline--hunk-at-point)))
    (redline--resolve (redline--running) (redline--hunk-proposal hunk)
                      (list (redline--decision (redline--hunk-target hunk)
                                               "reject" reason)))))

(defun redline-reject-hunk-because (reason)
  "Reject the hunk at point for REASON, which the agent is told."
  (interactive (progn (redline--hunk-at-point)
                      (list (redline--read-reason "this hunk"))))
  (redline-reject-hunk reason))

(defun redline--decide-file (decision &optional reason)
  "Make DECISION on all hunks of the file at point, with REASON."
  (pcase-let ((`(,proposal . ,file) (redline--file-at-point)))
    (redline--resolve (redline--running) proposal
                      (list (redline--decision (list :fileId (plist-get file :fileId))
                                               decision reason)))))

(defun redline-accept-file ()
  "Accept all hunks of the file at point."
  (interactive)
  (redline--decide-file "accept"))

(defun redline-reject-file (&optional reason)
  "Reject all hunks of the file at point.
With a prefix argument you are asked for the REASON."
  (interactive (list (and current-prefix-arg (redline--read-reason "this file"))))
  (redline--decide-file "reject" reason))

(defun redline--decide-all (decision &optional reason)
  "Make DECISION on all that is under review, with REASON."
  (let* ((server (redline--running)) (open (redline--open-proposals server)))
    (unless open (user-error "Redline: there is nothing to review"))
    (dolist (proposal open)
      (redline--resolve server proposal (list (redline--decision "all" decision reason))))))

(defun redline-accept-all ()
  "Accept all that is under review; conflicts are not applied."
  (interactive)
  (redline--decide-all "accept"))

(defun redline-reject-all (&optional reason)
  "Reject all that is under review.
With a prefix argument you are asked for the REASON."
  (interactive (list (and current-prefix-arg (redline--read-reason "all"))))
  (redline--decide-all "reject" reason))

;;;; Taking back

(defun redline--standing (proposal)
  "Return the hunks of PROPOSAL that were applied."
  (cl-remove-if-not (lambda (h) (member (plist-get (redline--hunk-data h) :state)
                                        '("accepted" "amended")))
                    (redline--proposal-hunks proposal t)))

(defun redline--revert-choices (server)
  "Return an alist of what of SERVER can be taken back.
The values are lists of a proposal and a target."
  (cl-loop
   for proposal in (redline--proposals server)
   for hunks = (redline--standing proposal)
   for i from 1
   when hunks
   append
   (cons
    (list (format "%d. %s (all, %s)" i (plist-get proposal :title)
                  (redline--counted (length hunks) "hunk"))
          proposal "all")
    (append
     (cl-loop for file across (plist-get proposal :files)
              for mine = (cl-remove file hunks :key #'redline--hunk-file :test-not #'eq)
              when mine
              collect (list (format "%d. %s (file, %s)" i
                                    (redline--short (redline--file-path file))
                                    (redline--counted (length mine) "hunk"))
                            proposal (list :fileId (plist-get file :fileId))))
     (cl-loop for h in hunks
              for data = (redline--hunk-data h)
              collect (list (format "%d. %s:%d %s" i
                                    (redline--short
                                     (redline--file-path (redline--hunk-file h)))
                                    (1+ (plist-get (plist-get (plist-get data :range) :start)
                                                   :line))
                                    (truncate-string-to-width
                                     (string-trim (concat (plist-get data :newText)
                                                          " ← " (plist-get data :oldText)))
                                     60 nil nil "…"))
                            proposal (redline--hunk-target h)))))))

(defun redline-revert (choice)
  "Take back what was applied: a whole proposal, a file or a hunk of it.
CHOICE is a list of the proposal and the target.  What you changed since stays."
  (interactive
   (let* ((choices (or (redline--revert-choices (redline--ensure))
                       (user-error "Redline: nothing was applied that could be taken back")))
          (name (completing-read "Take back: "
                                 (redline--annotated (mapcar (lambda (c) (list (car c)))
                                                             choices))
                                 nil t)))
     (list (cdr (assoc name choices)))))
  (let ((server (redline--ensure)))
    (redline--request
     server :agent/proposal/revert
     (append (list :proposalId (plist-get (car choice) :proposalId))
             (unless (equal (cadr choice) "all") (list :targets (vector (cadr choice)))))
     (lambda (now)
       (redline--handle-proposal server now)
       (let ((left (length (redline--standing now))))
         (message "Redline: taken back%s"
                  (if (zerop left) ""
                    (format "; %s still stand%s" (redline--counted left "hunk")
                            (if (= left 1) "s" "")))))))))

(provide 'redline-review)
;;; redline-review.el ends here
