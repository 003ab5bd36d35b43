package helix_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redline/editors/editortest"
)

// How the languages.toml of this folder begins; the languages follow.
const languagesHead = `# Runs redline beside each language's own servers in Helix 25.01 and 25.07: copy this file to
# ~/.config/helix/languages.toml (in a project: .helix/languages.toml). Have one already? See
# "Your own languages.toml" in the README.md beside this file.
# Made from Helix' own list by "REDLINE_UPDATE=1 go test ./editors/helix -run Languages".

[language-server.redline]
command = "redline"
args = ["serve"]

# Plain text has no language of its own in Helix.
[[language]]
name = "text"
scope = "text.plain"
file-types = ["txt", "text", { glob = "README" }, { glob = "TODO" }]
language-servers = ["redline"]
`

// redline is beside every server that Helix itself has for a language, in both versions.
func TestLanguages(t *testing.T) {
	for _, v := range versions {
		program(t, v)
	}
	if os.Getenv("REDLINE_UPDATE") == "1" {
		old, new := names(t, "25.01"), names(t, "25.07")
		var b strings.Builder
		b.WriteString(languagesHead)
		for _, l := range new {
			if !slices.Contains(old, l) || l == "text" {
				continue // a language that Helix does not know makes it refuse the whole file
			}
			fmt.Fprintf(&b, "\n[[language]]\nname = %q\nlanguage-servers = [", l)
			for _, s := range servers(t, "25.07", l, "") {
				fmt.Fprintf(&b, "%q, ", s)
			}
			b.WriteString("\"redline\"]\n")
		}
		if err := os.WriteFile("languages.toml", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("languages.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), languagesHead) {
		t.Error("languages.toml does not begin as it should")
	}
	ours := regexp.MustCompile(`(?m)^name = "(.*)"`).FindAllStringSubmatch(string(data), -1)
	if len(ours) < 150 {
		t.Errorf("%d languages", len(ours))
	}
	config := t.TempDir()
	put(t, filepath.Join(config, "helix/languages.toml"), string(data))
	for _, v := range versions {
		for _, l := range []string{"go", "rust", "python", "typescript", "tsx", "c", "cpp", "java", "ruby", "bash", "markdown", "diff", "html", "json", "lua", "text"} {
			if l != "text" && !strings.Contains(string(data), fmt.Sprintf("name = %q", l)) {
				t.Errorf("%s is not in languages.toml", l)
			}
			with := servers(t, v, l, config)
			want := []string{"redline"}
			if l != "text" {
				want = append(servers(t, v, l, ""), "redline")
			}
			if !slices.Equal(with, want) {
				t.Errorf("Helix %s, %s: %q, want %q", v, l, with, want)
			}
		}
	}
}

// names returns the languages that a Helix knows. Their names are cut at the width of the
// terminal, so it gets a wide one.
func names(t *testing.T, version string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "names")
	x := editortest.StartTerminal(t, t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "HOME=" + t.TempDir()}, 900, 20,
		"sh", "-c", fmt.Sprintf("%s --health languages > %s && echo that is all; exec cat", program(t, version), out))
	x.See("that is all")
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, l := range strings.Split(string(data), "\n") {
		if i > 0 && l != "" && l[0] != ' ' {
			list = append(list, strings.Fields(l)[0])
		}
	}
	slices.Sort(list)
	return list
}

var server = regexp.MustCompile(`(?m)^  \S+ (\S+): `)

// servers returns what runs for a language: the names of the servers, in 25.01 their programs.
func servers(t *testing.T, version, language, config string) []string {
	t.Helper()
	if config == "" {
		config = t.TempDir()
	}
	cmd := exec.Command(program(t, version), "--health", language)
	cmd.Env = []string{"PATH=/nonexistent", "NO_COLOR=1", "HOME=" + config, "XDG_CONFIG_HOME=" + config, "XDG_CACHE_HOME=" + config}
	cmd.Dir = config
	data, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hx --health %s: %v\n%s", language, err, data)
	}
	text := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(string(data), "")
	list, _, _ := strings.Cut(text, "debug adapter")
	var out []string
	for _, m := range server.FindAllStringSubmatch(list, -1) {
		out = append(out, m[1])
	}
	return out
}
