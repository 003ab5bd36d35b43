package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"redline/workspace"
	"redline/workspace/match"
)

// A Corrector puts right what a model quoted from memory. What it answers is
// checked against the text of the file before anything is made of it.
type Corrector interface {
	Correct(ctx context.Context, r Refused) (Corrected, error)
}

// Refused is a replacement that was not made.
type Refused struct {
	Path     string
	Old, New string // as the model gave them
	Expected int    // how often Old must be there
	Purpose  string // what the edit is for, in the model's words; may be empty
	Problem  string // why it was refused, as the model would be told
	// Text is the file's text of this moment, or of a large file the parts around
	// the nearest text. Its line ends are \n.
	Text string
}

// Corrected is what was meant. Without Found, Reason says why it cannot be told.
type Corrected struct {
	Found    bool
	Old, New string
	Reason   string
}

// maxCorrected bounds the text that a Corrector is given, in bytes.
const maxCorrected = 64 << 10

// replaceCorrected is replace with a second try when the text is not found or
// singles out no place: the one that c makes of it.
func replaceCorrected(ctx context.Context, v *workspace.View, path string, p replaceParams, c Corrector) (*Result, error) {
	f, err := readToReplace(v, path)
	if err != nil {
		return nil, err
	}
	want := p.want(f.Text)
	found, err := match.Find(f.Text, p.OldString, p.NewString, want)
	if err == nil {
		return replaced(path, f, found), nil
	}
	refusal := replaceError(path, err)
	part := partToCorrect(f.Text, err)
	if part == "" {
		return nil, refusal
	}
	purpose, _ := p.Instruction.(string)
	fixed, err := c.Correct(ctx, Refused{
		Path: path, Old: p.OldString, New: p.NewString, Expected: want, Purpose: purpose, Problem: refusal.Error(), Text: part,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, refusal // it would have been refused without c too
	}
	// The user may have typed meanwhile: what counts is the text of now.
	if f, err = readToReplace(v, path); err != nil {
		return nil, err
	}
	if found, err = match.Find(f.Text, p.OldString, p.NewString, want); err == nil {
		return replaced(path, f, found), nil
	}
	refusal = replaceError(path, err)
	if !fixed.Found {
		return nil, withReason(refusal, fixed.Reason)
	}
	found, err = match.FindCorrected(f.Text, match.Correction{Old: p.OldString, New: p.NewString, FixedOld: fixed.Old, FixedNew: fixed.New}, want)
	if err != nil {
		return nil, refusal
	}
	return replaced(path, f, found), nil
}

// withReason adds what a Corrector says to a refusal.
func withReason(refusal error, reason string) error {
	const limit = 300
	reason = strings.Join(strings.Fields(reason), " ")
	if reason == "" {
		return refusal
	}
	if len(reason) > limit {
		reason = strings.ToValidUTF8(reason[:limit], "") + "…"
	}
	return fmt.Errorf("%w\n(What a second look at the file says: %s)", refusal, reason)
}

// partToCorrect returns what of a text a Corrector needs to see; empty when the
// refusal is none that it could do anything about.
func partToCorrect(text string, err error) string {
	var e *match.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch {
	case e.Kind == match.NotFound, e.Kind == match.Ambiguous, e.Kind == match.Count && e.Found > e.Expected:
	default:
		return ""
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if len(text) <= maxCorrected {
		return text
	}
	if len(e.Excerpts) == 0 {
		return ""
	}
	var b strings.Builder
	room := maxCorrected / len(e.Excerpts)
	for _, x := range e.Excerpts {
		first, last, part := linesAround(text, x.Line, room)
		fmt.Fprintf(&b, "[lines %d to %d of the file]\n%s\n", first, last, part)
	}
	return b.String()
}

// linesAround returns whole lines around line n (from 1), up to size bytes, and the
// numbers of the first and the last.
func linesAround(text string, n, size int) (first, last int, part string) {
	at := 0
	for range n - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	from, to := max(0, at-size/2), min(len(text), at+size/2)
	if from > 0 {
		if i := strings.IndexByte(text[from:at], '\n'); i >= 0 {
			from += i + 1
		} else {
			from = at
		}
	}
	if to < len(text) {
		if i := strings.LastIndexByte(text[at:to], '\n'); i >= 0 {
			to = at + i
		}
	}
	first = n - strings.Count(text[from:at], "\n")
	return first, first + strings.Count(text[from:to], "\n"), strings.ToValidUTF8(text[from:to], "\ufffd")
}
