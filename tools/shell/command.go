package shell

import (
	"path"
	"strings"
)

// word is a word of a command line. Static words have text as the shell will pass it on; others are expanded first.
type word struct {
	text   string
	static bool
}

// command is one simple command of a line.
type command struct {
	name   string // as written, without quotes when it is static
	words  []word // the name and the arguments
	unsafe string // why no prefix can allow it, if so
	wraps  bool   // it runs what its arguments say
	script bool   // a shell that runs the script named by its first argument
	// program says that it is an interpreter whose first argument names the program, inline that what it runs is in
	// options or on its standard input: no prefix is offered that would let it run anything.
	program, inline bool
}

// begins reports whether the command begins with the words.
func (c command) begins(words []string) bool {
	if len(words) == 0 || len(c.words) < len(words) {
		return false
	}
	for i, w := range words {
		if !c.words[i].static || c.words[i].text != w {
			return false
		}
	}
	return true
}

// base is the command with the folder taken off its name.
func (c command) base() command {
	if len(c.words) == 0 || !c.words[0].static || !strings.Contains(c.words[0].text, "/") {
		return c
	}
	c.words = append([]word{{path.Base(c.words[0].text), true}}, c.words[1:]...)
	return c
}

// mentions reports whether the words occur in the command in order with others between them, beginning with its name,
// as in "git -C folder push". Words that are expanded first may be any.
func (c command) mentions(words []string) bool {
	if len(c.words) == 0 || !c.words[0].static || c.words[0].text != words[0] {
		return false
	}
	n := 1
	for _, w := range c.words[1:] {
		if n < len(words) && (!w.static || w.text == words[n]) {
			n++
		}
	}
	return n == len(words)
}

// hides reports whether what the command runs cannot be told from the line: its name is computed, or it is a wrapper
// whose arguments are, or a shell that reads what it runs.
func (c command) hides() bool {
	if len(c.words) == 0 || !c.words[0].static {
		return true
	}
	if !c.wraps {
		return false
	}
	if path.Base(c.words[0].text) == "git" {
		return true // an alias in its configuration may be anything
	}
	for _, w := range c.words[1:] {
		if !w.static {
			return true
		}
	}
	return shells[path.Base(c.words[0].text)] && len(c.words) < 3
}

// withSubcommands lists the tools whose first argument says what they do, so that allowing the name alone would allow
// far more than was asked for.
var withSubcommands = set("git go cargo npm pnpm yarn bun deno docker podman kubectl helm terraform aws gcloud az gh apt apt-get brew pip pip3 uv poetry systemctl dotnet mvn gradle make bundle rails composer flutter dart swift rustup nix bazel npx bunx uvx pipx")

// prefix is the prefix to offer for allowing commands like this one.
func (c command) prefix() string {
	if len(c.words) > 1 && (c.script || c.program || withSubcommands[c.words[0].text]) {
		if sub := c.words[1]; sub.static && sub.text != "" && !strings.HasPrefix(sub.text, "-") && !strings.ContainsAny(sub.text, " \t\n") {
			return c.words[0].text + " " + sub.text
		}
	}
	return c.words[0].text
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

var (
	// wrappers run their arguments, or change what later commands mean.
	wrappers = set(`eval exec source . xargs env sudo doas su command builtin nohup nice ionice chrt taskset timeout
		stdbuf setsid watch trap parallel strace ltrace gdb script chroot unshare nsenter firejail bwrap flock busybox
		toybox ssh time alias unalias enable hash set shopt bind complete export unset typeset declare local readonly
		let mapfile readarray read getopts fc coproc expect runuser pkexec start-stop-daemon entr
		read compgen sg newgrp setpriv systemd-run at batch crontab screen tmux unbuffer rlwrap fakeroot proot prlimit numactl valgrind perf`)
	shells = set("sh bash dash ash zsh ksh mksh fish csh tcsh rbash pwsh powershell cmd nu xonsh elvish")
)

// classify fills in what the name of the command and its arguments say about it.
func (c *command) classify(plain bool) {
	first := c.words[0]
	if !first.static {
		c.unsafe = "the name of a command is computed: " + c.name
		return
	}
	base := path.Base(first.text)
	switch {
	case wrappers[base]:
		c.wraps = true
		c.unsafe = base + " runs other commands"
	case shells[base]:
		if len(c.words) > 1 && c.words[1].static && !strings.HasPrefix(c.words[1].text, "-") && !strings.HasPrefix(c.words[1].text, "/dev/") && c.words[1].text != "" {
			c.script = true
			break
		}
		c.wraps = true
		c.unsafe = base + " runs other commands"
	case first.text == "":
		c.unsafe = "the name of a command is empty"
	}
	if c.unsafe == "" {
		if c.unsafe = c.argumentRisk(base); c.unsafe != "" {
			c.wraps = true
		}
	}
	if interpreters.MatchString(base) {
		c.program = len(c.words) > 1 && c.words[1].static && !strings.HasPrefix(c.words[1].text, "-") && c.words[1].text != ""
		c.inline = !c.program
	}
	if c.unsafe == "" && !plain {
		c.unsafe = "the name of a command is quoted: " + c.name
	}
}
