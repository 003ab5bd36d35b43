package match_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"redline/workspace/match"
)

var identifier = regexp.MustCompile(`[A-Za-z_]\w*|\d+`)

// gone is one way the text a model remembers is no longer in the file. It returns the file as it is now.
type gone struct {
	name string
	make func(r *rand.Rand, c change) (file string, ok bool)
}

func isRemark(line string) bool {
	t := strings.TrimSpace(line)
	for _, sign := range []string{"//", "#", "*", "/*", `"""`} {
		if strings.HasPrefix(t, sign) {
			return true
		}
	}
	return t == "" || strings.Contains(t, "// ") || strings.Contains(t, "# ") || strings.Contains(t, "/* ")
}

// inLine replaces one identifier or number of one line of code of the text.
func inLine(to func(r *rand.Rand, word, text string) string) func(r *rand.Rand, c change) (string, bool) {
	return func(r *rand.Rand, c change) (string, bool) {
		lines := strings.Split(c.old, "\n")
		i := r.IntN(len(lines))
		words := identifier.FindAllStringIndex(lines[i], -1)
		if isRemark(lines[i]) || len(words) == 0 {
			return "", false
		}
		w := words[r.IntN(len(words))]
		word := to(r, lines[i][w[0]:w[1]], c.file)
		if word == lines[i][w[0]:w[1]] {
			return "", false
		}
		lines[i] = lines[i][:w[0]] + word + lines[i][w[1]:]
		return c.file[:c.at] + strings.Join(lines, "\n") + c.file[c.at+len(c.old):], true
	}
}

var disappearances = []gone{
	{"deleted", func(r *rand.Rand, c change) (string, bool) {
		return c.file[:c.at] + c.file[min(len(c.file), c.at+len(c.old)+1):], true
	}},
	{"one line deleted", func(r *rand.Rand, c change) (string, bool) {
		lines := strings.Split(c.old, "\n")
		i := r.IntN(len(lines))
		ok := strings.TrimSpace(lines[i]) != ""
		lines = append(lines[:i], lines[i+1:]...)
		return c.file[:c.at] + strings.Join(lines, "\n") + c.file[c.at+len(c.old):], ok
	}},
	{"end of file cut off", func(r *rand.Rand, c change) (string, bool) {
		i := strings.IndexByte(c.old, '\n')
		return c.file[:c.at+i], true
	}},
	{"name changed by a letter", inLine(func(_ *rand.Rand, w, _ string) string { return w + "s" })},
	{"name changed in case", inLine(func(_ *rand.Rand, w, _ string) string {
		if u := strings.ToUpper(w[:1]) + w[1:]; u != w {
			return u
		}
		return strings.ToLower(w)
	})},
	{"other name", inLine(func(r *rand.Rand, _, text string) string {
		all := identifier.FindAllString(text, -1)
		return all[r.IntN(len(all))]
	})},
	{"middle rewritten", func(r *rand.Rand, c change) (string, bool) {
		lines := strings.Split(c.old, "\n")
		if len(lines) < 3 || strings.TrimSpace(lines[1]) == "" {
			return "", false
		}
		all := strings.Split(c.file, "\n")
		lines[1] = all[r.IntN(len(all))]
		text := strings.Join(lines, "\n")
		return c.file[:c.at] + text + c.file[c.at+len(c.old):], squeeze(text) != squeeze(c.old) && !isRemark(strings.Split(c.old, "\n")[1])
	}},
}

// TestGone demands a refusal whenever the text is not in the file any more, though most of it is or things like it are,
// and however the model laid its text out. It also demands that the refusal shows real text.
func TestGone(t *testing.T) {
	files := corpus(t)
	layouts := []struct {
		name string
		make func(*rand.Rand, change) (change, bool)
	}{
		{"as it was", func(_ *rand.Rand, c change) (change, bool) { return c, true }},
		{"dedented", both(dedent)},
		{"tabs as spaces", both(indentTo("\t", "    "))},
		{"escaped", both(jsonEscape.Replace)},
		{"numbered", numberLines("%d | %s")},
	}
	for _, g := range disappearances {
		t.Run(g.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			all, silent := 0, 0
			for try := 0; try < 10*tries() && all < tries(); try++ {
				c, ok := pick(r, files[r.IntN(len(files))])
				if !ok {
					continue
				}
				file, ok := g.make(r, c)
				if !ok || strings.Contains(squeeze(file), squeeze(c.old)) {
					continue
				}
				layout := layouts[r.IntN(len(layouts))]
				said, ok := layout.make(r, c)
				if !ok {
					continue
				}
				all++
				res, err := match.Find(file, said.old, said.new, 1)
				if err == nil {
					t.Errorf("%s: replaced by stage %q\nold:\n%s\nplace:\n%s", layout.name, res.Stage, said.old, file[res.Edits[0].Start:res.Edits[0].End])
					continue
				}
				if e := err.(*match.Error); len(e.Excerpts) == 0 {
					silent++
				}
			}
			t.Logf("%d refused, %d of them without an excerpt", all, silent)
			if all < 100 {
				t.Errorf("only %d tries", all)
			}
		})
	}
}
