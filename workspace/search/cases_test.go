package search

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sharedCases decodes one of the shared case files, line by line.
func sharedCases[T any](t *testing.T, name string) []T {
	t.Helper()
	dir := os.Getenv("REDLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "cases")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared cases are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var c T
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestGlobCases(t *testing.T) {
	noGlobalGit(t)
	type globCase struct {
		ID               string
		Files            []string
		IgnoreFiles      map[string]string `json:"ignore_files"`
		Symlinks         map[string]string
		Path             *string
		Pattern, Tier    string
		CaseSensitive    bool `json:"case_sensitive"`
		RespectGitIgnore bool `json:"respect_git_ignore"`
		Mtimes           map[string]float64
		Expected         []string
		ExpectedOrdered  []string `json:"expected_ordered"`
	}
	for _, c := range sharedCases[globCase](t, "glob.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "ws")
			for _, f := range c.Files {
				write(t, filepath.Join(root, filepath.FromSlash(f)), c.IgnoreFiles[f])
			}
			for f, content := range c.IgnoreFiles {
				write(t, filepath.Join(root, filepath.FromSlash(f)), content)
			}
			for name, to := range c.Symlinks {
				if err := os.Symlink(to, filepath.Join(root, filepath.FromSlash(name))); err != nil {
					t.Fatal(err)
				}
			}
			for f, m := range c.Mtimes {
				at := time.UnixMilli(int64(m * 1000))
				if err := os.Chtimes(filepath.Join(root, filepath.FromSlash(f)), at, at); err != nil {
					t.Fatal(err)
				}
			}
			opts := GlobOptions{Pattern: c.Pattern, CaseSensitive: c.CaseSensitive}
			opts.Root, opts.NoGitIgnore = root, !c.RespectGitIgnore
			if c.Path != nil {
				opts.Dir = *c.Path
			}
			r, err := Glob(context.Background(), opts)
			var got []string
			if err == nil {
				for _, e := range r.Entries {
					got = append(got, e.Path)
				}
			}
			want := c.Expected
			if c.ExpectedOrdered != nil {
				want = c.ExpectedOrdered
			} else {
				sort.Strings(got)
				sort.Strings(want)
			}
			if !slices.Equal(got, want) {
				if c.Tier != "core" {
					t.Skipf("exotic: got %q, want %q (%v)", got, want, err)
				}
				t.Errorf("%q: got %q, want %q (%v)", c.Pattern, got, want, err)
			}
		})
	}
}

func TestGrepCases(t *testing.T) {
	noGlobalGit(t)
	type hit struct {
		File string
		Line int
	}
	type grepCase struct {
		ID          string
		Files       map[string]json.RawMessage
		Pattern     string
		Include     *string
		Path        *string
		ExpectError bool `json:"expect_error"`
		Optional    bool
		Expected    []hit
	}
	for _, c := range sharedCases[grepCase](t, "grep.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			root := t.TempDir()
			for f, raw := range c.Files {
				var text string
				if json.Unmarshal(raw, &text) != nil {
					var b struct{ Base64 string }
					if err := json.Unmarshal(raw, &b); err != nil {
						t.Fatal(err)
					}
					data, err := base64.StdEncoding.DecodeString(b.Base64)
					if err != nil {
						t.Fatal(err)
					}
					text = string(data)
				}
				write(t, filepath.Join(root, filepath.FromSlash(f)), text)
			}
			opts := GrepOptions{Pattern: c.Pattern}
			opts.Root = root
			if c.Include != nil {
				opts.Include = []string{*c.Include}
			}
			if c.Path != nil {
				opts.Dir = *c.Path
			}
			r, err := Grep(context.Background(), opts)
			if err != nil && (c.ExpectError || c.Optional && strings.Contains(err.Error(), "not supported by RE2")) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.ExpectError {
				t.Fatal("no error")
			}
			got := []hit{}
			for _, f := range r.Files {
				for _, l := range f.Lines {
					got = append(got, hit{f.Path, l.Number})
				}
			}
			sort.Slice(c.Expected, func(i, j int) bool {
				a, b := c.Expected[i], c.Expected[j]
				return a.File < b.File || a.File == b.File && a.Line < b.Line
			})
			if d := cmp.Diff(c.Expected, got); d != "" {
				t.Errorf("%q (- want, + got)\n%s", c.Pattern, d)
			}
			if r.Matches != len(got) {
				t.Errorf("counts %d, shows %d", r.Matches, len(got))
			}
		})
	}
}
