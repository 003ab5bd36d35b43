package editortest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"redline/agent/geminitest"
)

// Replay is a replay file that was read. Paths are relative, with slashes.
type Replay struct {
	About  string
	Prompt string
	Files  map[string]string // before
	After  map[string]string // on disk in the end
	Gone   []string
	Person []Act
	Told   map[int][]string

	script []byte
	file   string
}

// Act is one line of what the person does.
type Act struct {
	Line int // of the section, from 1
	Verb string
	File string
	At   int    // line in File, or the number of hunks
	Text string // to type, a reason or an amendment
}

func (a Act) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d: %s %s %d %s", a.Line, a.Verb, a.File, a.At, a.Text))
}

// Load reads editors/testdata/NAME.txtar.
func Load(t testing.TB, name string) *Replay {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "..", "testdata", name+".txtar")
	r, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(path string) (*Replay, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	r := &Replay{
		About: strings.TrimSpace(string(archive.Comment)), file: filepath.Base(path),
		Files: map[string]string{}, After: map[string]string{}, Told: map[int][]string{},
	}
	for _, f := range archive.Files {
		if err := r.section(f.Name, f.Data); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", r.file, f.Name, err)
		}
	}
	if r.Prompt == "" || r.script == nil || r.Person == nil {
		return nil, fmt.Errorf("%s: needs the sections prompt, model.json and person", r.file)
	}
	return r, nil
}

func (r *Replay) section(name string, data []byte) (err error) {
	text := string(data)
	kind, rest, _ := strings.Cut(name, " ")
	if path, ok := strings.CutPrefix(kind, "before/"); ok {
		r.Files[path], err = content(rest, text)
		return err
	}
	if path, ok := strings.CutPrefix(kind, "after/"); ok {
		r.After[path], err = content(rest, text)
		return err
	}
	switch kind {
	case "prompt":
		r.Prompt = strings.TrimSpace(text)
	case "model.json":
		r.script = data
	case "gone":
		r.Gone = strings.Fields(text)
	case "told":
		i, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		r.Told[i] = strings.Split(strings.TrimSpace(text), "\n")
	case "person":
		for i, line := range strings.Split(text, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			a, err := act(line)
			if err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
			a.Line = i + 1
			r.Person = append(r.Person, a)
		}
	default:
		return fmt.Errorf("unknown section")
	}
	return nil
}

func content(how, text string) (string, error) {
	if how == "" {
		return text, nil
	}
	if how != "quoted" {
		return "", fmt.Errorf("only \"quoted\" may follow the path, not %q", how)
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// needs says for each verb what follows it: f a file, n a number, t a text that may not
// and o one that may be missing.
var needs = map[string]string{
	"open": "f", "type": "fnt", "ask": "", "review": "n", "accept": "fn", "reject": "fno", "amend": "fnt",
	"all": "", "idle": "", "undo": "f", "save": "f", "shows": "fnt",
}

func act(line string) (a Act, err error) {
	rest := ""
	a.Verb, rest, _ = strings.Cut(line, " ")
	want, ok := needs[a.Verb]
	if !ok {
		return a, fmt.Errorf("unknown: %s", line)
	}
	for _, w := range want {
		word, after, _ := strings.Cut(rest, " ")
		if word == "" && w != 'o' {
			return a, fmt.Errorf("something is missing: %s", line)
		}
		switch w {
		case 'f':
			a.File, rest = word, after
		case 'n':
			if a.At, err = strconv.Atoi(word); err != nil {
				return a, err
			}
			rest = after
		default:
			a.Text, rest = rest, ""
		}
	}
	if rest != "" {
		return a, fmt.Errorf("too much: %s", line)
	}
	return a, nil
}

// Start makes the workspace and serves the model's part until the end of the test.
func (r *Replay) Start(t testing.TB) (root string, model *geminitest.Server) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range r.Files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script, err := geminitest.Load(bytes.NewReader(r.script), root)
	if err != nil {
		t.Fatalf("%s: model.json: %v", r.file, err)
	}
	return root, geminitest.New(t, script.Steps...)
}

// Check compares the disk and what the model was told with what the replay says. Call it
// when the person's part was played.
func (r *Replay) Check(t testing.TB, root string, model *geminitest.Server) {
	t.Helper()
	want := map[string]string{}
	for name, text := range r.Files {
		want[name] = text
	}
	for name, text := range r.After {
		want[name] = text
	}
	for _, name := range r.Gone {
		delete(want, name)
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		} else if string(got) != text {
			t.Errorf("%s on disk:\n%q\nwant\n%q", name, got, text)
		}
	}
	r.extra(t, root, want)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, texts := range r.Told {
		request, err := model.Await(ctx, i)
		if err != nil {
			t.Fatalf("the model's request %d: %v", i, err)
		}
		var told strings.Builder
		for _, f := range request.Last().Responses() {
			text, _ := f.Output()
			told.WriteString(text + "\n")
		}
		for _, text := range texts {
			if !strings.Contains(told.String(), text) {
				t.Errorf("request %d does not tell the model %q, but\n%s", i, text, told.String())
			}
		}
	}
}

// extra reports files that nobody asked for; what an editor keeps in hidden folders is its own.
func (r *Replay) extra(t testing.TB, root string, want map[string]string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if _, ok := want[filepath.ToSlash(name)]; err == nil && !d.IsDir() && !ok {
			t.Errorf("there is a file %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
