package search

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgainstRipgrep compares counts for each file of a part of the Go source tree.
func TestAgainstRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatal("ripgrep is needed: ", err)
		}
		t.Skip("ripgrep is not installed")
	}
	noGlobalGit(t)
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src", "encoding")
	// Ripgrep decides about binary files as it goes; those are left out.
	all, err := Walk(context.Background(), Scope{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	binary := map[string]bool{}
	for _, p := range all.Paths {
		content, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(content, 0) >= 0 {
			binary[p] = true
		}
	}
	for _, pattern := range []string{
		"return", "ERROR", "func", "e", "json", "marshal|decode", "Marshal|Decode|Token|Reader|x", `[A-Z]{3,}[0-9]`, `^func \(`,
		`\)$`, `^\s*$`, `^$`, `a.*b.*c`, `[0-9]+\.[0-9]+`, `x{3}`, `(foo|bar)+baz?`, `if err != nil \{`, `[^ -~\t\r]`, "sk", "ſ|k", "é|ü",
		`Unmarshal(er|Text|JSON)?\(`, `"[a-z]*"`, `\t\t\t\t`, `nosuchtextanywhere`, `.`, `(a|b|c|d|e|f)(1|2|3)`, `0x[0-9a-f]{8}`,
	} {
		for _, sensitive := range []bool{true, false} {
			args := []string{"--no-config", "--hidden", "--crlf", "--count", "--no-messages", "--glob", "!.git"}
			if !sensitive {
				args = append(args, "--ignore-case")
			}
			cmd := exec.Command(rg, append(args, "-e", pattern, ".")...)
			cmd.Dir = root
			out, err := cmd.Output()
			if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
				t.Fatalf("rg %s: %v", pattern, err)
			}
			want := map[string]int{}
			for _, line := range strings.Fields(string(out)) { // with --crlf, lines end in \r\n
				if i := strings.LastIndexByte(line, ':'); i > 0 && !binary[filepath.Clean(line[:i])] {
					if want[filepath.Clean(line[:i])], err = strconv.Atoi(line[i+1:]); err != nil {
						t.Fatalf("rg: %q", line)
					}
				}
			}
			r, err := Grep(context.Background(), GrepOptions{Scope: Scope{Root: root}, Pattern: pattern, CaseSensitive: sensitive})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, f := range r.Files {
				if !binary[f.Path] {
					got[f.Path] = f.Matches
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%q, case %t: (- rg, + ours)\n%s", pattern, sensitive, d)
			}
		}
	}
}
