package search

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// pathPattern is the pattern of Glob.
type pathPattern struct {
	literal string // as written, cleaned: what a file would be called that the pattern names
	glob    string // folded unless case counts
	fold    bool
	broken  bool // not a glob; only the literal counts
	suffix  string
	dirs    []string // leading components without special characters, folded
	depth   int      // components of a path that can match, or -1 when `**` makes that open
}

func newPathPattern(t *target, pattern string, caseSensitive bool) (*pathPattern, error) {
	written := pattern
	if pattern == "" {
		return nil, fmt.Errorf("the glob pattern is empty; ** means every file")
	}
	if filepath.IsAbs(pattern) || path.IsAbs(pattern) {
		base := filepath.ToSlash(t.abs(t.dir))
		rel, ok := strings.CutPrefix(filepath.ToSlash(pattern), strings.TrimSuffix(base, "/")+"/")
		if !ok {
			return nil, fmt.Errorf("the glob pattern %q is absolute and not inside the searched directory %s; write it relative to that", written, base)
		}
		pattern = rel
	}
	pattern = strings.TrimPrefix(pattern, "./")
	p := &pathPattern{literal: pattern, fold: !caseSensitive}
	glob := expandRanges(withoutDotDot(pattern))
	if strings.HasPrefix(glob, "../") {
		return nil, fmt.Errorf("the glob pattern %q leads out of the searched directory; give that directory as the path instead", written)
	}
	p.broken = !doublestar.ValidatePattern(glob)
	p.glob = p.folded(glob)
	if p.fold && !p.broken && !doublestar.ValidatePattern(p.glob) {
		p.glob, p.fold = glob, false // a range such as [Z-a] has no meaning without case
	}
	p.suffix = literalSuffix(p.glob)
	p.suffix = p.suffix[strings.LastIndexByte(p.suffix, '/')+1:]
	parts := strings.Split(p.glob, "/")
	for _, c := range parts[:len(parts)-1] {
		if strings.ContainsAny(c, `*?[]{}\`) {
			break
		}
		p.dirs = append(p.dirs, c)
	}
	p.depth = len(parts)
	if strings.Contains(p.glob, "**") || strings.ContainsAny(p.glob, `{[\`) {
		p.depth = -1 // a slash may be inside of braces or classes
	}
	return p, nil
}

// matches takes a path relative to the searched directory.
func (p *pathPattern) matches(rel string) bool {
	if rel == p.literal {
		return true
	}
	if p.broken {
		return false
	}
	if p.fold {
		rel = p.folded(rel)
	}
	return strings.HasSuffix(rel, p.suffix) && doublestar.MatchUnvalidated(p.glob, rel)
}

// mayMatchBelow reports false only if nothing below the directory can match.
func (p *pathPattern) mayMatchBelow(rel string) bool {
	if strings.HasPrefix(p.literal, rel) && len(p.literal) > len(rel) && p.literal[len(rel)] == '/' {
		return true
	}
	if p.broken {
		return false
	}
	if p.depth >= 0 && strings.Count(rel, "/")+1 >= p.depth {
		return false
	}
	for _, want := range p.dirs {
		name, rest, more := strings.Cut(rel, "/")
		if p.folded(name) != want {
			return false
		}
		if !more {
			return true
		}
		rel = rest
	}
	return true
}

// folded maps letters that differ in case only to the same letter, and leaves bytes alone that are not UTF-8.
func (p *pathPattern) folded(s string) string {
	if !p.fold {
		return s
	}
	ascii, upper := true, false
	for i := 0; i < len(s); i++ {
		ascii = ascii && s[i] < utf8.RuneSelf
		upper = upper || 'A' <= s[i] && s[i] <= 'Z'
	}
	if ascii {
		if !upper {
			return s
		}
		return strings.ToLower(s)
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			b.WriteByte(s[0])
		} else {
			b.WriteRune(foldRune(r))
		}
		s = s[n:]
	}
	return b.String()
}

// foldRune picks one rune of those that simple case folding takes for equal: the lower-case ASCII letter if there is one,
// otherwise the least.
func foldRune(r rune) rune {
	least := r
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		least = min(least, o)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

// withoutDotDot resolves `..` after a component that is not special.
func withoutDotDot(pattern string) string {
	if !strings.Contains(pattern, "..") {
		return pattern
	}
	var out []string
	for _, c := range strings.Split(pattern, "/") {
		if c == ".." && len(out) > 0 && out[len(out)-1] != ".." && !strings.ContainsAny(out[len(out)-1], `*?[]{}\`) {
			out = out[:len(out)-1]
			continue
		}
		out = append(out, c)
	}
	return strings.Join(out, "/")
}

// maxRange bounds what `{1..9}` expands to.
const maxRange = 200

// expandRanges turns `{1..3}` and `{a..c}` into `{1,2,3}` and `{a,b,c}`.
func expandRanges(pattern string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(pattern, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(pattern[open:], '}')
		if end < 0 {
			break
		}
		end += open
		escaped := open > 0 && pattern[open-1] == '\\'
		first, last, ok := strings.Cut(pattern[open+1:end], "..")
		items := rangeItems(first, last)
		if escaped || !ok || items == nil {
			b.WriteString(pattern[:open+1])
			pattern = pattern[open+1:]
			continue
		}
		b.WriteString(pattern[:open+1])
		b.WriteString(strings.Join(items, ","))
		pattern = pattern[end:]
	}
	b.WriteString(pattern)
	return b.String()
}

func rangeItems(first, last string) []string {
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	letters := err1 != nil && err2 != nil && len(first) == 1 && len(last) == 1 && isLetter(first[0]) && isLetter(last[0])
	if letters {
		from, to = int(first[0]), int(last[0])
	} else if err1 != nil || err2 != nil {
		return nil
	}
	step := 1
	if from > to {
		step = -1
	}
	if (to-from)*step >= maxRange {
		return nil
	}
	var items []string
	for i := from; ; i += step {
		if letters {
			items = append(items, string(rune(i)))
		} else {
			items = append(items, strconv.Itoa(i))
		}
		if i == to {
			return items
		}
	}
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
