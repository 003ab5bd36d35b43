package match_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"redline/workspace/match"
)

// TestFind runs testdata/*.txtar. Each archive holds cases one after the other: sections file, old, new, and then want
// or error. Words after the section's name are options:
//
//	file [crlf] [nonl] [bom]   returns before the line ends, no line end at the end, a byte order mark
//	old [nl] [N]               a line end at the end (there is none otherwise), N expected replacements
//	new [nl]
//	want [same as file] STAGE  with - for the spaces of the stage's name
//	error                      the error's text, and below it the title and text of each excerpt
func TestFind(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range archives {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Files)%4 != 0 {
			t.Fatalf("%s: %d sections, want four a case", path, len(a.Files))
		}
		for i := 0; i < len(a.Files); i += 4 {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(path), ".txtar"), i/4+1), func(t *testing.T) {
				check(t, a.Files[i:i+4])
			})
		}
	}
}

func check(t *testing.T, sections []txtar.File) {
	t.Helper()
	text, args := section(t, sections[0], "file")
	for _, arg := range args {
		text = fileOption(t, text, arg)
	}
	expected := 1
	arg := func(s txtar.File, name string) string {
		text, args := section(t, s, name)
		text = strings.TrimSuffix(text, "\n")
		for _, a := range args {
			if a == "nl" {
				text += "\n"
			} else if n, err := strconv.Atoi(a); err == nil {
				expected = n
			} else {
				t.Fatalf("option %q", a)
			}
		}
		return text
	}
	old, new := arg(sections[1], "old"), arg(sections[2], "new")
	r, err := match.Find(text, old, new, expected)
	if strings.HasPrefix(sections[3].Name, "error") {
		want, _ := section(t, sections[3], "error")
		var e *match.Error
		if !errors.As(err, &e) {
			t.Fatalf("no error, but %q by stage %q", match.Apply(text, r.Edits), r.Stage)
		}
		got := e.Error() + "\n"
		for _, x := range e.Excerpts {
			got += x.Title() + ":\n" + x.Text + "\n"
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("error (-want +got):\n%s", d)
		}
		return
	}
	want, stages := section(t, sections[3], "want")
	for _, a := range args {
		want = fileOption(t, want, a)
	}
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	if d := cmp.Diff(want, match.Apply(text, r.Edits)); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	if stage := strings.ReplaceAll(string(r.Stage), " ", "-"); len(stages) != 1 || stage != stages[0] {
		t.Errorf("stage %q, want %q", stage, stages)
	}
}

func section(t *testing.T, f txtar.File, name string) (text string, args []string) {
	t.Helper()
	words := strings.Fields(f.Name)
	if words[0] != name {
		t.Fatalf("section %q where %q belongs", f.Name, name)
	}
	return string(f.Data), words[1:]
}

func fileOption(t *testing.T, s, option string) string {
	t.Helper()
	switch option {
	case "crlf":
		return strings.ReplaceAll(s, "\n", "\r\n")
	case "nonl":
		return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
	case "bom":
		return "\uFEFF" + s
	}
	t.Fatalf("option %q", option)
	return ""
}

func TestLineEnds(t *testing.T) {
	for _, c := range []struct{ name, text, old, new, want string }{
		{"returns added", "a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"},
		{"returns taken", "a\nb\nc\n", "b", "x\r\ny", "a\nx\ny\nc\n"},
		{"old with returns, file without", "a\nb\nc\n", "a\r\nb", "a\r\nx", "a\nx\nc\n"},
		{"old without returns, file with", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
		{"last line without end", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc"},
		{"mixed: the place's own", "a\r\nb\nc\r\nd\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\nd\r\n"},
		{"mixed: kept lines keep theirs", "a\r\nb\nc\r\nd\r\n", "a\nb\nc", "a\nb\nx\nc", "a\r\nb\nx\r\nc\r\nd\r\n"},
		{"mixed: bytes outside", "a\r\r\nb\nc\r\n", "b", "x", "a\r\r\nx\nc\r\n"},
		{"no line end at all says nothing", "abc", "b", "x\r\ny", "ax\r\nyc"},
		{"dedented in a file with returns", "{\r\n\ta()\r\n\tb()\r\n}\r\n", "a()\nb()  ", "a()\nx()\nb()", "{\r\n\ta()\r\n\tx()\r\n\tb()\r\n}\r\n"},
		{"old with a byte order mark", "\uFEFFa\nb\n", "\uFEFFa \nb", "\uFEFFa\nc", "\uFEFFa\nc\n"},
	} {
		r, err := match.Find(c.text, c.old, c.new, 1)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := match.Apply(c.text, r.Edits); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPlaceholderLine(t *testing.T) {
	for line, want := range map[string]bool{
		"// ... existing code ...":               true,
		"  # ... rest of the code unchanged ...": true,
		"(rest of methods ...)":                  true,
		"/* rest of file unchanged */":           true,
		"<!-- ... remaining content ... -->":     true,
		"// rest of code unchanged":              true,
		"// …existing imports…":                  true,
		"...":                                    false,
		"    ...":                                false,
		"// Load existing config...":             false,
		"The rest of the code is unchanged.":     false,
		"const msg = \"(rest of methods ...)\";": false,
		"func f(args ...string) {":               false,
		"log.Print(\"existing code ...\")":       false,
		"return rest":                            false,
	} {
		if _, got := match.PlaceholderLine("first\n" + line + "\nlast"); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
