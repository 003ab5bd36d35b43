package match

import (
	"regexp"
	"strconv"
	"strings"
)

// unwrapped is the model's text taken out of what it was wrapped in.
type unwrapped struct {
	stage      Stage
	old, new   string
	wholeLines bool // only whole lines are evidence enough for this reading
}

// unwrappings returns the readings of old as wrapped text, most likely first.
func unwrappings(old, new string) []unwrapped {
	var out []unwrapped
	add := func(u unwrapped) {
		if u.old == "" || u.old == old {
			return
		}
		for _, v := range out {
			if v.old == u.old && v.new == u.new {
				return
			}
		}
		out = append(out, u)
	}
	o, n, fenced := unfence(old, new)
	if fenced {
		add(unwrapped{stage: StageFence, old: o, new: n})
	}
	for _, gap := range []bool{false, true} {
		if oo, nn, ok := unnumber(o, n, gap); ok {
			add(unwrapped{stage: StageLineNumbers, old: oo, new: nn})
		}
	}
	for _, e := range unescapings(o) {
		if n != "" && e.kept(n) < e.kept(o) {
			continue // which of new's sequences are meant literally cannot be told
		}
		add(unwrapped{stage: StageEscaping, old: e.replace(o), new: e.unescapeNew(o, n)})
	}
	if oo, nn, ok := unquote(old, new); ok {
		add(unwrapped{stage: StageOuterQuotes, old: oo, new: nn, wholeLines: true})
	}
	return out
}

// unfence takes the lines of a Markdown code fence off.
func unfence(old, new string) (o, n string, ok bool) {
	if o, ok = fenceBody(old); !ok {
		return old, new, false
	}
	if n, ok = fenceBody(new); !ok {
		n = new
	}
	return o, n, true
}

func fenceBody(s string) (string, bool) {
	t := strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	first, rest, ok := strings.Cut(t, "\n")
	if !ok || !strings.HasPrefix(first, "```") || strings.ContainsAny(first[3:], "`") {
		return s, false
	}
	if rest == "```" {
		return "", true
	}
	body, ok := strings.CutSuffix(rest, "\n```")
	return body, ok
}

// numbered is a line number as listings have it: "12 | x", "12: x", "12\tx", "L12: x", "12→x".
var numbered = regexp.MustCompile(`^[ \t]*L?([0-9]{1,7})( ?\||:|-|\t|→)`)

// unnumber takes line numbers that count up by one off the front of all lines. With gap set, one space after each
// is part of it.
func unnumber(old, new string, gap bool) (o, n string, ok bool) {
	o, ok = cutNumbers(old, gap, true)
	if !ok {
		return "", "", false
	}
	if n, ok = cutNumbers(new, gap, false); !ok {
		n = new
	}
	return o, n, true
}

func cutNumbers(s string, gap, strict bool) (string, bool) {
	lines := strings.Split(s, "\n")
	next, cut := -1, 0
	for i, l := range lines {
		if i == len(lines)-1 && l == "" {
			break
		}
		m := numbered.FindStringSubmatchIndex(l)
		if m == nil {
			if strict && strings.TrimSpace(l) != "" {
				return "", false
			}
			if next >= 0 {
				next++
			}
			continue
		}
		no, _ := strconv.Atoi(l[m[2]:m[3]])
		if strict && next >= 0 && no != next {
			return "", false
		}
		next = no + 1
		cut++
		rest := l[m[1]:]
		if gap {
			rest = strings.TrimPrefix(rest, " ")
		}
		lines[i] = rest
	}
	// A single number may be part of the text; in new text that has numbers they are in most lines.
	if cut == 0 || strict && cut < 2 && len(lines) > 1 || !strict && cut*2 < len(lines) {
		return "", false
	}
	return strings.Join(lines, "\n"), true
}

// unquote takes quotes around the whole text off.
func unquote(old, new string) (o, n string, ok bool) {
	if o, ok = quotedBody(old, old[0]); !ok {
		return "", "", false
	}
	if n, ok = quotedBody(new, old[0]); !ok {
		return "", "", false
	}
	return o, n, true
}

func quotedBody(s string, q byte) (string, bool) {
	if len(s) < 3 || (q != '"' && q != '\'' && q != '`') || s[0] != q || s[len(s)-1] != q {
		return "", false
	}
	body := s[1 : len(s)-1]
	return body, strings.IndexByte(body, q) < 0
}
