package search

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var patternsFlag = flag.Int("patterns", 6000, "random patterns to compare with package regexp")
var seedFlag = flag.Int64("seed", -1, "compare with package regexp on the pattern of this seed only")

// linesOf gives the numbers of the lines that match according to package regexp, each line being taken on its own.
func linesOf(re *regexp.Regexp, text []byte) []int {
	var numbers []int
	for n := 1; len(text) > 0; n++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if re.Match(bytes.TrimSuffix(line, []byte{'\r'})) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// linesByEngine is the same by our own engine.
func linesByEngine(f *lineFinder, text []byte) []int {
	f.reset(text)
	var numbers []int
	for from := 0; from < len(text); {
		start, end, near, ok := f.next(text, from)
		if !ok {
			break
		}
		if start < from || end < start || near < start || near > end {
			panic(fmt.Sprintf("line [%d,%d] near %d from %d", start, end, near, from))
		}
		numbers = append(numbers, bytes.Count(text[:start], []byte{'\n'})+1)
		from = indexFrom(text, '\n', end) + 1
	}
	return numbers
}

// checkEngine compares the engine, with and without its literals, with package regexp. It reports whether the pattern was
// valid.
func checkEngine(t *testing.T, pattern string, fixed, caseSensitive bool, texts ...string) bool {
	t.Helper()
	m, err := newMatcher(pattern, fixed, caseSensitive)
	judge := pattern
	if fixed {
		judge = regexp.QuoteMeta(pattern)
	}
	if !caseSensitive {
		judge = "(?i:" + judge + ")"
	}
	re, judgeErr := regexp.Compile(judge)
	if err != nil {
		if judgeErr == nil && pattern != "" && !strings.Contains(err.Error(), `line end (\n)`) {
			t.Errorf("%q is refused: %v", pattern, err)
		}
		return false
	}
	if judgeErr != nil {
		return false // such as a closing parenthesis that closes the one we put around it
	}
	f := newLineFinder(m)
	without := *m
	without.literals = nil
	plain := newLineFinder(&without)
	for _, text := range texts {
		want := linesOf(re, []byte(text))
		if got := linesByEngine(f, []byte(text)); !slices.Equal(got, want) {
			t.Errorf("pattern %q (fixed %t, case %t) in %q: lines %v, want %v", pattern, fixed, caseSensitive, text, got, want)
		}
		if got := linesByEngine(plain, []byte(text)); !slices.Equal(got, want) {
			t.Errorf("pattern %q (fixed %t, case %t) in %q without literals: lines %v, want %v", pattern, fixed, caseSensitive, text, got, want)
		}
	}
	return true
}

// TestEngineAgainstRegexp compares random patterns on random texts.
func TestEngineAgainstRegexp(t *testing.T) {
	n, first := *patternsFlag, int64(0)
	if testing.Short() {
		n = min(n, 2000)
	}
	if *seedFlag >= 0 {
		first, n = *seedFlag, 1
	}
	valid := 0
	for seed := first; seed < first+int64(n); seed++ {
		g := patternMaker{rand.New(rand.NewSource(seed))}
		pattern := g.pattern(3)
		if checkEngine(t, pattern, g.Intn(10) == 0, g.Intn(2) == 0, g.text(), g.text(), "") {
			valid++
		}
		if t.Failed() {
			t.Fatalf("replay with: go test ./workspace/search -run %s -seed %d", t.Name(), seed)
		}
	}
	if n > 100 && valid < n/2 {
		t.Errorf("only %d of %d patterns are valid", valid, n)
	}
}

type patternMaker struct{ *rand.Rand }

var (
	patternAtoms = []string{
		"a", "b", "ab", "Kk", "ss", "foo", "bar", "Foo", "x", "1", "_", " ", "é", "É", "한", "\u212a", "\u017f", "\ufffd",
		".", `\w`, `\d`, `\s`, `\S`, `\W`, `[ab]`, `[^a]`, `[a-c]`, `[가-힣]`, `[^\w]`, `[ks]`, `\p{Lu}`, `\pL`, `[é-ü]`, `[[:punct:]]`,
		`\b`, `\B`, "^", "$", `\A`, `\z`, `(?m:^)`, `(?m:$)`, "", `\t`, `\r`, `\.`, "(?i:kS)", "(?-i:aB)", "(?s:.)", "foobarfoo", `\x00`,
	}
	textAtoms = []string{
		"a", "b", "A", "B", "ab", "foo", "Foo", "FOO", "bar", "foobar", "foobarfoo", "k", "K", "s", "S", "x", "1", "23", "_", " ", "é", "É",
		"한", "글", "\u212a", "\u017f", "\xff", "\xc3", "\xe2\x84", "\ufffd", "\n", "\n", "\n", "\r\n", "\r", "\t", ".", "\x00", "ss", "ß",
	}
)

func (g patternMaker) pattern(depth int) string {
	if depth == 0 {
		return patternAtoms[g.Intn(len(patternAtoms))]
	}
	switch g.Intn(9) {
	case 0:
		return "(" + g.pattern(depth-1) + "|" + g.pattern(depth-1) + ")"
	case 1:
		return "(?:" + g.pattern(depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"}[g.Intn(8)]
	case 2:
		return g.pattern(depth-1) + "|" + g.pattern(depth-1)
	case 3, 4, 5:
		return g.pattern(depth-1) + g.pattern(depth-1)
	}
	return g.pattern(depth - 1)
}

func (g patternMaker) text() string {
	var b strings.Builder
	for range g.Intn(60) {
		b.WriteString(textAtoms[g.Intn(len(textAtoms))])
	}
	return b.String()
}

func FuzzEngine(f *testing.F) {
	f.Add(`foo\b.*(bar|baz)+$`, "a foo bar\r\nfoobaz\n\nfoo x baz", true)
	f.Add(`(?i)k|s`, "\u212a\n\u017f\nK\ns", false)
	f.Add(`^$|\bend`, "\n\nend\nbend", true)
	f.Add(`func|type|interface|return|struct`, "struct\nx\nRETURN type", false)
	f.Fuzz(func(t *testing.T, pattern, text string, caseSensitive bool) {
		if len(pattern) > 200 || len(text) > 4000 {
			t.Skip()
		}
		checkEngine(t, pattern, false, caseSensitive, text)
		checkEngine(t, pattern, true, caseSensitive, text, text+pattern+text)
	})
}

// TestStatesAreBounded runs an expression whose deterministic automaton is exponential.
func TestStatesAreBounded(t *testing.T) {
	pattern := `a[ab]{14}b$`
	g := patternMaker{rand.New(rand.NewSource(1))}
	var b strings.Builder
	for range 3000 {
		for range 30 {
			b.WriteByte("ab"[g.Intn(2)])
		}
		b.WriteByte('\n')
	}
	checkEngine(t, pattern, false, true, b.String())
	m, err := newMatcher(pattern, false, true)
	if err != nil {
		t.Fatal(err)
	}
	f := newLineFinder(m)
	linesByEngine(f, []byte(b.String()))
	if len(f.dfa.sets) > maxStates+2 {
		t.Errorf("%d states", len(f.dfa.sets))
	}
}

// TestManyClasses takes the way around the automaton.
func TestManyClasses(t *testing.T) {
	var b, text strings.Builder
	for r := rune(0x400); r < 0x400+300; r++ {
		fmt.Fprintf(&b, "%cx|", r)
		fmt.Fprintf(&text, "-%c\n=%cx\r\n", r, r)
	}
	checkEngine(t, b.String()+"end", false, true, text.String()+"END")
	if m, err := newMatcher(b.String()+"end", false, true); err != nil || m.prog != nil {
		t.Errorf("this expression was to have too many classes: %v", err)
	}
}
