package shell

import (
	"regexp"
	"strings"
)

// options are arguments that make an otherwise harmless command run or write something that its name does not show.
type options struct {
	// long are names behind "--"; what programs take for short of them counts as well ("--outp").
	long string
	// short are letters behind "-", alone, in a cluster or with the value attached ("-uo", "-ofile").
	short string
	// words are whole arguments, such as find's -exec; also with "=" and a value.
	words string
	// first says that only what stands before the first other argument counts: git's own options.
	first bool
}

var risky = map[string][]options{
	"find":    {{words: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls"}},
	"printf":  {{short: "v"}},
	"test":    {{words: "-v -R"}},
	"[":       {{words: "-v -R"}},
	"wait":    {{short: "p"}},
	"jobs":    {{short: "x"}},
	"history": {{short: "wa"}},
	"sort":    {{short: "o", long: "output compress-program"}},
	"tree":    {{short: "o"}},
	"split":   {{long: "filter"}},
	"rg":      {{long: "pre hostname-bin"}},
	"fd":      {{short: "xX", long: "exec exec-batch"}},
	"fdfind":  {{short: "xX", long: "exec exec-batch"}},
	"man":     {{short: "PH", long: "pager html"}},
	"tar":     {{short: "IF", long: "checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command rmt-command"}},
	"rsync":   {{short: "e", long: "rsh rsync-path"}},
	"scp":     {{short: "So"}},
	"zip":     {{words: "-TT", long: "unzip-command"}},
	"go":      {{words: "-exec --exec -toolexec --toolexec -vettool --vettool -o --o -overlay --overlay"}},
	"cargo":   {{long: "config"}},
	"make":    {{short: "fE", long: "file makefile eval"}},
	"npm":     {{long: "script-shell"}},
	"git": {
		{first: true, short: "c", long: "config-env exec-path"},
		{long: "output upload-pack receive-pack exec ext-diff open-files-in-pager extcmd"},
	},
}

// riskyGit is the same by git's subcommand, where the letter means something harmless elsewhere.
var riskyGit = map[string]options{
	"clone": {short: "uc", long: "config template"}, "init": {long: "template"}, "grep": {short: "O"}, "rebase": {short: "x"},
	"difftool": {short: "x"}, "archive": {short: "o"}, "format-patch": {short: "o"}, "ls-remote": {long: "exec"},
	"submodule": {words: "foreach"}, "bisect": {words: "run"}, "hook": {words: "run"}, "filter-branch": {words: "*"}, "for-each-repo": {words: "*"},
}

// mayBeOption reports whether the shell can make an option of the word.
func (w word) mayBeOption() bool {
	if w.static {
		return strings.HasPrefix(w.text, "-")
	}
	// A name with a glob in it keeps its first letter; what is expanded otherwise can be split into more words.
	return w.text == "" || strings.ContainsAny(w.text, "$`") || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./", rune(w.text[0]))
}

// has reports whether one of the arguments is among the options, or may be.
func (o options) has(args []word) bool {
	for _, w := range args {
		if !w.static && w.mayBeOption() {
			return true
		}
		name, _, _ := strings.Cut(w.text, "=")
		for _, word := range strings.Fields(o.words) {
			if word == "*" || word == name {
				return true
			}
		}
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			if o.first {
				return false
			}
			continue
		}
		if w.text == "--" && (o.long != "" || o.short != "") && o.words == "" {
			return false
		}
		if long, ok := strings.CutPrefix(name, "--"); ok {
			for _, l := range strings.Fields(o.long) {
				if long != "" && strings.HasPrefix(l, long) {
					return true
				}
			}
		} else if strings.ContainsAny(w.text[1:], o.short) {
			return true
		}
	}
	return false
}

// argumentRisk says why the arguments of the command make more of it than its name shows, "" when they do not.
func (c *command) argumentRisk(base string) string {
	args := c.words[1:]
	bad := false
	for _, o := range risky[base] {
		bad = bad || o.has(args)
	}
	switch base {
	case "git":
		bad = bad || gitRisk(args)
	case "sed", "gsed":
		bad = !plainSed(args)
	case "awk", "gawk", "mawk", "nawk":
		bad = !plainAwk(args)
	}
	if bad {
		return "an argument of " + base + " may run or write something"
	}
	return ""
}

func gitRisk(args []word) bool {
	for i, w := range args {
		if strings.HasPrefix(w.text, "-") {
			continue // its own options, and their values; a value taken for the subcommand has no table
		}
		if w.text == "config" {
			// What is read is harmless; a value of core.pager or of an alias is a command.
			for _, a := range args[i+1:] {
				switch {
				case !a.static:
					return true
				case a.text == "get" || a.text == "list" || a.text == "-l" || strings.HasPrefix(a.text, "--get") || a.text == "--list":
					return false
				}
			}
			return true
		}
		if o, ok := riskyGit[w.text]; ok && (o.words == "*" || o.has(args[i+1:])) {
			return true
		}
	}
	return false
}

// sedCommand is a command of sed that only prints, deletes or ends, with its addresses.
var sedCommand = regexp.MustCompile(`^\s*(([0-9]+|\$|/[^/\\;]*/)(,([0-9]+|\$|\+[0-9]+|/[^/\\;]*/))?)?\s*!?\s*([pdqQ=]|)\s*$`)

// plainSed reports whether sed can only print.
func plainSed(args []word) bool {
	script := false // one was seen
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.static:
			if !script || w.mayBeOption() {
				return false
			}
		case w.text == "-e" || w.text == "--expression":
			if i++; i == len(args) || !args[i].static || !plainSedScript(args[i].text) {
				return false
			}
			script = true
		case strings.HasPrefix(w.text, "-") && w.text != "-":
			switch w.text {
			case "-n", "-E", "-r", "-z", "-s", "-u", "-nE", "-En", "-nr", "-rn", "--quiet", "--silent", "--regexp-extended", "--debug", "--posix", "--sandbox", "--":
			default:
				return false
			}
		case !script:
			if !plainSedScript(w.text) {
				return false
			}
			script = true
		}
	}
	return true
}

// plainSedScript knows printing, deleting and substituting; everything else is not plain.
func plainSedScript(s string) bool {
	if len(s) > 3 && s[0] == 's' && strings.IndexByte("/|,#:!@%_+", s[1]) >= 0 && !strings.ContainsAny(s, "\n") {
		var parts []string
		start := 2
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case s[1]:
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
		return len(parts) == 2 && start <= len(s) && strings.Trim(s[start:], "gpIi0123456789") == ""
	}
	for _, cmd := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if !sedCommand.MatchString(cmd) {
			return false
		}
	}
	return true
}

// plainAwk reports whether an awk program can only print: it neither runs a command nor opens a file by itself.
func plainAwk(args []word) bool {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.static:
			return false
		case w.text == "-F" || w.text == "-v":
			i++
		case strings.HasPrefix(w.text, "-F"):
		case strings.HasPrefix(w.text, "-"):
			return false
		default:
			for _, bad := range []string{"system", "|", ">", "getline", "@"} {
				if strings.Contains(w.text, bad) {
					return false
				}
			}
			for _, file := range args[i+1:] {
				if file.mayBeOption() {
					return false
				}
			}
			return true
		}
	}
	return false
}

// interpreters run a program that their arguments name or contain.
var interpreters = regexp.MustCompile(`^(python[0-9.]*|node|nodejs|perl[0-9.]*|ruby[0-9.]*|php[0-9.]*|lua[0-9.]*|Rscript|tclsh|osascript|bun|deno)$`)
