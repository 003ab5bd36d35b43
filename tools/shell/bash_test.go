//go:build unix

package shell_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"redline/tools/shell"
)

// pieces is what random lines are made of: the words of two commands, one allowed and one not, and everything bash
// reads between words.
var pieces = []string{
	"ls", "ls", "ls", "rm", "rm", " ", " ", " ", " ", "\n", "\r", "\r\n", "\t", "\\", "\\\n", "\\\r\n", "\v", "\f", ";", "&", "&&", "|", "||", "|&", ";;", "!",
	"$(", ")", "(", "`", "\\`", "${", "}", "{", "$((", "))", "((", "$[", "]", "[", "[[", "]]", "<(", ">(", "<", ">", "<<", "<<-", "<<<", ">&", "&>", "2>&1",
	"\"", "'", "$'", "$\"", "\\'", "\\\"", "\\$", "$", "$x", "x", "x=", "x:-", "x#", "x/", "x@P", "!x", "a[", "0", "1", "+", "-", "#", " #", "*", "?", "~",
	"if", "then", "fi", "else", "for", "in", "do", "done", "while", "case", "esac", "{ ", "; }", "time", "function", "coproc", "select", "E", "\nE\n", ",", "=", ":", "@(", "\\x72m", "\\162m",
	"\u00a0", "é", "\x80", "echo", "true", "eval", "-v",
}

// lines that parsers of others were seen to read in another way than bash.
var tricky = []string{
	"ls \\\r\nrm x", "ls #\\\nrm x", "ls # x\rrm x", "ls $\\\n(rm x)", "ls \"$\\\n(rm x)\"", "ls `\\\nrm x`", "ls $(\\\nrm x)", "ls <\\\n(rm x)", "ls &\\\n& rm x", "ls ;\\\n rm x",
	"ls '\\\n'; rm x", "ls ${x:-$\\\n(rm x)}", "ls $'\\'; rm x; ls '", "ls $'a\\'b'; ls", "ls \"\\\\\"; rm x; ls \"\"", "ls ((rm x))", "ls {a,`rm x`}",
	"ls \\`; rm x; ls \\`", "ls \"`echo \\\"`rm x`\\\"`\"", "ls ${x#\"$(rm x)\"}", "ls ${x+'$(rm x)'}", "ls \"${x+'$(rm x)'}\"", "ls \"${x-\"'\"$(rm x)\"'\"}\"", "ls $((1)) $[`rm x`]",
	"ls $(case x in x) rm x;; esac)", "ls $(case x in (x) rm x;; esac)", "ls <<E\n`rm x`\nE", "ls <<'E'\nE\nrm x", "ls <<-E\n\tE\nrm x", "ls <<E\\\nF\nEF\nrm x", "ls; ! rm x", "ls\x0brm x", "ls\x0crm x",
	"time -p rm x", "time -- rm x", "{ ls; } ; rm x", "ls ! rm x", "if ls\nthen rm x\nfi", "ls |\n\n# x\nrm x", "ls &&\r\nrm x", "for x in a; { rm x; }", "for x\ndo rm x\ndone", "for x in; do ls; done; rm x",
	"ls\\\n;rm x", "l\\\ns; r\\\nm x", "ls 2>&1;rm x", "ls 2>&1rm", "ls 9>&1 rm", "ls a;#b\nrm x", "ls a#b;rm x", "ls $#;rm x", "ls ${#};rm x", "ls ${#x}#;rm x", "ls $$;rm x", "ls $!;rm x", "ls $-`rm x`", "ls $_;rm x",
	"ls \"$!\";rm x", "ls ~`rm x`", "ls x=$(rm x)", "ls x=(rm x)", "ls a[$(rm x)]=1", "ls $\"a$(rm x)\"", "ls $'$(rm x)'", "ls \\\\$(rm x)", "ls \\\\`rm x`", "ls \"\\\\$(rm x)\"", "ls \\\\\\$(rm x)",
	"ls '\\'; rm x; ls '\\'", "ls \"'\"; rm x; ls \"'\"", "ls '\"'; rm x; ls '\"'", "ls \"\n\"; rm x", "ls '\n'\nrm x", "ls (", "ls & rm x &", "ls;\trm x", "(ls);(rm x)", "((ls);(rm x))", "( (ls); rm x)", "$(ls;rm x)", "ls $((ls);(rm x))", "ls $( (ls);(rm x))", "ls $((echo 1); rm x)",
	"[ -f x ] || rm x", "ls -- $(<x)", "ls *`rm x`*", "ls ${x/a/`rm x`}", "ls ${x^^$(rm x)}", "ls ${x:$(rm x)}", "ls ${x:1:`rm x`}", "ls ${x[`rm x`]}", "ls ${!x*}", "ls ${x@Q}", "ls ${x?$(rm x)}", "ls ${1:-$(rm x)}", "ls ${*:-$(rm x)}", "ls ${@:+$(rm x)}",
}

// TestDecideAgainstBash runs every line that may run without asking, and shows that nothing but the allowed command
// ran: no other, and no file was written. REDLINE_LONG multiplies the number of random lines.
func TestDecideAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	factor, _ := strconv.Atoi(os.Getenv("REDLINE_LONG"))
	seed := uint64(7)
	if factor > 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	bin, work := t.TempDir(), t.TempDir()
	ran := filepath.Join(t.TempDir(), "ran")
	for name, body := range map[string]string{"ls": "", "rm": "echo rm >>" + ran + "\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+bash+"\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 1))
	policy := shell.Policy{Allow: []string{"ls"}}
	executed := 0
	check := func(line string) {
		if d := policy.Decide(line); d.Confirm {
			return
		}
		executed++
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, bash, "-c", line, "bash")
		cmd.Dir, cmd.Env = work, []string{"PATH=" + bin, "LANG=C.UTF-8"}
		out, _ := cmd.CombinedOutput() // that it fails is nothing against it
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%q: ran rm", line)
			_ = os.Remove(ran)
		}
		if entries, err := os.ReadDir(work); err != nil || len(entries) > 0 {
			t.Errorf("%q: wrote %v %v", line, entries, err)
			for _, e := range entries {
				_ = os.RemoveAll(filepath.Join(work, e.Name()))
			}
		}
		if bytes.Contains(out, []byte("command not found")) {
			t.Errorf("%q: something that is not allowed was looked for: %s", line, out)
		}
	}
	for _, line := range tricky {
		check(line)
	}
	for range 2000 * max(factor, 1) {
		var b strings.Builder
		b.WriteString("ls ")
		for range 1 + r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		check(b.String())
	}
	t.Logf("%d lines ran", executed)
	if executed == 0 {
		t.Error("nothing ran: nothing was shown")
	}
}
