package match_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"redline/workspace/match"
)

// change is a change of some whole lines of a file, as a model that makes no mistakes would ask for it.
type change struct {
	file     string
	old, new string // whole lines without the last line end
	at       int    // offset of old
}

func (c change) want() string { return c.file[:c.at] + c.new + c.file[c.at+len(c.old):] }

// mistake is one way models get text wrong. It returns the changed request, and the file if that has to differ; ok is
// false when the mistake cannot be made there.
type mistake struct {
	name  string
	least float64 // share of cases that must come out right, the rest being refused
	make  func(r *rand.Rand, c change) (change, bool)
}

func both(f func(string) string) func(*rand.Rand, change) (change, bool) {
	return func(_ *rand.Rand, c change) (change, bool) {
		old := f(c.old)
		ok := old != c.old
		c.old, c.new = old, f(c.new)
		return c, ok
	}
}

func eachLine(f func(string) string) func(string) string {
	return func(s string) string {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			if l != "" {
				lines[i] = f(l)
			}
		}
		return strings.Join(lines, "\n")
	}
}

func indentTo(from, to string) func(string) string {
	return eachLine(func(l string) string {
		n := 0
		for strings.HasPrefix(l[n:], from) {
			n += len(from)
		}
		return strings.Repeat(to, n/len(from)) + l[n:]
	})
}

func dedent(s string) string {
	lines := strings.Split(s, "\n")
	common := -1
	for _, l := range lines {
		if l != "" && l != "\x00" {
			n := len(l) - len(strings.TrimLeft(l, " \t"))
			if common < 0 || n < common {
				common = n
			}
		}
	}
	for i, l := range lines {
		if l != "\x00" {
			lines[i] = l[min(len(l), max(0, common)):]
		}
	}
	return strings.Join(lines, "\n")
}

// together applies f to both texts at once, so that what f derives from a text is the same for both.
func together(f func(string) string) func(*rand.Rand, change) (change, bool) {
	return func(_ *rand.Rand, c change) (change, bool) {
		const between = "\n\x00\n"
		old, new, _ := strings.Cut(f(c.old+between+c.new), between)
		ok := old != c.old
		c.old, c.new = old, new
		return c, ok
	}
}

func numberLines(format string) func(*rand.Rand, change) (change, bool) {
	return func(_ *rand.Rand, c change) (change, bool) {
		first := strings.Count(c.file[:c.at], "\n") + 1
		number := func(s string) string {
			lines := strings.Split(s, "\n")
			for i, l := range lines {
				lines[i] = fmt.Sprintf(format, first+i, l)
			}
			return strings.Join(lines, "\n")
		}
		c.old, c.new = number(c.old), number(c.new)
		return c, true
	}
}

var (
	jsonEscape  = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, `"`, `\"`)
	quoteEscape = strings.NewReplacer(`"`, `\"`, `'`, `\'`)
	curly       = strings.NewReplacer(`"`, "”", `'`, "’", " - ", " – ")
	narrow      = regexp.MustCompile(`([a-z]) (i[a-z]|a)`)
	smallWord   = regexp.MustCompile(`\b(the|is|was|to|of)\b`)
	swap        = map[string]string{"the": "a", "is": "was", "was": "is", "to": "for", "of": "in"}
)

var mistakes = []mistake{
	{"tabs to 4 spaces", 1, both(indentTo("\t", "    "))},
	{"tabs to 2 spaces", 1, both(indentTo("\t", "  "))},
	{"spaces to tabs", 1, both(indentTo("  ", "\t"))},
	{"double width", 1, both(indentTo("  ", "    "))},
	{"dedent", 1, together(dedent)},
	{"one step too deep", 1, both(eachLine(func(l string) string { return "\t" + l }))},
	{"one space too deep", 1, both(eachLine(func(l string) string { return " " + l }))},
	{"dedent, old only", 0.97, func(_ *rand.Rand, c change) (change, bool) {
		old := dedent(c.old)
		ok := old != c.old
		c.old = old
		return c, ok
	}},
	{"trailing blanks in old", 1, func(_ *rand.Rand, c change) (change, bool) {
		c.old = eachLine(func(l string) string { return l + "  " })(c.old)
		return c, true
	}},
	{"returns and dedent", 1, func(r *rand.Rand, c change) (change, bool) {
		old, new := dedent(c.old), dedent(c.new)
		ok := old != c.old && dedent(c.old+"\n"+c.new) == old+"\n"+new
		head := strings.Count(c.file[:c.at], "\n")
		c.file, c.at = strings.ReplaceAll(c.file, "\n", "\r\n"), c.at+head
		c.old, c.new = old, new
		return c, ok
	}},
	{"blank line too many", 1, func(r *rand.Rand, c change) (change, bool) {
		// After a line that both texts begin with, so that the model did not mean the blank line as a change.
		o, n := strings.Split(c.old, "\n"), strings.Split(c.new, "\n")
		if len(o) < 3 || len(n) < 3 || o[0] != n[0] || o[1] != n[1] || o[0] == "" || o[1] == "" {
			return c, false
		}
		c.old = strings.Join(append([]string{o[0], ""}, o[1:]...), "\n")
		c.new = strings.Join(append([]string{n[0], ""}, n[1:]...), "\n")
		return c, true
	}},
	{"blank lines missing", 1, both(func(s string) string { return regexp.MustCompile(`\n\n+`).ReplaceAllString(s, "\n") })},
	{"all escaped", 1, both(jsonEscape.Replace)},
	{"quotes escaped", 1, both(quoteEscape.Replace)},
	{"line ends escaped", 0.9, both(func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) })},
	{"code fence", 1, both(func(s string) string { return "```text\n" + s + "\n```" })},
	{"listing numbers", 1, numberLines("%d | %s")},
	{"grep numbers", 1, numberLines("%d:%s")},
	{"cat numbers", 1, numberLines("%6d\t%s")},
	{"our own grep's numbers", 1, numberLines("L%d: %s")},
	{"typographic quotes", 0.98, both(curly.Replace)},
	{"decomposed", 1, both(norm.NFD.String)},
	{"no-break spaces", 1, both(func(s string) string { return narrow.ReplaceAllString(s, "$1\u00a0$2") })},
	{"line end at the end", 1, func(_ *rand.Rand, c change) (change, bool) {
		c.file = c.file[:c.at+len(c.old)]
		c.old += "\n"
		c.new += "\n"
		return c, true
	}},
	{"a sign missing", 0.5, func(r *rand.Rand, c change) (change, bool) {
		signs := regexp.MustCompile("[,;:(){}]").FindAllStringIndex(c.old, -1)
		if strings.Count(c.old, "\n") < 3 || len(signs) == 0 {
			return c, false
		}
		s := signs[r.IntN(len(signs))]
		c.old = c.old[:s[0]] + c.old[s[1]:]
		return c, true
	}},
	{"comment wording", 0.5, func(r *rand.Rand, c change) (change, bool) {
		lines := strings.Split(c.old, "\n")
		for i, l := range lines {
			if t := strings.TrimSpace(l); strings.HasPrefix(t, "//") || strings.HasPrefix(t, "# ") {
				if m := smallWord.FindStringIndex(l); m != nil {
					to := l[:m[0]] + swap[l[m[0]:m[1]]] + l[m[1]:]
					c.new = strings.Replace(c.new, l, to, 1)
					lines[i] = to
					c.old = strings.Join(lines, "\n")
					return c, true
				}
			}
		}
		return c, false
	}},
}

// corpus reads the files to make mistakes about: our own, or those below REDLINE_CORPUS.
func corpus(t *testing.T) []string {
	var out []string
	dir := "testdata/corpus"
	if d := os.Getenv("REDLINE_CORPUS"); d != "" {
		dir = d
	}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(out) >= 400 {
			return err
		}
		b, err := os.ReadFile(p)
		if s := string(b); len(b) < 60000 && strings.Count(s, "\n") > 20 && !strings.Contains(s, "\r") {
			out = append(out, s)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tries is how often to make each mistake: more often about a larger corpus than our own.
func tries() int {
	if os.Getenv("REDLINE_CORPUS") != "" {
		return 600
	}
	return 120
}

// pick makes a random change of a few lines that stand in the file once, in whatever layout.
func pick(r *rand.Rand, file string) (change, bool) {
	lines := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	n := 2 + r.IntN(6)
	if len(lines) < n {
		return change{}, false
	}
	i := r.IntN(len(lines) - n + 1)
	old := lines[i : i+n]
	if strings.TrimSpace(old[0]) == "" || strings.TrimSpace(old[n-1]) == "" {
		return change{}, false
	}
	text := strings.Join(old, "\n")
	if strings.Count(squeeze(file), squeeze(text)) != 1 {
		return change{}, false
	}
	at := len(strings.Join(lines[:i], "\n"))
	if i > 0 {
		at++
	}
	k := r.IntN(n)
	if strings.TrimSpace(old[k]) == "" {
		return change{}, false
	}
	indent := old[k][:len(old[k])-len(strings.TrimLeft(old[k], " \t"))]
	new := append([]string(nil), old...)
	switch r.IntN(3) {
	case 0:
		new[k] = regexp.MustCompile(`[a-z]\w*`).ReplaceAllString(new[k], "${0}Next")
	case 1:
		new = append(new[:k+1], append([]string{indent + "added(1)"}, new[k+1:]...)...)
	case 2:
		new[k] = indent + "first(1)"
		new = append(new[:k+1], append([]string{indent + "second(2)"}, new[k+1:]...)...)
	}
	c := change{file: file, old: text, new: strings.Join(new, "\n"), at: at}
	return c, c.old != c.new
}

// TestMistakes makes each mistake many times and demands the right text or a refusal, never a wrong place.
func TestMistakes(t *testing.T) {
	files := corpus(t)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var all, right, wrong, shown int
			for try := 0; try < 10*tries() && all < tries(); try++ {
				c, ok := pick(r, files[r.IntN(len(files))])
				if !ok {
					continue
				}
				said, ok := m.make(r, c)
				if !ok || strings.Contains(said.file, said.old) {
					continue
				}
				want := c.want()
				switch {
				case strings.Contains(said.file, "\r"):
					want = strings.ReplaceAll(want, "\n", "\r\n")
				case said.file != c.file:
					want = c.file[:c.at] + c.new
				}
				all++
				res, err := match.Find(said.file, said.old, said.new, 1)
				got := match.Apply(said.file, res.Edits)
				switch {
				case err != nil:
					if shown++; shown <= 3 {
						t.Logf("missed: %v\nold:\n%s", err, said.old)
					}
				case got == want:
					right++
				case squeeze(got) == squeeze(want):
					if shown++; shown <= 3 {
						t.Logf("layout: stage %q\nold:\n%s\nnew:\n%s\nwant:\n%s\nwrote:\n%s", res.Stage, said.old, said.new, c.new, res.Edits[0].New)
					}
				default:
					if wrong++; wrong <= 3 {
						t.Logf("wrong: stage %q\nold:\n%s\nnew:\n%s\nwant:\n%s\nwrote:\n%s", res.Stage, said.old, said.new, c.new, res.Edits[0].New)
					}
				}
			}
			t.Logf("%d of %d right, %d wrong", right, all, wrong)
			if all == 0 && m.name != "decomposed" {
				t.Fatal("the mistake was never made")
			}
			if float64(right) < m.least*float64(all) || wrong > 0 {
				t.Errorf("%d of %d right, %d wrong; want at least %v%% right, none wrong", right, all, wrong, 100*m.least)
			}
		})
	}
}
