// Package match finds the text a model means when it asks to replace one string of a file by another.
//
// A model quotes from memory, so its text may differ from the file in layout: line ends, indentation, blank lines,
// trailing blanks, one level of escaping, quote characters, the Unicode form, the wording of a comment. Find forgives
// that, in fixed stages from strict to loose, and refuses everything else. Its rules:
//
//   - An exact match always wins, and the first stage that finds anything decides. A wrong number of places is an
//     error, never a reason to try a looser stage.
//   - Identifiers and numbers are never forgiven, and text is never joined or split where that would make another token.
//   - Of several alike places none is chosen, unless whitespace alone tells which one was meant.
//   - Past the exact stage only whole lines are matched (escaping, quotes and Unicode forms excepted, which end at
//     word boundaries): half a line that looks alike is how a wrong place gets edited.
//   - What the model did not change keeps the file's own bytes; what it did change takes the file's indentation and
//     line ends, unless it came with the file's indentation already.
//
// The package is pure: it reads no files and knows no languages beyond the usual comment signs. Offsets are bytes.
package match

import (
	"strings"
)

// Edit replaces text[Start:End] (byte offsets) by New.
type Edit struct {
	Start, End int
	New        string
}

// Stage names what had to be forgiven for a match; it reads well after "matched ignoring".
type Stage string

// The stages, from strict to loose. The ones after StageQuotes say what the model had wrapped its text in or which
// words it had wrong; their text was then matched by one of the stages before.
const (
	StageExact       Stage = "nothing"
	StageLineEnds    Stage = "line ends"
	StageTrailing    Stage = "trailing whitespace and blank lines"
	StageWhitespace  Stage = "whitespace"
	StageQuotes      Stage = "quotes and Unicode forms"
	StageEscaping    Stage = "escaping"
	StageFence       Stage = "code fences"
	StageLineNumbers Stage = "line numbers"
	StageOuterQuotes Stage = "surrounding quotes"
	StageComments    Stage = "comment wording and punctuation"
)

// Result is where the old text stands and what to write there.
type Result struct {
	// Edits holds one edit a place, in order, not overlapping.
	Edits []Edit
	// Stage is what had to be forgiven.
	Stage Stage
}

// maxForgiving bounds the files (bytes) that stages past the line ends look at: those index every line.
const maxForgiving = 64 << 20

// Find returns the edits that replace old by new in text at exactly expected places. Text is decoded UTF-8 with the
// line ends of the file. Old must not be empty. The error is always an *Error.
func Find(text, old, new string, expected int) (Result, error) {
	if expected < 1 {
		return Result{}, &Error{Kind: BadCount, Expected: expected}
	}
	if old == "" {
		return Result{}, &Error{Kind: EmptyOld, Expected: expected}
	}
	if old == new {
		return Result{}, &Error{Kind: NoChange, Expected: expected}
	}
	if line, ok := addedPlaceholder(old, new); ok {
		return Result{}, &Error{Kind: Placeholder, Expected: expected, Line: line}
	}
	s := &search{text: text, ends: lineEndsOf(text), expected: expected}
	edits, stage := s.run(old, new)
	if s.err != nil {
		return Result{}, s.err
	}
	if edits == nil {
		return Result{}, &Error{Kind: NotFound, Expected: expected, Excerpts: s.nearest(old)}
	}
	same := true
	for _, e := range edits {
		if text[e.Start:e.End] != e.New {
			same = false
			break
		}
	}
	if same {
		return Result{}, &Error{Kind: NoChange, Expected: expected, Found: len(edits)}
	}
	return Result{Edits: edits, Stage: stage}, nil
}

// Apply returns text with the edits of a Result applied.
func Apply(text string, edits []Edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.Start])
		b.WriteString(e.New)
		at = e.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// search is the state of one Find.
type search struct {
	text     string
	ends     lineEnds
	expected int
	err      *Error // set by the stage that found a wrong number of places
	ascii    int8   // of plainText: 1 yes, 2 no, 0 not known yet
	ix       *index // built by the first stage that needs it
}

func (s *search) run(old, new string) ([]Edit, Stage) {
	if edits := s.exact(old, new, false); edits != nil || s.err != nil {
		return edits, StageExact
	}
	if edits := s.exactButLineEnds(old, new, false); edits != nil || s.err != nil {
		return edits, StageLineEnds
	}
	if len(s.text) > maxForgiving || !hasWord(old) {
		return nil, ""
	}
	if edits, stage := s.layout(old, new); edits != nil || s.err != nil {
		return edits, stage
	}
	wrapped := unwrappings(old, new)
	for _, v := range wrapped {
		if edits := s.variant(v); edits != nil || s.err != nil {
			return edits, v.stage
		}
	}
	if edits := s.nearLines(old, new); edits != nil || s.err != nil {
		return edits, StageComments
	}
	for _, v := range wrapped {
		if v.stage != StageFence && v.stage != StageLineNumbers {
			continue
		}
		if edits := s.nearLines(v.old, v.new); edits != nil || s.err != nil {
			return edits, v.stage
		}
	}
	return nil, ""
}

// layout runs the stages that forgive whitespace, quotes and Unicode forms.
func (s *search) layout(old, new string) ([]Edit, Stage) {
	if edits, stage := s.wholeLines(old, new); edits != nil || s.err != nil {
		return edits, stage
	}
	return s.foldedPart(old, new), StageQuotes
}

// variant runs all stages for text that was taken out of its wrapping.
func (s *search) variant(v unwrapped) []Edit {
	if !v.wholeLines {
		if edits := s.exact(v.old, v.new, true); edits != nil || s.err != nil {
			return edits
		}
		if edits := s.exactButLineEnds(v.old, v.new, true); edits != nil || s.err != nil {
			return edits
		}
	}
	if !hasWord(v.old) {
		return nil
	}
	edits, _ := s.wholeLines(v.old, v.new)
	if edits != nil || s.err != nil || v.wholeLines {
		return edits
	}
	return s.foldedPart(v.old, v.new)
}

// plainText reports whether the text is all ASCII.
func (s *search) plainText() bool {
	if s.ascii == 0 {
		s.ascii = 1
		if !isASCII(s.text) {
			s.ascii = 2
		}
	}
	return s.ascii == 1
}

// index returns the line index of the text.
func (s *search) index() *index {
	if s.ix == nil {
		s.ix = newIndex(s.text)
	}
	return s.ix
}
