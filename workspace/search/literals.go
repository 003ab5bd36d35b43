package search

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// required is a set of literals of which each matching line contains at least one.
type required struct {
	set  []string // empty when none is known; in lower case (ASCII) if fold
	fold bool     // ASCII letters are to be compared without case
	sure bool     // containing one suffices
}

func (r required) hasKOrS() bool {
	return slices.ContainsFunc(r.set, func(s string) bool { return strings.ContainsAny(s, "ks") })
}

// Bounds on what is enumerated. More alternatives than that are found faster by the automaton.
const (
	maxLiterals   = 64
	maxCross      = 16
	maxLiteralLen = 64
	maxClassRunes = 6
)

// requiredLiterals takes a simplified expression apart.
func requiredLiterals(re *syntax.Regexp) required {
	x := extractor{pure: true}
	x.findFold(re)
	l := x.walk(re)
	set, sure := l.need, false
	if usable(l.exact) && (set == nil || cost(l.exact) <= cost(set)) {
		set, sure = l.exact, x.pure
	}
	slices.Sort(set)
	return required{slices.Compact(set), x.fold, sure}
}

type extractor struct {
	fold bool // some literal is to be compared without case, so all are
	pure bool // there are no assertions, and no literal means less than its case-folded form
}

// langs is what is known about the texts an expression matches.
type langs struct {
	exact []string // all of them, when they are few; else nil
	need  []string // otherwise: each contains one of these; nil if unknown
}

func (x *extractor) findFold(re *syntax.Regexp) {
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 {
		x.fold = true
	}
	for _, sub := range re.Sub {
		x.findFold(sub)
	}
}

func (x *extractor) walk(re *syntax.Regexp) langs {
	switch re.Op {
	case syntax.OpLiteral:
		return x.literal(re)
	case syntax.OpCharClass:
		return x.class(re)
	case syntax.OpEmptyMatch:
		return langs{exact: []string{""}}
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndLine, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		x.pure = false
		return langs{exact: []string{""}}
	case syntax.OpCapture:
		return x.walk(re.Sub[0])
	case syntax.OpQuest:
		if l := x.walk(re.Sub[0]); l.exact != nil && len(l.exact) < maxCross {
			return langs{exact: append(slices.Clip(l.exact), "")}
		}
	case syntax.OpPlus:
		return langs{need: x.walk(re.Sub[0]).best()}
	case syntax.OpConcat:
		return x.concat(re)
	case syntax.OpAlternate:
		return x.alternate(re)
	}
	return langs{}
}

// best gives a set of which each matching text contains one.
func (l langs) best() []string {
	if usable(l.exact) {
		return l.exact
	}
	return l.need
}

func usable(set []string) bool {
	return len(set) > 0 && len(set) <= maxLiterals && !slices.Contains(set, "")
}

func (x *extractor) literal(re *syntax.Regexp) langs {
	folding := re.Flags&syntax.FoldCase != 0
	var pieces []string
	var b strings.Builder
	whole := true
	for _, r := range re.Rune {
		if r == utf8.RuneError || r == '\r' || b.Len() >= maxLiteralLen ||
			folding && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r {
			// An invalid byte matches U+FFFD; \r may be part of a line end; other letters with two cases have several
			// encodings.
			whole = false
			pieces = append(pieces, b.String())
			b.Reset()
			continue
		}
		if x.fold && 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		if x.fold && !folding && 'a' <= r && r <= 'z' {
			x.pure = false
		}
		b.WriteRune(r)
	}
	if whole {
		return langs{exact: []string{b.String()}}
	}
	x.pure = false
	var l langs
	for _, p := range append(pieces, b.String()) {
		if p != "" && (l.need == nil || cost([]string{p}) < cost(l.need)) {
			l.need = []string{p}
		}
	}
	return l
}

func (x *extractor) class(re *syntax.Regexp) langs {
	var set []string
	n := 0
	for i := 0; i < len(re.Rune); i += 2 {
		if n += int(re.Rune[i+1]-re.Rune[i]) + 1; n > 2*maxClassRunes {
			return langs{}
		}
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if r == utf8.RuneError || r == '\r' || r == '\n' {
				return langs{}
			}
			s := string(r)
			if x.fold && r < utf8.RuneSelf {
				s = strings.ToLower(s)
				other := unicode.SimpleFold(r)
				if other != r && !inClass(re, other) {
					x.pure = false
				}
			}
			set = append(set, s)
		}
	}
	slices.Sort(set)
	set = slices.Compact(set)
	if len(set) == 0 || len(set) > maxClassRunes {
		return langs{}
	}
	return langs{exact: set}
}

func inClass(re *syntax.Regexp, r rune) bool {
	for i := 0; i < len(re.Rune); i += 2 {
		if re.Rune[i] <= r && r <= re.Rune[i+1] {
			return true
		}
	}
	return false
}

func (x *extractor) concat(re *syntax.Regexp) langs {
	run := []string{""} // the texts of the run of exactly known parts we are in
	whole := true
	var need []string
	offer := func(set []string) {
		if usable(set) && (need == nil || cost(set) < cost(need)) {
			need = set
		}
	}
	for _, sub := range re.Sub {
		l := x.walk(sub)
		switch {
		case l.exact == nil:
			offer(run)
			offer(l.need)
			run, whole = []string{""}, false
		case len(run)*len(l.exact) > maxCross && len(run) > 1 || len(run[0]) > maxLiteralLen:
			offer(run)
			run, whole = l.exact, false
		default:
			crossed := make([]string, 0, len(run)*len(l.exact))
			for _, a := range run {
				for _, b := range l.exact {
					crossed = append(crossed, a+b)
				}
			}
			run = crossed
		}
	}
	if whole {
		return langs{exact: run}
	}
	offer(run)
	return langs{need: need}
}

func (x *extractor) alternate(re *syntax.Regexp) langs {
	var exact, need []string
	isExact, isNeed := true, true
	for _, sub := range re.Sub {
		l := x.walk(sub)
		if l.exact == nil {
			isExact = false
		}
		exact = append(exact, l.exact...)
		best := l.best()
		if best == nil {
			isNeed = false
		}
		need = append(need, best...)
	}
	if isExact && len(exact) <= maxLiterals {
		return langs{exact: exact}
	}
	if isNeed && len(need) <= maxLiterals {
		return langs{need: need}
	}
	return langs{}
}

// cost estimates how often one of the literals occurs, by the frequency of their bytes in source code.
func cost(set []string) float64 {
	sum := 0.0
	for _, s := range set {
		p := 1.0
		for i := 0; i < len(s) && i < 12; i++ {
			p *= math.Min(1, 4*byteFrequency(s[i]))
		}
		sum += p
	}
	return sum
}
