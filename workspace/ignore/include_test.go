package ignore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestIncludeIf compares what conditional includes bring with git.
func TestIncludeIf(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatal("git is needed: ", err)
		}
		t.Skip("git is not installed")
	}
	home := noGlobalGit(t)
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(home, "Work", "proj")
	repository(t, repo, "")
	write(t, filepath.Join(repo, "secret.txt"), "x")
	write(t, filepath.Join(home, "excludes"), "secret.txt\n")
	write(t, filepath.Join(home, "more.conf"), "[core]\n\texcludesFile = ~/excludes\n")
	link := filepath.Join(home, "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/feature/x\n")
	ignored := 0
	for _, section := range []string{
		`[includeIf "gitdir:~/Work/"]`, `[includeIf "gitdir:~/work/"]`, `[includeIf "gitdir/i:~/work/"]`, `[IncludeIf "gitdir:Work/"]`,
		`[includeif "gitdir:proj"]`, `[includeIf "gitdir:proj/.git"]`, `[includeIf "gitdir:**/proj/**"]`, `[includeIf "gitdir:*/proj/.git"]`,
		`[includeIf "gitdir:` + real + `/Work/proj/.git"]`, `[includeIf "gitdir:` + real + `/Work"]`, `[includeIf "gitdir:` + real + `/*/proj/"]`,
		`[includeIf "gitdir:./Work/"]`, `[includeIf "gitdir:./"]`, `[includeIf "gitdir:./other/"]`, `[includeIf "gitdir/i:./WORK/proj/.GIT"]`,
		`[includeIf "gitdir:~/link/"]`, `[includeIf "gitdir:link/.git"]`,
		`[includeIf "onbranch:feature/x"]`, `[includeIf "onbranch:feature/"]`, `[includeIf "onbranch:feature/*"]`, `[includeIf "onbranch:*"]`,
		`[includeIf "onbranch:**"]`, `[includeIf "onbranch:main"]`, `[includeIf "onbranch:Feature/"]`, `[includeIf "onbranch:"]`, `[includeIf "nosuch:x"]`,
		`[includeIf "gitdir"]`, `[includeIf "gitdir:"]`, `[includeIf]`, `[include "gitdir:~/Work/"]`, `[include]`,
	} {
		write(t, filepath.Join(home, ".gitconfig"), section+"\n\tpath = more.conf\n")
		for _, dir := range []string{repo, link} {
			out := strings.TrimSpace(git(t, dir, nil, "check-ignore", "secret.txt"))
			got := New(dir, Options{NoGemini: true}).Match("secret.txt", false).Ignored
			if got != (out != "") {
				t.Errorf("%s in %s: ignored %t, by git %t", section, filepath.Base(dir), got, out != "")
			}
			if got {
				ignored++
			}
		}
	}
	if ignored < 20 {
		t.Errorf("only %d conditions hold", ignored)
	}
}
