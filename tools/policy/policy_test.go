package policy

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	rule := func(fields string) Rule {
		var r Rule
		for _, f := range strings.Split(fields, ";") {
			k, v, _ := strings.Cut(strings.TrimSpace(f), "=")
			switch k {
			case "tool":
				r.Tool = v
			case "command":
				r.Command = v
			case "path":
				r.Path = v
			default:
				r.Decision = Decision(k)
			}
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%s: %v", fields, err)
		}
		return r
	}
	for _, c := range []struct {
		name    string
		user    []string
		project []string // with "trusted" first its allowing rules count
		tool    string
		command string
		paths   []string // relative, or absolute
		want    Decision
	}{
		{"no rules", nil, nil, "read_file", "", []string{"a"}, None},
		{"a tool", []string{"tool=web_fetch; deny"}, nil, "web_fetch", "", nil, Deny},
		{"another tool", []string{"tool=web_fetch; deny"}, nil, "read_file", "", nil, None},
		{"a glob", []string{"tool=docs__*; allow"}, nil, "docs__search", "", nil, Allow},
		{"by the display name", []string{"tool=Edit; ask"}, nil, "replace|Edit", "", nil, Ask},
		{"the first that fits", []string{"tool=docs__x; allow", "tool=docs__*; deny"}, nil, "docs__x", "", nil, Allow},
		{"and else the next", []string{"tool=docs__x; allow", "tool=docs__*; deny"}, nil, "docs__y", "", nil, Deny},

		{"a command", []string{"command=git push; deny"}, nil, "Shell", "git push origin", nil, Deny},
		{"not another", []string{"command=git push; deny"}, nil, "Shell", "git pushx; git stash", nil, None},
		{"anywhere in the line", []string{"command=git push; deny"}, nil, "Shell", "make && (git push)", nil, Deny},
		{"behind sudo", []string{"command=rm; deny"}, nil, "Shell", "sudo rm -r x", nil, Deny},
		{"by a path", []string{"command=rm; deny"}, nil, "Shell", "/bin/rm x", nil, Deny},
		{"in sh -c", []string{"command=rm; deny"}, nil, "Shell", `sh -c "rm x"`, nil, Deny},
		{"allowed", []string{"command=make; allow"}, nil, "Shell", "make test", nil, Allow},
		{"allowed, and something else", []string{"command=make; allow"}, nil, "Shell", "make && curl x", nil, None},
		{"both allowed", []string{"command=make; allow", "command=ls; allow"}, nil, "Shell", "make && ls", nil, Allow},
		{"one allowed, one asked", []string{"command=make; allow", "command=ls; ask"}, nil, "Shell", "make && ls", nil, Ask},
		{"allowed but for what it does not show", []string{"command=echo; allow"}, nil, "Shell", "echo x >f", nil, None},
		{"an exception", []string{"command=git log; allow", "command=git; ask"}, nil, "Shell", "git log -1", nil, Allow},
		{"not to be taken apart", []string{"command=rm; deny"}, nil, "Shell", `echo "`, nil, Ask},
		{"not to be taken apart, allowed", []string{"command=echo; allow"}, nil, "Shell", `echo "`, nil, None},
		{"the tool as such", []string{"tool=run_*; deny"}, nil, "run_shell_command", "ls", nil, Deny},

		{"a name", []string{"path=go.sum; deny"}, nil, "replace", "", []string{"sub/go.sum"}, Deny},
		{"a folder", []string{"path=infra/; deny"}, nil, "replace", "", []string{"infra/a/b.tf"}, Deny},
		{"a path", []string{"path=a/b; deny"}, nil, "replace", "", []string{"a/b/c"}, Deny},
		{"not the path elsewhere", []string{"path=a/b; deny"}, nil, "replace", "", []string{"x/a/b"}, None},
		{"a glob on paths", []string{"path=**/*.pb.go; deny"}, nil, "replace", "", []string{"x/y.pb.go"}, Deny},
		{"absolute", []string{"path=/etc; ask"}, nil, "x", "", []string{"/etc/passwd"}, Ask},
		{"absolute is not relative", []string{"path=/etc; ask"}, nil, "x", "", []string{"etc/passwd"}, None},
		{"other letters", []string{"path=Makefile; ask"}, nil, "x", "", []string{"MAKEFILE"}, Ask},
		{"path and tool", []string{"tool=replace; path=docs; deny"}, nil, "read_file", "", []string{"docs/a"}, None},
		{"the strictest of the paths", []string{"path=a; allow", "path=b; ask"}, nil, "x", "", []string{"a", "b"}, Ask},
		{"allowed is only what is allowed for all", []string{"path=a; allow"}, nil, "x", "", []string{"a", "b"}, None},
		{"no path at all", []string{"path=a; deny"}, nil, "x", "", nil, None},
		{"a path in a command", []string{"path=secret; deny"}, nil, "Shell", "cat secret", []string{"secret"}, Deny},

		{"a project tightens", []string{"tool=x; allow"}, []string{"tool=x; deny"}, "x", "", nil, Deny},
		{"a project does not loosen", []string{"tool=x; deny"}, []string{"trusted", "tool=x; allow"}, "x", "", nil, Deny},
		{"a project allows nothing", nil, []string{"tool=x; allow"}, "x", "", nil, None},
		{"unless it is trusted", nil, []string{"trusted", "tool=x; allow"}, "x", "", nil, Allow},
		{"the user's ask stays", []string{"tool=x; ask"}, []string{"trusted", "tool=x; allow"}, "x", "", nil, Ask},
	} {
		var p Policy
		for _, r := range c.user {
			p.User = append(p.User, rule(r))
		}
		for _, r := range c.project {
			if r == "trusted" {
				p.ProjectAllows = true
				continue
			}
			p.Project = append(p.Project, rule(r))
		}
		call := Call{Tools: strings.Split(c.tool, "|")}
		if c.command != "" {
			call.Command = &c.command
		}
		for _, at := range c.paths {
			call.Paths = append(call.Paths, at2path(at))
		}
		if got := p.Judge(call); got.Decision != c.want {
			t.Errorf("%s: %q by %v, want %q", c.name, got.Decision, got.Rule, c.want)
		}
	}
}

func at2path(p string) Path {
	if path.IsAbs(p) {
		return Path{Abs: p}
	}
	return Path{Abs: "/home/me/ws/" + p, Rel: p}
}

func TestRuleCheck(t *testing.T) {
	for _, r := range []Rule{
		{}, {Decision: Deny}, {Tool: "x"}, {Tool: "x", Decision: "never"}, {Tool: "[", Decision: Deny}, {Path: "{", Decision: Deny}, {Command: " ", Decision: Deny},
	} {
		if r.Check() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

func TestSensitive(t *testing.T) {
	var s Sensitive
	for p, want := range map[string]bool{
		".env": true, "a/.env": true, ".env.local": true, ".ENV": true, "prod.env": true, ".env.example": false, "a/.env.sample": false,
		"id_rsa": true, "id_rsa.pub": false, "tls/server.key": true, "tls/server.pem": true, ".ssh/config": true, "/root/.ssh/x": true,
		".npmrc": true, ".aws/credentials": true, "credentials/list.go": true, "credentials.go": false, ".docker/config.json": true, "config.json": false,
		"terraform.tfstate": true, "client_secret_1.json": true, "client.json": false, "main.go": false, "environment.ts": false, "env": false, "keys.go": false,
		"x.key/readme": true, "secrets.yaml": true, "docs/secrets.md": false,
	} {
		if got := s.Match(at2path(p)); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	more, err := s.With([]string{"!.npmrc", "config/prod.yml", "[ab].txt", "!x.pem"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]bool{".npmrc": false, "config/prod.yml": true, "x/config/prod.yml": false, "b.txt": true, "x.pem": false, "y.pem": true, ".env": true} {
		if got := more.Match(at2path(p)); got != want {
			t.Errorf("with more, %s: %v, want %v", p, got, want)
		}
	}
	strict, err := s.With([]string{"!.env", "b"}, true)
	if err != nil || !strict.Match(at2path(".env")) || !strict.Match(at2path("b")) || s.Match(at2path("b")) {
		t.Errorf("a project that nobody trusts took something out (%v)", err)
	}
	if _, err := s.With([]string{"{"}, false); err == nil {
		t.Error("a malformed pattern is taken")
	}
}

// The quick look at a name never says no where the patterns say yes.
func FuzzSensitive(f *testing.F) {
	for _, p := range DefaultSensitive {
		f.Add(strings.TrimPrefix(p, "!"), "*.x")
	}
	f.Fuzz(func(t *testing.T, p, pattern string) {
		s, err := Sensitive{}.With([]string{pattern}, false)
		if err != nil || strings.HasPrefix(pattern, "!") {
			return
		}
		at := at2path(p)
		last, err := newGlob(pattern)
		if err == nil && last.Match(at) && !s.Match(at) {
			t.Errorf("%q fits %q, and is not found", pattern, p)
		}
	})
}

func BenchmarkSensitive(b *testing.B) {
	var paths []Path
	for i := range 1000 {
		paths = append(paths, at2path(fmt.Sprintf("src/pkg%d/sub/file%d.go", i%17, i)))
	}
	var s Sensitive
	for b.Loop() {
		for _, p := range paths {
			if s.Match(p) {
				b.Fatal(p)
			}
		}
	}
}
