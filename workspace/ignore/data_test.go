package ignore

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestData runs the archives of testdata. The comment of each holds directives, one a line:
//
//	# why the case exists
//	repository DIR [CONFIG...]   make DIR the top of a repository; underscores in CONFIG lines stand for spaces
//	symlink NAME TARGET
//	workspace DIR                what to open (default: the root)
//	unsaved PATH                 this file of the archive is a buffer: it is not written but read through ReadFile
//	options nogit nogemini
//	PATH[/] ignored|kept RULE    the verdict; RULE is FILE:LINE:PATTERN or `none`
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { checkArchive(t, file) })
	}
}

func checkArchive(t *testing.T, file string) {
	home := noGlobalGit(t)
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(home, "root")
	at := func(rel string) string { return filepath.Join(root, filepath.FromSlash(rel)) }
	workspace := root
	var opts Options
	unsaved := map[string][]byte{}
	var checks [][]string
	for _, line := range strings.Split(string(archive.Comment), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "repository":
			repository(t, at(f[1]), strings.ReplaceAll(strings.Join(f[2:], "\n"), "_", " "))
		case f[0] == "symlink":
			if err := os.MkdirAll(filepath.Dir(at(f[1])), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(f[2], at(f[1])); err != nil {
				t.Fatal(err)
			}
		case f[0] == "workspace":
			workspace = at(f[1])
		case f[0] == "unsaved":
			unsaved[f[1]] = nil
		case f[0] == "options":
			opts.NoGit = strings.Contains(line, "nogit")
			opts.NoGemini = strings.Contains(line, "nogemini")
		case len(f) >= 3:
			checks = append(checks, []string{f[0], f[1], strings.Join(f[2:], " ")})
		default:
			t.Fatalf("cannot understand %q", line)
		}
	}
	buffers := map[string][]byte{}
	for _, f := range archive.Files {
		data := strings.ReplaceAll(string(f.Data), "ROOT", root)
		switch home, isHome := strings.CutPrefix(f.Name, "HOME/"); {
		case isHome:
			write(t, filepath.Join(filepath.Dir(root), filepath.FromSlash(home)), data)
		default:
			if _, ok := unsaved[f.Name]; ok {
				buffers[at(f.Name)] = []byte(data)
				continue
			}
			write(t, at(f.Name), data)
		}
	}
	if len(unsaved) > 0 {
		opts.ReadFile = func(abs string) ([]byte, error) {
			if b, ok := buffers[abs]; ok {
				return b, nil
			}
			return os.ReadFile(abs)
		}
	}
	rules := New(workspace, opts)
	if len(checks) == 0 {
		t.Fatal("nothing checked")
	}
	for _, c := range checks {
		v := rules.Match(c[0], strings.HasSuffix(c[0], "/"))
		got := map[bool]string{true: "ignored", false: "kept"}[v.Ignored]
		rule := "none"
		if v.Rule != nil {
			rule = strings.ReplaceAll(filepath.ToSlash(v.Rule.String()), filepath.ToSlash(home), "HOME")
		}
		if got != c[1] || rule != c[2] {
			t.Errorf("%s: %s by %s, want %s by %s", c[0], got, rule, c[1], c[2])
		}
	}
}

// TestCases runs the shared cases, whose expectations come from git itself.
func TestCases(t *testing.T) {
	dir := os.Getenv("REDLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "cases")
	}
	data, err := os.ReadFile(filepath.Join(dir, "ignore.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared cases are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	noGlobalGit(t)
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var c struct {
			ID              string
			Files           map[string]string
			InfoExclude     *string  `json:"info_exclude"`
			ExpectedVisible []string `json:"expected_visible"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			root := t.TempDir()
			repository(t, root, "")
			for name, content := range c.Files {
				write(t, filepath.Join(root, filepath.FromSlash(name)), content)
			}
			if c.InfoExclude != nil {
				write(t, filepath.Join(root, ".git", "info", "exclude"), *c.InfoExclude)
			}
			sort.Strings(c.ExpectedVisible)
			got := visible(t, root, New(root, Options{}))
			if len(got)+len(c.ExpectedVisible) == 0 {
				return
			}
			if d := cmp.Diff(c.ExpectedVisible, got); d != "" {
				t.Errorf("(- want, + got)\n%s", d)
			}
		})
	}
}

// TestConcurrent asks one Rules from many goroutines; the race detector does the rest.
func TestConcurrent(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	write(t, filepath.Join(root, ".gitignore"), "*.log\n")
	write(t, filepath.Join(root, "a/b/.gitignore"), "!keep.log\n")
	rules := New(root, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if !rules.Match("a/b/x.log", false).Ignored || rules.Match("a/b/keep.log", false).Ignored {
					t.Error("wrong verdict")
				}
			}
		})
	}
	wg.Wait()
}

func TestOutside(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	write(t, filepath.Join(root, ".gitignore"), "*\n")
	rules := New(root, Options{})
	for _, rel := range []string{"", ".", "/", "..", "../x", "a/../../x"} {
		if v := rules.Match(rel, true); v.Ignored && rel != "a/../../x" {
			t.Errorf("%q is ignored by %s", rel, v.Rule)
		}
	}
	if !rules.Match("./a", false).Ignored {
		t.Error("./a is not ignored")
	}
}

// TestManyStars: a hostile pattern does not take exponential time. Without pruning this one takes years.
func TestManyStars(t *testing.T) {
	for _, sep := range []string{"**/a/", "*a", "a*/"} {
		glob := strings.Repeat(sep, 60) + "b"
		if wildmatch(glob, strings.Repeat("a/", 100)+"c", true, false) {
			t.Errorf("%s matches", sep)
		}
		if wildmatch(glob, strings.Repeat("a", 200), true, false) {
			t.Errorf("%s matches", sep)
		}
	}
	if !wildmatch(strings.Repeat("**/a/", 60)+"b", strings.Repeat("a/", 100)+"b", true, false) {
		t.Error("no match")
	}
}

// FuzzParse looks for panics and for verdicts that depend on how the pattern list is indexed.
func FuzzParse(f *testing.F) {
	f.Add("*.log\n!a/\n/b/**/c\n[[:alpha:]-z]\\", "a/b/c.log", false)
	f.Add("\xef\xbb\xbfa \\ \r\n!\n/\n//", "a", true)
	f.Add("x\nx/\n!x\nX", "x", true)
	f.Fuzz(func(t *testing.T, content, path string, fold bool) {
		path = strings.Trim(path, "/")
		s := parse([]byte(content), "f")
		name := path[strings.LastIndexByte(path, '/')+1:]
		for _, isDir := range []bool{true, false} {
			var want *pattern
			for i := range s.patterns {
				p := &s.patterns[i]
				if p.anywhere && p.literal == len(p.glob) {
					if equal(p.glob, name, fold) && (isDir || !p.dirOnly) {
						want = p
					}
				} else if p.matches(path, name, isDir, fold) {
					want = p
				}
			}
			if got := s.match(path, name, isDir, fold); got != want {
				t.Errorf("%q on %q: %v, one by one %v", content, path, got, want)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	noGlobalGit(b)
	root := b.TempDir()
	write(b, filepath.Join(root, ".gitignore"), strings.Repeat("node_modules/\n*.log\n/dist\n.env\ncoverage\n*.tmp\nbuild/\nsrc/gen/**\n", 8))
	dir := New(root, Options{}).Root()
	b.ReportAllocs()
	for b.Loop() {
		if dir.Match("some_source_file.go", false).Ignored {
			b.Fatal("ignored")
		}
	}
}
