package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"redline/workspace"
)

// The cases in testdata: files below a root, what is loaded and what is noted. A
// file "open/PATH" is open in the editor with that text; "link/PATH" is a symbolic
// link to what stands in it. The comment has lines "names: A B", "untrusted: DIR",
// "folders: DIR…" (ws when there is none) and "below: DIR".
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			check(t, a)
		})
	}
}

func check(t *testing.T, a *txtar.Archive) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Home: filepath.Join(root, "home")}
	folders, below := []string{filepath.Join(root, "ws")}, ""
	for line := range strings.Lines(string(a.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "names":
			opt.Names = strings.Fields(value)
		case "untrusted":
			opt.Trusted = func(folder string) bool { return folder != filepath.Join(root, value) }
		case "folders":
			folders = nil
			for _, f := range strings.Fields(value) {
				folders = append(folders, filepath.Join(root, f))
			}
		case "below":
			below = filepath.Join(root, value)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range folders {
		must(os.MkdirAll(f, 0o755))
	}
	var docs []*workspace.Document
	want := ""
	for _, f := range a.Files {
		kind, rest, _ := strings.Cut(f.Name, "/")
		data := strings.ReplaceAll(string(f.Data), "$ROOT", root)
		switch kind {
		case "want":
			want = data
		case "open":
			path := filepath.Join(root, rest)
			docs = append(docs, &workspace.Document{Key: workspace.Key(path), URI: "file://" + path, Path: path, Text: data})
		case "link":
			must(os.MkdirAll(filepath.Dir(filepath.Join(root, rest)), 0o755))
			must(os.Symlink(strings.TrimSpace(data), filepath.Join(root, rest)))
		default:
			must(os.MkdirAll(filepath.Dir(filepath.Join(root, f.Name)), 0o755))
			must(os.WriteFile(filepath.Join(root, f.Name), []byte(data), 0o600))
		}
	}
	ws, err := workspace.New(folders...)
	must(err)
	for _, d := range docs {
		ws.Put(d)
	}
	var got strings.Builder
	show := func(m *Memory) {
		for _, f := range m.Files {
			fmt.Fprintf(&got, "%s %s", f.Level, f.Path)
			if f.ImportedBy != "" {
				fmt.Fprintf(&got, " by %s", filepath.Base(f.ImportedBy))
			}
			if f.Open {
				got.WriteString(" open")
			}
			got.WriteString("\n")
		}
		for _, n := range m.Notes {
			got.WriteString("note " + n + "\n")
		}
		got.WriteString(m.Text)
	}
	if below == "" {
		show(Load(ws.Snapshot(), opt))
	} else {
		all := Below(ws.Snapshot(), opt, below)
		for _, d := range upTo(below, root) {
			if m := all[d]; m != nil {
				show(m)
			}
		}
	}
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestSizesAreBounded(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, "home")
	for _, dir := range []string{home, filepath.Join(root, "ws")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	line := strings.Repeat("x", 99) + "\n"
	for name, kb := range map[string]int{"home/GEMINI.md": 300, "ws/GEMINI.md": 90, "ws/AGENTS.md": 60} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name+"\n"+strings.Repeat(line, kb*10)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.New(filepath.Join(root, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	m := Load(ws.Snapshot(), Options{Home: home})
	if len(m.Text) > MaxTotal || len(m.Files) != 2 || len(m.Notes) != 2 || !strings.Contains(m.Text, "The rest of this file is left out") {
		t.Errorf("%d bytes, files %v, notes %q", len(m.Text), m.Files, m.Notes)
	}
}

func FuzzFindImports(f *testing.F) {
	f.Add("see @./a.md and `@b.md`\n```\n@c.md\n```\n@d.md.")
	f.Add("``` x\n@a/b\n~~~\n`` ` @x.y ``")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, m := range findImports(text) {
			if m.start < at || m.end > len(text) || text[m.start] != '@' || text[m.start+1:m.end] != m.path {
				t.Fatalf("%+v in %q", m, text)
			}
			at = m.end
		}
	})
}
