package openai

import "strings"

// thinker splits off the thoughts that some models write into their answer, between
// <think> and </think> at its very beginning, where the server has no parser for them.
type thinker struct {
	state int
	held  string // text that may be the beginning of a tag
}

const (
	thinkUndecided = iota // nothing but white space so far
	thinkInside
	thinkOver
)

// add returns what of the text is certain by now: a thought and a piece of the answer.
func (t *thinker) add(s string) (thought, text string) {
	if t.state == thinkOver {
		return "", s
	}
	s = t.held + s
	t.held = ""
	if t.state == thinkUndecided {
		lead := strings.TrimLeft(s, " \t\r\n")
		rest, found := strings.CutPrefix(lead, "<think>")
		switch {
		case found:
			t.state, s = thinkInside, rest
		case strings.HasPrefix("<think>", lead): // also when it is empty
			t.held = s
			return "", ""
		default:
			t.state = thinkOver
			return "", s
		}
	}
	before, after, found := strings.Cut(s, "</think>")
	if found {
		t.state = thinkOver
		return before, strings.TrimLeft(after, "\r\n")
	}
	// The end may be the beginning of the closing tag.
	for n := min(len(s), len("</think>")-1); n > 0; n-- {
		if strings.HasSuffix(s, "</think>"[:n]) {
			t.held = s[len(s)-n:]
			return s[:len(s)-n], ""
		}
	}
	return s, ""
}

// end returns what was held back.
func (t *thinker) end() (thought, text string) {
	s := t.held
	t.held = ""
	if t.state == thinkInside {
		return s, ""
	}
	return "", s
}
