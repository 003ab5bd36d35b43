package ignore

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	seedFlag  = flag.Int64("seed", -1, "compare with git on the tree of this seed only")
	treesFlag = flag.Int("trees", 200, "random trees to compare with git")
)

// TestAgainstGit builds random trees with random rule files and expects, for each entry, git's own verdict and the very
// rule that git says decided.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatal("git is needed: ", err)
		}
		t.Skip("git is not installed")
	}
	home := noGlobalGit(t)
	trees := *treesFlag
	if text := os.Getenv("REDLINE_LONG"); text != "" { // as many times as much
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("REDLINE_LONG is %q, and must be a whole number from 1 on", text)
		}
		trees *= n
	}
	if testing.Short() {
		trees = min(trees, 40)
	}
	first := int64(0)
	if *seedFlag >= 0 {
		first, trees = *seedFlag, 1
	}
	base := t.TempDir()
	for seed := first; seed < first+int64(trees); seed++ {
		root := filepath.Join(base, fmt.Sprint(seed))
		g := generator{rand.New(rand.NewSource(seed))}
		g.tree(t, root, home)
		compareWithGit(t, seed, root, root)
		if sub := g.subfolder(t, root); sub != "" && !New(root, Options{}).Match(sub, true).Ignored {
			compareWithGit(t, seed, root, filepath.Join(root, filepath.FromSlash(sub)))
		}
		if t.Failed() {
			t.Fatalf("replay with: go test ./workspace/ignore -run %s -seed %d", t.Name(), seed)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
	}
}

func compareWithGit(t *testing.T, seed int64, top, workspace string) {
	t.Helper()
	out := git(t, workspace, nil, "ls-files", "-o", "--exclude-standard", "-z")
	want := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		want = nil
	}
	sort.Strings(want)
	rules := New(workspace, Options{NoGemini: true})
	if d := cmp.Diff(want, visible(t, workspace, rules)); d != "" {
		t.Errorf("seed %d, workspace %s: visible files (- git, + ours)\n%s", seed, workspace, d)
	}
	all := entries(t, workspace)
	var stdin bytes.Buffer
	for _, e := range all {
		stdin.WriteString(strings.TrimSuffix(e, "/"))
		stdin.WriteByte(0)
	}
	fields := strings.Split(git(t, workspace, &stdin, "check-ignore", "-v", "-n", "-z", "--stdin", "--no-index"), "\x00")
	for i, e := range all {
		source, line, pattern := fields[4*i], fields[4*i+1], fields[4*i+2]
		want := ""
		if source != "" {
			want = filepath.Base(source) + ":" + line + ":" + pattern
		}
		got := ""
		if r := rules.Match(e, strings.HasSuffix(e, "/")).Rule; r != nil {
			got = fmt.Sprintf("%s:%d:%s", filepath.Base(r.File), r.Line, r.Pattern)
		}
		if got != want {
			t.Errorf("seed %d, workspace %s: %s decided by %q, in git by %q", seed, workspace, e, got, want)
		}
	}
}

func git(t *testing.T, dir string, stdin *bytes.Buffer, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	// check-ignore exits with 1 when nothing is ignored.
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("git %s: %v\n%s", args, err, &stderr)
	}
	return string(out)
}

// generator makes trees small enough that names and patterns meet often.
type generator struct{ *rand.Rand }

var (
	someNames = []string{
		"a", "b", "ab", "abc", "src", "build", "out", "x.log", "y.log", "main.go", ".hidden", "A", "Src", "X.LOG", "a.b.c",
		"a b", "a ", "#x", "!x", "[x]", "x]", "-", "a-b", `b\c`, "é", "한", "😀", "tab\tx", "1", "x1", "_", "~", "*", "?",
		"a\xffb",
	}
	someAtoms = []string{
		"*", "*", "**", "***", "?", "[a-c]", "[!a]", "[^b]", "[ab", "[]a]", "[!]a]", "[a-]", "[-a]", `[\]]`, `[a\-c]`, "[[:alpha:]]",
		"[[:upper:]x]", "[[:digit:][:punct:]]", "[[:nope:]]", "[[:alpha]", "[[:space:]a]", "[x-]", "[!a-z.]", `\a`, `\*`, `\`, `\#`, `\ `, `\!`,
		".", "*.", ".*", "*.log", "*.go", "[[:print:]]", "[[:xdigit:]-z]", "[A-Z]", "[/]", "[a/b]", "[.-0]", "\xc3",
	}
)

func (g generator) pick(s []string) string { return s[g.Intn(len(s))] }

func (g generator) tree(t *testing.T, root, home string) {
	t.Helper()
	config := ""
	if g.Intn(4) == 0 {
		config = "\tignorecase = true\n"
	}
	os.Remove(filepath.Join(home, ".gitconfig"))
	global := filepath.Join(home, ".config", "git", "ignore")
	os.Remove(global)
	switch g.Intn(5) {
	case 0:
		write(t, global, g.rules())
	case 1:
		write(t, filepath.Join(home, ".gitconfig"), "[core]\nexcludesFile = \"~/my excludes\" ; mine\n")
		write(t, filepath.Join(home, "my excludes"), g.rules())
	}
	repository(t, root, config)
	if g.Intn(2) == 0 {
		write(t, filepath.Join(root, ".git", "info", "exclude"), g.rules())
	}
	write(t, filepath.Join(root, ".gitignore"), g.rules())
	for range 10 + g.Intn(25) {
		parts := []string{root}
		for range g.Intn(4) {
			parts = append(parts, g.pick(someNames[:20]))
		}
		dir := filepath.Join(parts...)
		if os.MkdirAll(dir, 0o777) != nil {
			continue // a file of that name is there
		}
		if g.Intn(6) == 0 {
			write(t, filepath.Join(dir, ".gitignore"), g.rules())
		}
		file := filepath.Join(dir, g.pick(someNames))
		if _, err := os.Lstat(file); err == nil {
			continue
		}
		if g.Intn(15) == 0 {
			if err := os.Symlink(g.pick(someNames), file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		write(t, file, "x")
	}
}

func (g generator) rules() string {
	var b strings.Builder
	if g.Intn(8) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	end := "\n"
	if g.Intn(6) == 0 {
		end = "\r\n"
	}
	for n := g.Intn(6); n >= 0; n-- {
		b.WriteString(g.line())
		if n > 0 || g.Intn(3) > 0 {
			b.WriteString(end)
		}
	}
	return b.String()
}

func (g generator) line() string {
	switch g.Intn(25) {
	case 0:
		return ""
	case 1:
		return "# " + g.pick(someNames)
	case 2:
		return "  "
	}
	line := ""
	if g.Intn(3) == 0 {
		line = "!"
	}
	if g.Intn(4) == 0 {
		line += "/"
	}
	for n := g.Intn(3); n >= 0; n-- {
		line += g.component()
		if n > 0 {
			line += "/"
			if g.Intn(20) == 0 {
				line += "/"
			}
		}
	}
	if g.Intn(4) == 0 {
		line += "/"
	}
	switch g.Intn(15) {
	case 0:
		line += " "
	case 1:
		line += `\ `
	case 2:
		line += "\t"
	case 3:
		line += "  \r"
	}
	return line
}

func (g generator) component() string {
	switch g.Intn(4) {
	case 0:
		return g.pick(someNames)
	case 1:
		return g.pick(someAtoms[:4])
	}
	c := ""
	for range 1 + g.Intn(3) {
		if g.Intn(2) == 0 {
			c += g.pick(someAtoms)
		} else {
			c += g.pick(someNames)
		}
	}
	return c
}

// subfolder picks a directory below root, relative to it, or "".
func (g generator) subfolder(t *testing.T, root string) string {
	var dirs []string
	for _, e := range entries(t, root) {
		if dir, ok := strings.CutSuffix(e, "/"); ok {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return ""
	}
	return g.pick(dirs)
}
