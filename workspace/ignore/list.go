package ignore

import (
	"bytes"
	"strings"
)

// list is the patterns of one file together with the directory they are relative to.
type list struct {
	set     *patternSet
	baseLen int // bytes of the directory's absolute path, the trailing slash included
}

// patternSet is one parsed rule file.
type patternSet struct {
	patterns []pattern // in the order of the file
	usesPath bool      // some pattern looks at more than the last component
	// Plain names are by far the most common pattern: literal finds them by name (lower-cased in folded), the rest are
	// tried one by one. Both hold indices into patterns, ascending.
	literal map[string][]int
	folded  map[string][]int
	rest    []int
}

// pattern is one line of a rule file, taken apart.
type pattern struct {
	rule     Rule
	glob     string // without `!`, trailing `/`, and a leading `/`
	literal  int    // length of the part of glob before its first special character
	negated  bool
	dirOnly  bool
	anywhere bool // has no slash: is matched against the last component, at any depth
	suffix   bool // anywhere, and `*` followed by a literal
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parse splits a rule file into patterns. Lines that cannot match anything are left out.
func parse(content []byte, file string) *patternSet {
	s := &patternSet{}
	content = bytes.TrimPrefix(content, utf8BOM)
	for n := 1; len(content) > 0; n++ {
		var line []byte
		line, content, _ = bytes.Cut(content, []byte{'\n'})
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		// One carriage return before the line end is part of the line end, also in the last line.
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if p, ok := parseLine(string(line)); ok {
			p.rule.File, p.rule.Line = file, n
			s.patterns = append(s.patterns, p)
		}
	}
	s.index()
	return s
}

func parseLine(line string) (pattern, bool) {
	// Git handles lines as C strings: a NUL ends them.
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	line = trimTrailingSpaces(line)
	p := pattern{rule: Rule{Pattern: line}, glob: line}
	p.glob, p.negated = strings.CutPrefix(p.glob, "!")
	p.glob, p.dirOnly = strings.CutSuffix(p.glob, "/")
	p.anywhere = !strings.Contains(p.glob, "/")
	p.literal = literalPrefix(p.glob)
	if p.anywhere {
		p.suffix = strings.HasPrefix(p.glob, "*") && literalPrefix(p.glob[1:]) == len(p.glob)-1
	} else if p.glob[0] == '/' {
		p.glob = p.glob[1:]
		p.literal--
	}
	return p, p.glob != ""
}

// trimTrailingSpaces drops the spaces (not tabs) at the end, save those a backslash protects.
func trimTrailingSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = i + 1
	}
	return s[:end]
}

func literalPrefix(s string) int {
	if i := strings.IndexAny(s, `*?[\`); i >= 0 {
		return i
	}
	return len(s)
}

func (s *patternSet) index() {
	s.literal, s.folded = map[string][]int{}, map[string][]int{}
	for i := range s.patterns {
		p := &s.patterns[i]
		if p.anywhere && p.literal == len(p.glob) {
			s.literal[p.glob] = append(s.literal[p.glob], i)
			low := lowerASCII(p.glob)
			s.folded[low] = append(s.folded[low], i)
			continue
		}
		s.rest = append(s.rest, i)
		s.usesPath = s.usesPath || !p.anywhere
	}
}

// match returns the last pattern of the file that matches, or nil. path is relative to the file's directory and only
// looked at when usesPath; name is its last component.
func (s *patternSet) match(path, name string, isDir, fold bool) *pattern {
	best := -1
	named := s.literal[name]
	if fold {
		named = s.folded[lowerASCII(name)]
	}
	for i := len(named) - 1; i >= 0; i-- {
		if isDir || !s.patterns[named[i]].dirOnly {
			best = named[i]
			break
		}
	}
	for i := len(s.rest) - 1; i >= 0 && s.rest[i] > best; i-- {
		if s.patterns[s.rest[i]].matches(path, name, isDir, fold) {
			best = s.rest[i]
		}
	}
	if best < 0 {
		return nil
	}
	return &s.patterns[best]
}

func (p *pattern) matches(path, name string, isDir, fold bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.suffix {
		n := len(name) - (len(p.glob) - 1)
		return n >= 0 && equal(p.glob[1:], name[n:], fold)
	}
	if p.anywhere {
		return wildmatch(p.glob, name, false, fold)
	}
	// Git compares the literal beginning on its own and hands only the rest to the matcher, which is why `a**` matches
	// `ab/c` though two asterisks are special next to slashes only: they are at the beginning of what is left.
	if p.literal > len(path) || !equal(p.glob[:p.literal], path[:p.literal], fold) {
		return false
	}
	return wildmatch(p.glob[p.literal:], path[p.literal:], true, fold)
}

// equal compares bytes, the ASCII letters of either case alike if fold is set.
func equal(a, b string, fold bool) bool {
	if a == b {
		return true
	}
	return fold && len(a) == len(b) && lowerASCII(a) == lowerASCII(b)
}

// lowerASCII leaves every byte alone that is not an upper-case ASCII letter, also in text that is not UTF-8.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if isUpper(s[i]) {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = toLower(b[i])
			}
			return string(b)
		}
	}
	return s
}
