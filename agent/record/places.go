package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Places are folders that differ from machine to machine.
type Places struct {
	Folders []string // of the workspace
	Home    string   // of the user's settings; may be empty
}

// replacements returns pairs of a folder and its placeholder as they stand inside
// JSON strings, the longest folder first.
func (p Places) replacements() [][2]string {
	var out [][2]string
	add := func(dir, name string) {
		if len(dir) < 2 { // "/" is everywhere
			return
		}
		out = append(out, [2]string{quoted(dir), name})
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			out = append(out, [2]string{quoted(real), name})
		}
	}
	for i, f := range p.Folders {
		name := "${REDLINE_ROOT}"
		if i > 0 {
			name = fmt.Sprintf("${REDLINE_ROOT%d}", i+1)
		}
		add(f, name)
	}
	add(p.Home, "${REDLINE_HOME}")
	slices.SortStableFunc(out, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	return out
}

func quoted(s string) string {
	raw, _ := json.Marshal(s) // a string can always be encoded
	return strings.Trim(string(raw), `"`)
}

// hide puts placeholders into JSON.
func (p Places) hide(raw []byte) []byte {
	for _, r := range p.replacements() {
		raw = bytes.ReplaceAll(raw, []byte(r[0]), []byte(r[1]))
	}
	return raw
}

// show is the inverse of hide, for this machine's folders.
func (p Places) show(raw []byte) []byte {
	seen := map[string]bool{}
	for i, f := range p.Folders {
		name := "${REDLINE_ROOT}"
		if i > 0 {
			name = fmt.Sprintf("${REDLINE_ROOT%d}", i+1)
		}
		if !seen[name] {
			raw = bytes.ReplaceAll(raw, []byte(name), []byte(quoted(f)))
		}
		seen[name] = true
	}
	return bytes.ReplaceAll(raw, []byte("${REDLINE_HOME}"), []byte(quoted(p.Home)))
}

// passing are things that differ from run to run: sessions' IDs, the folders for long
// results, the date that the model is told.
var passing = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(quoted(os.TempDir()), "/")) + `/redline-[0-9A-Za-z._-]+`), "<temp>"},
	{regexp.MustCompile(`/tmp/redline-[0-9A-Za-z._-]+`), "<temp>"},
	{regexp.MustCompile(`\bs-[0-9a-f]{23}\b`), "<session>"},
	{regexp.MustCompile(`\bToday's date: [^.]{5,60}\.`), "Today's date: <date>."},
}

// settle replaces what differs from run to run.
func settle(s string) string {
	for _, p := range passing {
		s = p.re.ReplaceAllString(s, p.to)
	}
	return s
}
