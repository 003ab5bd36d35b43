package search

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Benchmarks come in pairs, ours and ripgrep's, on the same tree in the same run: `go test -bench . ./workspace/search`.

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
	rg, noRG := exec.LookPath("rg")
	for _, g := range greps {
		opts := GrepOptions{Pattern: g.pattern, CaseSensitive: g.sensitive, MaxMatches: 100}
		opts.Root = root
		b.Run(g.name+"/redline", func(b *testing.B) {
			b.ReportAllocs()
			var r *GrepResult
			for b.Loop() {
				var err error
				if r, err = Grep(context.Background(), opts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(r.Matches), "lines")
		})
		b.Run(g.name+"/rg", func(b *testing.B) {
			if noRG != nil {
				b.Skip("rg is not installed")
			}
			args := []string{"--no-config", "--hidden", "--no-messages", "-c", "-e", g.pattern, "-g", "!.git"}
			if !g.sensitive {
				args = append(args, "-i")
			}
			for b.Loop() {
				if err := exec.Command(rg, append(args, root)...).Run(); err != nil && err.Error() != "exit status 1" {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGlob(b *testing.B) {
	root := goroot(b)
	for _, g := range []struct{ name, pattern string }{{"all", "**/*"}, {"go", "**/*.go"}, {"one", "**/zsyscall_linux.go"}} {
		opts := GlobOptions{Pattern: g.pattern, Limit: 100}
		opts.Root = root
		b.Run(g.name+"/redline", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Glob(context.Background(), opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("files/rg", func(b *testing.B) {
		rg, err := exec.LookPath("rg")
		if err != nil {
			b.Skip("rg is not installed")
		}
		for b.Loop() {
			if err := exec.Command(rg, "--no-config", "--hidden", "--files", root).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
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
