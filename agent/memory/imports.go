package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/workspace"
)

// maxDepth is how deep imports may nest.
const maxDepth = 5

// Imports. "@path" takes in the file at path, which is absolute or relative to the
// file that names it. It begins after white space or at the start, ends before white
// space, and has a slash or an extension, so that "@someone" stays what it is. What
// stands in code, a fence or a span, is no import. The file must be text and lie
// below a root of the file that names it (the project and the workspace folders, or
// the user's settings folder), with links followed.

// expand returns text with its imports in place. chain holds the keys of the files
// that led here.
func (l *loader) expand(text, from string, level Level, chain []string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range findImports(text) {
		b.WriteString(text[at:m.start])
		b.WriteString(l.take(m.path, from, level, chain))
		at = m.end
	}
	return b.String() + text[at:]
}

// take returns what stands in the place of one import.
func (l *loader) take(name, from string, level Level, chain []string) string {
	refuse := func(reason string) string {
		l.note("%s: @%s is not taken in: %s", from, name, reason)
		return fmt.Sprintf("@%s [not taken in: %s]", name, reason)
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from), path)
	}
	path = filepath.Clean(path)
	key := workspace.Key(path)
	info, err := os.Stat(path)
	_, open := l.s.Document(path)
	switch {
	case err != nil && !open:
		if c := name[0]; c != '.' && c != '/' && filepath.Ext(name) == "" {
			return "@" + name // rather a package than a file: "@types/node"
		}
		if !l.inRoots(path) {
			return refuse("it is outside of the project")
		}
		return refuse("there is no such file")
	case !l.inRoots(path):
		return refuse("it is outside of the project")
	case err == nil && info.IsDir():
		return refuse("it is a folder")
	case secret(path):
		return refuse("it may hold secrets")
	case slices.Contains(chain, key):
		return refuse("it would take itself in")
	case len(chain) > maxDepth:
		return refuse(fmt.Sprintf("imports nest more than %d deep", maxDepth))
	case l.seen[key]:
		return fmt.Sprintf("@%s [taken in above]", name)
	}
	text, open, ok := l.read(path)
	if !ok {
		return refuse("it cannot be read")
	}
	if l.size+l.pending+len(text) > MaxTotal {
		return refuse(fmt.Sprintf("all instructions together would be more than %d KB", MaxTotal>>10))
	}
	l.pending += len(text)
	l.seen[key] = true
	l.out.Files = append(l.out.Files, File{Path: path, Level: level, ImportedBy: from, Bytes: len(text), Open: open})
	return strings.TrimSpace(l.expand(text, path, level, append(slices.Clip(chain), key)))
}

// secret reports whether a file is known by its name to hold credentials.
func secret(path string) bool {
	base := strings.ToLower(filepath.Base(path))
	switch filepath.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx":
		return true
	}
	return strings.HasPrefix(base, ".env") || strings.HasPrefix(base, "id_rsa") || strings.HasPrefix(base, "id_ed25519") || base == ".netrc" || base == ".npmrc"
}

// mention is one "@path" in a text, in bytes.
type mention struct {
	start, end int
	path       string
}

// findImports returns the imports of a text that are not in code.
func findImports(text string) []mention {
	var out []mention
	fence := "" // that is open
	for start := 0; start < len(text); {
		end := start + strings.IndexByte(text[start:], '\n') + 1
		if end == start {
			end = len(text)
		}
		line := strings.TrimRight(text[start:end], "\r\n")
		switch mark := fenceOf(line); {
		case fence == "" && mark != "":
			fence = mark
		case fence != "":
			if rest := strings.TrimSpace(line); mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.Trim(rest, mark[:1]) == "" {
				fence = ""
			}
		default:
			out = append(out, inLine(line, start)...)
		}
		start = end
	}
	return out
}

// fenceOf returns the run of backticks or tildes that opens or closes a block of
// code (CommonMark 0.31, section 4.5), empty when line is none.
func fenceOf(line string) string {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 || t == "" || (t[0] != '`' && t[0] != '~') {
		return ""
	}
	n := len(t) - len(strings.TrimLeft(t, t[:1]))
	if n < 3 || (t[0] == '`' && strings.Contains(t[n:], "`")) {
		return ""
	}
	return t[:n]
}

// inLine returns the imports of a line, which starts at offset base of its text.
func inLine(line string, base int) []mention {
	var out []mention
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '`':
			// A span of code ends with as many backticks as it begins with.
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			if end := closing(line[i+n:], n); end >= 0 {
				i += n + end + n - 1
			} else {
				i += n - 1
			}
		case line[i] == '@' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			end := i + 1
			for end < len(line) && line[end] != ' ' && line[end] != '\t' {
				end++
			}
			path := strings.TrimRight(line[i+1:end], ",;:!?)")
			if strings.HasSuffix(path, ".") && !strings.HasSuffix(path, "..") {
				path = path[:len(path)-1] // the end of a sentence
			}
			if isPath(path) {
				out = append(out, mention{base + i, base + i + 1 + len(path), path})
			}
			i = end - 1
		}
	}
	return out
}

// closing returns where a run of exactly n backticks begins in s, -1 when none does.
func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			return i
		}
		i += run
	}
	return -1
}

// isPath tells the name of a file from that of a person.
func isPath(p string) bool {
	if p == "" || strings.Contains(p, "://") || strings.Contains(p, "@") {
		return false
	}
	c := p[0]
	if c != '.' && c != '/' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
		return false
	}
	return strings.Contains(p, "/") || len(filepath.Ext(p)) > 1
}
