package slash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"redline/tools"
	"redline/tools/mcp"
)

// servers are two servers, of which a test wants only what they would say.
type servers struct {
	states []mcp.State
	ready  func()
}

func (s *servers) States() []mcp.State { return s.states }

func (s *servers) Ready(context.Context) {
	if s.ready != nil {
		s.ready()
	}
}

func (s *servers) Prompt(_ context.Context, server, name string, args map[string]string) (*tools.Result, error) {
	return &tools.Result{Text: fmt.Sprint(server, " ", name, " ", args)}, nil
}

func two() *servers {
	return &servers{states: []mcp.State{
		{Server: mcp.Server{Name: "alpha"}, Status: mcp.Ready, Prompts: []mcp.Prompt{
			{Name: "review it", Description: "Reviews.", Args: []mcp.PromptArg{{Name: "file", Required: true}, {Name: "depth"}}}, {Name: "plain"}, {Name: "///"},
		}},
		{Server: mcp.Server{Name: "beta"}, Status: mcp.Ready, Prompts: []mcp.Prompt{{Name: "review it"}, {Name: "build", Description: "Builds it."}}},
	}}
}

// Each file of testdata is folders of commands, the list of what they give with the
// prompts of two servers, and calls with what they stand for; a call without is a
// text that calls nothing.
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no data", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		set := &Set{User: filepath.Join(root, "user"), Project: filepath.Join(root, "project"), Trusted: true, Servers: two()}
		for i := 0; i < len(ar.Files); i++ {
			f := ar.Files[i]
			text := strings.TrimSuffix(string(f.Data), "\n")
			switch f.Name {
			case "list":
				if d := cmp.Diff(lines(text), lines(list(set))); d != "" {
					t.Errorf("%s: list (- want, + got)\n%s", file, d)
				}
			case "call":
				want := ""
				if i+1 < len(ar.Files) && ar.Files[i+1].Name != "call" {
					i++
					want = ar.Files[i].Name + "\n" + string(ar.Files[i].Data)
				}
				if d := cmp.Diff(want, strings.ReplaceAll(result(t, set, text), root, "ROOT")); d != "" {
					t.Errorf("%s: %s (- want, + got)\n%s", file, text, d)
				}
			default:
				path := filepath.Join(root, f.Name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func lines(text string) []string {
	out := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(out)
	return out
}

func list(set *Set) string {
	var b strings.Builder
	for _, c := range set.List() {
		fmt.Fprintf(&b, "%s [%s] %s", c.Name, c.Source, c.Description)
		for _, a := range c.Args {
			b.WriteString(" --" + a.Name)
			if a.Required {
				b.WriteString("!")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func result(t *testing.T, set *Set, call string) string {
	t.Helper()
	name, args, ok := Split(call)
	if !ok {
		return ""
	}
	checked := set.Check(name)
	pieces, err := set.Expand(t.Context(), name, args)
	if checked != nil && (err == nil || checked.Error() != err.Error()) {
		t.Errorf("%s: checked as %v, expanded as %v", call, checked, err)
	}
	if err != nil {
		return "error\n" + err.Error() + "\n"
	}
	var b strings.Builder
	b.WriteString("pieces\n")
	for _, p := range pieces {
		switch {
		case p.File != "":
			fmt.Fprintf(&b, "file %q\n", p.File)
		case p.Shell != "":
			fmt.Fprintf(&b, "shell %q\n", p.Shell)
		default:
			fmt.Fprintf(&b, "text %q\n", p.Text)
		}
	}
	return b.String()
}

// What cannot be known yet is no error at once: a server that is being connected may
// have the prompt, and a project may be trusted when the user is asked.
func TestNotKnownYet(t *testing.T) {
	s := two()
	late := s.states[1].Prompts
	s.states[1].Status, s.states[1].Prompts = mcp.Connecting, nil
	s.ready = func() { s.states[1].Status, s.states[1].Prompts = mcp.Ready, late }
	set := &Set{Servers: s}
	if err := set.Check("build"); err != nil {
		t.Errorf("while a server is being connected: %v", err)
	}
	if got, err := set.Expand(t.Context(), "build", ""); err != nil || got[0].Text != "beta build map[]" {
		t.Errorf("once it is: %v, %v", got, err)
	}

	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "x.toml"), []byte(`prompt = "x"`), 0o666); err != nil {
		t.Fatal(err)
	}
	set = &Set{Project: project}
	if err := set.Check("x"); err != nil {
		t.Errorf("of a project that may yet be trusted: %v", err)
	}
	if _, err := set.Expand(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), "trusted folder") {
		t.Errorf("of a project that is not: %v", err)
	}
	if len(set.List()) != 0 {
		t.Errorf("listed: %v", set.List())
	}
}

// Odd folders of commands hold nobody up.
func TestOddFolders(t *testing.T) {
	root := t.TempDir()
	_ = os.Symlink(root, filepath.Join(root, "loop"))
	_ = os.Symlink("/dev/zero", filepath.Join(root, "zero.toml"))
	_ = os.Symlink("nowhere", filepath.Join(root, "gone.toml"))
	_ = os.Mkdir(filepath.Join(root, "dir.toml"), 0o777)
	_ = makeFIFO(t, filepath.Join(root, "pipe.toml"))
	if f, err := os.Create(filepath.Join(root, "huge.toml")); err == nil {
		_ = f.Truncate(1 << 30)
		f.Close()
	}
	began := time.Now()
	set := &Set{User: root}
	if got := set.List(); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
	for _, name := range []string{"zero", "gone", "pipe", "huge", "dir"} {
		if _, err := set.Expand(t.Context(), name, ""); err == nil {
			t.Errorf("/%s was expanded", name)
		}
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
}

// FuzzTemplate holds every prompt against the rules: what the user adds never turns
// into a command or a path, and the text between is kept.
func FuzzTemplate(f *testing.F) {
	f.Add("a !{b {c}} @{d} {{args}}", "x")
	f.Add("!{{{args}}}", "'; id")
	f.Fuzz(func(t *testing.T, prompt, args string) {
		tm, err := parse(prompt)
		if err != nil {
			return
		}
		var back strings.Builder
		for _, p := range tm.pieces {
			back.WriteString(p.Text + p.File + p.Shell)
		}
		if squeeze(back.String()) != squeeze(prompt) {
			t.Fatalf("%q became %+v", prompt, tm.pieces)
		}
		shells := 0
		for _, p := range tm.pieces {
			if p.Shell != "" {
				shells++
			}
		}
		out, err := tm.expand("n", args)
		if err != nil {
			return
		}
		for _, p := range out {
			if p.Shell != "" {
				shells--
			}
		}
		if shells != 0 {
			t.Fatalf("%q with %q has other commands than before: %+v", prompt, args, out)
		}
	})
}

// squeeze leaves the signs of injections and white space away.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("@!{} \t\r\n\v\f\u0085\u00a0", r) || r > 0x2000 && r < 0x3001 {
			return -1
		}
		return r
	}, s)
}

func FuzzWords(f *testing.F) {
	f.Add(`a "b c" 'd' \e`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := words(text)
		if err == nil && len(strings.Join(list, "")) > len(text) {
			t.Fatalf("%q gave %q", text, list)
		}
	})
}
