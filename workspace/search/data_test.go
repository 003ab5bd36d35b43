package search

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is found into the archives of testdata, to be read before it is committed")

// TestData runs the archives of testdata. The comment of each holds directives, one a line:
//
//	# why the case exists
//	symlink NAME TARGET
//	mtime SECONDS PATH...        time of change; files have 0 otherwise
//	unsaved PATH [LINK]          this file of the archive is a buffer, opened under LINK, and not written
//	grep|glob|walk|list [FLAGS] [PATTERN]
//
// The flags are -d DIR, -x EXCLUDE, -i INCLUDE, -s (case counts), -F (plain text), -C CONTEXT, -m MAXMATCHES, -p MAXPERFILE,
// -c COUNTPERFILE, -w MAXLINE, -l LIMIT, -G (no git rules), -n (enter node_modules). The file `want` holds what the commands
// print, one after the other. In contents `␀` stands for a NUL, `␍` for a carriage return and `␟` for the byte 0xff.
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { checkArchive(t, file) })
	}
}

func checkArchive(t *testing.T, file string) {
	root := filepath.Join(noGlobalGit(t), "root")
	if err := os.Mkdir(root, 0o777); err != nil {
		t.Fatal(err)
	}
	at := func(rel string) string { return filepath.Join(root, filepath.FromSlash(rel)) }
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(archive.Comment), "\n")
	scope := Scope{Root: root, Overlay: map[string][]byte{}}
	buffers := map[string]string{}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "unsaved" {
			buffers[f[1]] = f[len(f)-1]
		}
	}
	want := -1
	for i, f := range archive.Files {
		if f.Name == "want" {
			want = i
			continue
		}
		data := strings.NewReplacer("␀", "\x00", "␍", "\r", "␟", "\xff").Replace(string(f.Data))
		if name, ok := buffers[f.Name]; ok {
			scope.Overlay[at(name)] = []byte(data)
			continue
		}
		write(t, at(f.Name), data)
		if err := os.Chtimes(at(f.Name), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if want < 0 {
		t.Fatal("nothing wanted")
	}
	var got strings.Builder
	for _, line := range lines {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#" || f[0] == "unsaved":
		case f[0] == "symlink":
			if err := os.Symlink(f[2], at(f[1])); err != nil {
				t.Fatal(err)
			}
		case f[0] == "mtime":
			seconds, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range f[2:] {
				if err := os.Chtimes(at(name), time.Unix(seconds, 0), time.Unix(seconds, 0)); err != nil {
					t.Fatal(err)
				}
			}
		default:
			fmt.Fprintf(&got, "> %s\n", line)
			run(t, &got, scope, f)
		}
	}
	if *update {
		archive.Files[want].Data = []byte(got.String())
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(archive.Files[want].Data), got.String()); d != "" {
		t.Errorf("(- want, + got)\n%s", d)
	}
}

// run executes one command for each number of workers and prints what it finds; the results must be the same.
func run(t *testing.T, out *strings.Builder, scope Scope, words []string) {
	t.Helper()
	first := ""
	for workers := 1; workers <= 4; workers++ {
		scope.Workers = workers
		text := runOnce(t, scope, words)
		if workers == 1 {
			first = text
		} else if text != first {
			t.Errorf("%q with %d workers: %s\nwith one: %s", words, workers, text, first)
		}
	}
	out.WriteString(strings.ReplaceAll(first, filepath.ToSlash(scope.Root), "ROOT"))
}

func runOnce(t *testing.T, scope Scope, words []string) string {
	t.Helper()
	ctx := context.Background()
	var out strings.Builder
	flags := flag.NewFlagSet(words[0], flag.ContinueOnError)
	var grep GrepOptions
	var glob GlobOptions
	list := func(to *[]string) func(string) error {
		return func(s string) error { *to = append(*to, s); return nil }
	}
	flags.StringVar(&scope.Dir, "d", "", "")
	flags.Func("x", "", list(&scope.Exclude))
	flags.BoolVar(&scope.NoGitIgnore, "G", false, "")
	flags.Func("i", "", list(&grep.Include))
	flags.BoolVar(&grep.CaseSensitive, "s", false, "")
	flags.BoolVar(&grep.Fixed, "F", false, "")
	flags.IntVar(&grep.Context, "C", 0, "")
	flags.IntVar(&grep.MaxMatches, "m", 0, "")
	flags.IntVar(&grep.MaxPerFile, "p", 0, "")
	flags.IntVar(&grep.CountPerFile, "c", 0, "")
	flags.IntVar(&grep.MaxLine, "w", 0, "")
	flags.IntVar(&glob.Limit, "l", 0, "")
	flags.BoolVar(&glob.NodeModules, "n", false, "")
	if err := flags.Parse(words[1:]); err != nil {
		t.Fatal(err)
	}
	pattern := strings.Join(flags.Args(), " ")
	grep.Scope, grep.Pattern = scope, pattern
	glob.Scope, glob.Pattern, glob.CaseSensitive = scope, strings.ReplaceAll(pattern, "ROOT", filepath.ToSlash(scope.Root)), grep.CaseSensitive
	var err error
	switch words[0] {
	case "grep":
		var r *GrepResult
		if r, err = Grep(ctx, grep); err == nil {
			printGrep(&out, r)
		}
	case "glob":
		var r *GlobResult
		if r, err = Glob(ctx, glob); err == nil {
			for _, e := range r.Entries {
				mark := ""
				if e.Unsaved {
					mark = " (unsaved)"
				}
				fmt.Fprintf(&out, "%s%s\n", e.Path, mark)
			}
			fmt.Fprintf(&out, "total %d, ignored %d\n", r.Total, r.Ignored)
		}
	case "walk":
		var r *Files
		if r, err = Walk(ctx, scope); err == nil {
			for _, p := range r.Paths {
				fmt.Fprintln(&out, p)
			}
			fmt.Fprintf(&out, "ignored %d\n", r.Ignored)
		}
	case "list":
		var r []ListEntry
		if r, err = List(ctx, scope); err == nil {
			for _, e := range r {
				fmt.Fprint(&out, e.Name)
				for _, mark := range []struct {
					on   bool
					text string
				}{{e.Dir, "/"}, {e.Link, " link"}, {!e.Dir && !e.Link, fmt.Sprintf(" %d", e.Size)}, {e.Unsaved, " unsaved"}, {e.Verdict.Ignored, " ignored"}} {
					if mark.on {
						fmt.Fprint(&out, mark.text)
					}
				}
				if e.Verdict.Rule != nil {
					fmt.Fprint(&out, " by ", e.Verdict.Rule)
				}
				fmt.Fprintln(&out)
			}
		}
	default:
		t.Fatalf("cannot understand %q", words)
	}
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

func printGrep(out *strings.Builder, r *GrepResult) {
	for _, f := range r.Files {
		fmt.Fprintf(out, "%s: %d", f.Path, f.Matches)
		if f.AtLeast {
			fmt.Fprint(out, "+")
		}
		if f.Unsaved {
			fmt.Fprint(out, " unsaved")
		}
		fmt.Fprintln(out)
		for _, l := range f.Lines {
			sep, cut := "-", ""
			if l.Match {
				sep = ":"
			}
			if l.Cut {
				cut = " (cut)"
			}
			fmt.Fprintf(out, "  %d%s%s%s\n", l.Number, sep, l.Text, cut)
		}
	}
	fmt.Fprintf(out, "matches %d, shown %d, files %d, searched %d, binary %d, ignored %d\n",
		r.Matches, r.Shown, r.MatchedFiles, r.Searched, r.Binary, r.Ignored)
}
