package match

import "strings"

// StageCorrected is the stage of FindCorrected.
const StageCorrected Stage = "what a model corrected"

// Correction is a replacement that Find refused, and what somebody who has seen the text says was meant.
type Correction struct {
	Old, New           string // as they were given to Find
	FixedOld, FixedNew string // as they are said to have been meant
}

// FindCorrected returns the edits for a corrected replacement. The corrected text must stand in the text exactly, line
// ends aside, at exactly expected places, and the correction must be about quoting only:
//
//   - Of old text that does stand in the text, at too many places, only the surroundings may be corrected: they say
//     which place is meant, and the change made there is the one that was asked for.
//   - Otherwise most words of the old text must be in the corrected one, and the words that the change brings must be
//     those that were asked for.
//
// The error is always an *Error.
func FindCorrected(text string, c Correction, expected int) (Result, error) {
	if strings.TrimSpace(c.FixedOld) == "" {
		return Result{}, &Error{Kind: EmptyOld, Expected: expected}
	}
	if line, ok := addedPlaceholder(c.FixedOld, c.FixedNew); ok {
		return Result{}, &Error{Kind: Placeholder, Expected: expected, Line: line}
	}
	old := lf(c.Old)
	stands := old != "" && strings.Contains(lf(text), old)
	if stands && strings.Count(lf(c.FixedOld), old) != 1 || !stands && !sameChange(c) {
		return Result{}, &Error{Kind: NotFound, Expected: expected}
	}
	if stands {
		c.FixedNew = strings.Replace(lf(c.FixedOld), old, lf(c.New), 1)
	}
	if lf(c.FixedOld) == lf(c.FixedNew) {
		return Result{}, &Error{Kind: NoChange, Expected: expected}
	}
	s := &search{text: text, ends: lineEndsOf(text), expected: expected}
	edits := s.exact(c.FixedOld, c.FixedNew, false)
	if edits == nil && s.err == nil {
		edits = s.exactButLineEnds(c.FixedOld, c.FixedNew, false)
	}
	switch {
	case s.err != nil:
		return Result{}, s.err
	case edits == nil:
		return Result{}, &Error{Kind: NotFound, Expected: expected}
	}
	return Result{Edits: edits, Stage: StageCorrected}, nil
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// sameChange reports whether a correction leaves the change itself as it was.
func sameChange(c Correction) bool {
	old, new := wordSet(c.Old), wordSet(c.New)
	fixedOld, fixedNew := wordSet(c.FixedOld), wordSet(c.FixedNew)
	const half, most = 50, 80
	if share(old, fixedOld) < half {
		return false // another place
	}
	return share(without(new, old), fixedNew) >= most && share(without(fixedNew, fixedOld), new) >= most
}

func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words(s) {
		out[w] = true
	}
	return out
}

func without(a, b map[string]bool) map[string]bool {
	out := map[string]bool{}
	for w := range a {
		if !b[w] {
			out[w] = true
		}
	}
	return out
}

// share returns how much of a is in b, by the length of the words, in percent; 100 when a is empty.
func share(a, b map[string]bool) int {
	all, in := 0, 0
	for w := range a {
		all += len(w)
		if b[w] {
			in += len(w)
		}
	}
	if all == 0 {
		return 100
	}
	return in * 100 / all
}
