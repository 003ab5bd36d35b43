package ignore

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// noGlobalGit keeps the machine's own configuration out of a test, for us and for the git commands we compare with.
func noGlobalGit(t testing.TB) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	os.Unsetenv("GIT_CONFIG_GLOBAL") // git takes an empty value for a file name
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(home))
	return home
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// repository makes dir the top of an empty git repository.
func repository(t testing.TB, dir, config string) {
	t.Helper()
	for _, d := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n"+config)
}

// entries lists everything below root but git's own, with slashes, directories with a trailing one.
func entries(t testing.TB, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			rel += "/"
		}
		all = append(all, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(all)
	return all
}

// visible lists the files the rules leave.
func visible(t testing.TB, root string, rules *Rules) []string {
	t.Helper()
	var left []string
	for _, e := range entries(t, root) {
		if !strings.HasSuffix(e, "/") && !rules.Match(e, false).Ignored {
			left = append(left, e)
		}
	}
	return left
}
