package search

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
)

// matcher is a compiled pattern. It is immutable; a [lineFinder] made of it does the work for one goroutine.
type matcher struct {
	prog *automaton     // nil for the odd expression that tells too many characters apart
	slow *regexp.Regexp // in its place
	// literals: each matching line contains one of them; nil when nothing useful is known.
	literals *literalFinder
	sure     bool // a line that contains one of the literals matches
	// kelvin: ASCII letters of the literals equal letters outside of ASCII when case does not count, so that texts with
	// those letters have to be searched without the literals.
	kelvin bool
}

// newMatcher compiles a pattern in the syntax of Go's regexp package (RE2). A line is matched on its own: `^` and `$` are
// its ends, and nothing matches across a line end.
func newMatcher(pattern string, fixed, caseSensitive bool) (*matcher, error) {
	if pattern == "" {
		return nil, errors.New("the pattern is empty; give the text or the regular expression to search for")
	}
	if fixed {
		pattern = quote(pattern)
	}
	flags := syntax.Perl
	if !caseSensitive {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(pattern, err)
	}
	if hasNewline(re) {
		return nil, errors.New(`the pattern contains a line end (\n), but lines are matched one by one; search for the part within one line`)
	}
	re = re.Simplify()
	compiled, err := syntax.Compile(re)
	if err != nil {
		return nil, explain(pattern, err)
	}
	m := &matcher{prog: newAutomaton(compiled)}
	if m.prog == nil {
		if !caseSensitive {
			pattern = "(?i)" + pattern
		}
		if m.slow, err = regexp.Compile(pattern); err != nil {
			return nil, explain(pattern, err)
		}
	}
	scanCost := math.Inf(1)
	if m.prog != nil {
		scanCost = newDFA(m.prog).scanCost()
	}
	lits := requiredLiterals(re)
	if f := newLiteralFinder(lits.set, lits.fold, lits.sure, scanCost); f != nil {
		m.literals, m.sure = f, lits.sure
		m.kelvin = lits.fold && lits.hasKOrS()
	}
	return m, nil
}

// quote makes a regular expression of plain text. regexp.QuoteMeta would do, were it not for bytes that are not UTF-8.
func quote(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hasNewline reports whether a line end is required somewhere, in which case no line can match there.
func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if hasNewline(sub) {
			return true
		}
	}
	return false
}

// unsupported lists what other engines know and RE2 does not, with what to do instead.
var unsupported = []struct{ opening, name, instead string }{
	{"(?=", "lookahead", "match the whole text, or search for the two parts one after the other"},
	{"(?!", "negative lookahead", "search without it and pass over the lines that do not apply"},
	{"(?<=", "lookbehind", "put what comes before into the pattern"},
	{"(?<!", "negative lookbehind", "search without it and pass over the lines that do not apply"},
	{"(?>", "an atomic group", "use (?:…)"},
	{"(?|", "a branch reset group", "use (?:…)"},
	{"(?#", "a comment", "leave it out"},
	{"(?(", "a conditional", "write out both alternatives with |"},
	{"(?R)", "recursion", "search for the fixed part"},
	{`\k`, "a backreference", "write the repeated text out, or search for the first part"},
	{`\G`, "", "leave it out"},
	{`\K`, "", "leave it out"},
	{`\Z`, "", "use $"},
	{`\<`, "", `use \b`},
	{`\>`, "", `use \b`},
	{`\h`, "", `use [ \t]`},
	{`\R`, "", "lines are matched one by one; leave it out"},
	{`\X`, "", "use ."},
	{`\u`, "", `use \x{…} with the hexadecimal code, or the character itself`},
	{`\e`, "", `use \x1b`},
	{`\c`, "", `use \x and the hexadecimal code`},
}

// explain turns a syntax error into advice.
func explain(pattern string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("invalid regular expression `%s`: %w", pattern, err)
	}
	what, instead := "", ""
	switch se.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrMissingRepeatArgument, syntax.ErrInvalidNamedCapture:
		longest := 0
		for _, u := range unsupported {
			if len(u.opening) > longest && strings.HasPrefix(se.Expr, u.opening) {
				longest, instead = len(u.opening), u.instead
				if what = u.opening; u.name != "" {
					what += " (" + u.name + ")"
				}
			}
		}
		if longest == 0 && len(se.Expr) == 2 && se.Expr[0] == '\\' && '1' <= se.Expr[1] && se.Expr[1] <= '9' {
			what = se.Expr + " (a backreference)"
			instead = "write the repeated text out, or search for the first part"
		}
	case syntax.ErrInvalidRepeatOp:
		if strings.HasSuffix(se.Expr, "+") {
			what, instead = se.Expr+" (a possessive quantifier)", "leave out the last +"
		}
	}
	if what != "" {
		return fmt.Errorf("invalid regular expression `%s`: %s is not supported by RE2; %s", pattern, what, instead)
	}
	instead = "put a backslash before a character that is meant as itself, or search with fixed_strings"
	switch se.Code {
	case syntax.ErrInvalidRepeatSize:
		instead = "a repetition is at most 1000"
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		instead = "make it simpler or search in several steps"
	case syntax.ErrInvalidUTF8:
		instead = "the pattern has to be UTF-8"
	}
	return fmt.Errorf("invalid regular expression `%s`: %s: %s; %s", pattern, se.Code, se.Expr, instead)
}
