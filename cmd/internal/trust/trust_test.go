package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"redline/workspace"
)

// store returns a store whose file holds text; {T} in it is the folder it is in.
func store(t *testing.T, text string, env map[string]string) (*Store, string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"p/a/b", "p/ab", "q"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "p"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	s := New(func(name string) string { return env[name] }, filepath.Join(top, "home"))
	if text != "" {
		if err := os.Mkdir(filepath.Dir(s.File()), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.File(), []byte(strings.ReplaceAll(text, "{T}", top)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, top
}

func TestState(t *testing.T) {
	const yes, no, open = workspace.Trusted, workspace.Untrusted, workspace.TrustUnknown
	for _, c := range []struct {
		name, file string
		env        string
		folders    string
		want       workspace.Trust
	}{
		{"no file", "", "", "p", open},
		{"empty file", " \n", "", "p", open},
		{"itself", `{"{T}/p": "TRUST_FOLDER"}`, "", "p", yes},
		{"below", `{"{T}/p": "TRUST_FOLDER"}`, "", "p/a/b", yes},
		{"a name that begins the same", `{"{T}/p/a": "TRUST_FOLDER"}`, "", "p/ab", open},
		{"above", `{"{T}/p/a": "TRUST_FOLDER"}`, "", "p", open},
		{"beside, by the parent", `{"{T}/p/a": "TRUST_PARENT"}`, "", "p/ab", yes},
		{"the parent itself", `{"{T}/p/a": "TRUST_PARENT"}`, "", "p", yes},
		{"denied", `{"{T}/p": "DO_NOT_TRUST"}`, "", "p/a", no},
		{"the longer path decides", `{"{T}/p": "TRUST_FOLDER", "{T}/p/a": "DO_NOT_TRUST"}`, "", "p/a/b", no},
		{"and gives back", `{"{T}/p": "DO_NOT_TRUST", "{T}/p/a": "TRUST_FOLDER"}`, "", "p/a/b", yes},
		{"by another name", `{"{T}/link": "TRUST_FOLDER"}`, "", "p/a", yes},
		{"asked by another name", `{"{T}/p": "TRUST_FOLDER"}`, "", "link/a", yes},
		{"the root", `{"/": "TRUST_FOLDER"}`, "", "q", yes},
		{"comments", "{ // mine\n\"{T}/p\": \"TRUST_FOLDER\", }", "", "p", yes},
		{"two, one open", `{"{T}/p": "TRUST_FOLDER"}`, "", "p q", open},
		{"two, one denied", `{"{T}/p": "TRUST_FOLDER", "{T}/q": "DO_NOT_TRUST"}`, "", "p q", no},
		{"none", `{"/": "TRUST_FOLDER"}`, "", "", open},
		{"environment", `{"{T}/p": "DO_NOT_TRUST"}`, "true", "p", yes},
		{"environment, no", `{"{T}/p": "TRUST_FOLDER"}`, "false", "p", no},
		{"environment, a word", "", "1", "p", open},
		{"a broken file", `{"{T}/p": "TRUST_FOLDER"`, "", "p", open},
		{"an unknown level", `{"{T}/p": "TRUST_FOLDER", "/x": "MAYBE"}`, "", "p", open},
		{"a list", `["{T}/p"]`, "", "p", open},
	} {
		s, top := store(t, c.file, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": c.env})
		var folders []string
		for _, f := range strings.Fields(c.folders) {
			folders = append(folders, filepath.Join(top, f))
		}
		got, err := s.State(folders...)
		broken := strings.HasPrefix(c.name, "a broken") || strings.HasPrefix(c.name, "an unknown") || strings.HasPrefix(c.name, "a list")
		if got != c.want || (err != nil) != broken {
			t.Errorf("%s: %v (%v), want %v", c.name, got, err, c.want)
		}
	}
}

// Where two disagree the no counts, but for the run that is trusted by name.
func TestSaid(t *testing.T) {
	s, top := store(t, `{"{T}/p": "DO_NOT_TRUST", "{T}/q": "TRUST_FOLDER"}`, nil)
	p, q := filepath.Join(top, "p"), filepath.Join(top, "q")
	check := func(folder string, want workspace.Trust) {
		t.Helper()
		if got, err := s.State(folder); got != want || err != nil {
			t.Errorf("%s: %v (%v), want %v", folder, got, err, want)
		}
	}
	s.Say([]string{p}, true)
	check(p, workspace.Untrusted)
	s.Say([]string{q}, false)
	check(q, workspace.Untrusted)
	s.Say([]string{q}, true)
	check(q, workspace.Trusted)
	s.TrustRun()
	check(p, workspace.Trusted)
}

// What is written is what Gemini CLI reads, and what was there stays.
func TestSet(t *testing.T) {
	s, top := store(t, "{\n  // ours\n  \"/elsewhere\": \"TRUST_FOLDER\"\n}\n", nil)
	odd := filepath.Join(top, "a~b \"c\"")
	if runtime.GOOS != "windows" {
		if err := os.Mkdir(odd, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		folder string
		level  Level
	}{{filepath.Join(top, "p"), Never}, {filepath.Join(top, "link"), Folder}, {odd, Parent}} {
		if err := s.Set(step.folder, step.level); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(s.File())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := s.Rules()
	if err != nil || len(rules) != 3 || !strings.Contains(string(data), "// ours") || !strings.Contains(string(data), `"TRUST_FOLDER"`) {
		t.Errorf("%v (%v) of\n%s", rules, err, data)
	}
	if state, _ := s.State(filepath.Join(top, "p", "a")); state != workspace.Trusted {
		t.Errorf("the last word on a folder counts, by whatever name: %v in\n%s", state, data)
	}
	if info, err := os.Stat(s.File()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	for _, want := range []bool{true, false} {
		if found, err := s.Remove(odd); found != want || err != nil {
			t.Errorf("removed %v (%v), want %v", found, err, want)
		}
	}
}

// A file that cannot be read is not replaced.
func TestSetBroken(t *testing.T) {
	s, top := store(t, `{"x": `, nil)
	if err := s.Set(top, Folder); err == nil || !strings.Contains(err.Error(), "mend it") {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(s.File()); string(data) != `{"x": ` {
		t.Errorf("it is %q now", data)
	}
}

// Several programs may write at once.
func TestSetTogether(t *testing.T) {
	s, top := store(t, "", nil)
	var wg sync.WaitGroup
	for _, d := range []string{"p", "p/a", "p/a/b", "p/ab", "q"} {
		wg.Go(func() {
			if err := New(func(string) string { return "" }, filepath.Dir(s.File())).Set(filepath.Join(top, d), Folder); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if rules, err := s.Rules(); len(rules) != 5 || err != nil {
		t.Errorf("%v (%v)", rules, err)
	}
}
