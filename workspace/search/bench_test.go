package search

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// Benchmarks come in pairs, ours and ripgrep's, on the same tree in the same run: `go test -run - -bench 'Grep|Glob'
// ./workspace/search`. Beside the time that passes they report the processors' time (cpu-ms/op), which other work on the
// machine falsifies less.

// cpu reports the processors' time per operation from now on until the function it returns is called.
func cpu(b *testing.B) (report func()) {
	before := ownTime()
	return func() { b.ReportMetric(float64((ownTime()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

// ripgrep runs rg b.N times.
func ripgrep(b *testing.B, args ...string) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("rg is not installed")
	}
	var spent time.Duration
	for b.Loop() {
		cmd := exec.Command(rg, append([]string{"--no-config", "--hidden"}, args...)...)
		if err := cmd.Run(); err != nil && err.Error() != "exit status 1" {
			b.Fatal(err)
		}
		spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func goroot(b *testing.B) string {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("no GOROOT: ", err)
	}
	return string(out[:len(out)-1])
}

var greps = []struct {
	name, pattern string
	sensitive     bool
}{
	{"rare", "NewGCMWithNonceSize", true},
	{"common", "return", true},
	{"absent", "zqxjkvbpw", true},
	{"rareFold", "newgcmwithnoncesize", false},
	{"commonFold", "error", false},
	{"alternation", "panic|recover|defer|unsafe", true},
	{"alternation8", "Marshal|Unmarshal|Decoder|Encoder|Flusher|Hijacker|Pusher|Dialer", true},
	{"alternationFold", "marshal|decoder|flusher|hijacker", false},
	{"regexLiteral", `func \(\w+ \*Reader\) Read\w*\(`, true},
	{"regexNone", `[A-Z]{4,}_[0-9]{2,}`, true},
	{"regexWords", `\b\w+Handler\b`, false},
	{"regexClass", `[0-9]+\.[0-9]+\.[0-9]+`, false},
	{"lineStart", `^import\s`, true},
}

func BenchmarkGrep(b *testing.B) {
	root := goroot(b)
	for _, g := range greps {
		opts := GrepOptions{Pattern: g.pattern, CaseSensitive: g.sensitive, MaxMatches: 100}
		opts.Root = root
		b.Run(g.name+"/redline", func(b *testing.B) {
			b.ReportAllocs()
			report := cpu(b)
			var r *GrepResult
			for b.Loop() {
				var err error
				if r, err = Grep(context.Background(), opts); err != nil {
					b.Fatal(err)
				}
			}
			report()
			b.ReportMetric(float64(r.Matches), "lines")
		})
		b.Run(g.name+"/rg", func(b *testing.B) {
			args := []string{"--no-messages", "-c", "-e", g.pattern, "-g", "!.git"}
			if !g.sensitive {
				args = append(args, "-i")
			}
			ripgrep(b, append(args, root)...)
		})
	}
}

func BenchmarkGlob(b *testing.B) {
	root := goroot(b)
	for _, g := range []struct{ name, pattern string }{
		{"all", "**/*"}, {"go", "**/*.go"}, {"tests", "**/*_test.{go,txt}"}, {"folder", "src/net/**"}, {"one", "**/zsyscall_linux.go"}, {"none", "**/*.nosuch"},
	} {
		opts := GlobOptions{Pattern: g.pattern, CaseSensitive: true, Limit: 100}
		opts.Root = root
		b.Run(g.name+"/redline", func(b *testing.B) {
			b.ReportAllocs()
			report := cpu(b)
			for b.Loop() {
				if _, err := Glob(context.Background(), opts); err != nil {
					b.Fatal(err)
				}
			}
			report()
		})
		// Newest first, as ours; without --sortr ripgrep does not need the times.
		b.Run(g.name+"/rg", func(b *testing.B) { ripgrep(b, "--files", "-g", "!.git", "-g", g.pattern, root) })
	}
}

func BenchmarkWalk(b *testing.B) {
	scope := Scope{Root: goroot(b)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Walk(context.Background(), scope); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyMatches shows that memory does not follow the number of matches: every line matches.
func BenchmarkManyMatches(b *testing.B) {
	opts := GrepOptions{Pattern: ".", MaxMatches: 100}
	opts.Root = goroot(b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if _, err := Grep(context.Background(), opts); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(int64(after.HeapSys)-int64(before.HeapSys)), "heap-growth-bytes")
}

// BenchmarkEngine is the matching alone, on 8 MB of source code in memory.
func BenchmarkEngine(b *testing.B) {
	var text []byte
	files, err := filepath.Glob(filepath.Join(goroot(b), "src", "*", "*.go"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(content, longS) || bytes.Contains(content, kelvinSign) {
			continue // these few files are searched without literals
		}
		if text = append(text, content...); len(text) > 8<<20 {
			break
		}
	}
	for _, g := range greps {
		b.Run(g.name, func(b *testing.B) {
			m, err := newMatcher(g.pattern, false, g.sensitive)
			if err != nil {
				b.Fatal(err)
			}
			f := newLineFinder(m)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f.reset(text)
				for from := 0; from < len(text); {
					_, end, _, ok := f.next(text, from)
					if !ok {
						break
					}
					from = indexFrom(text, '\n', end) + 1
				}
			}
		})
	}
}
