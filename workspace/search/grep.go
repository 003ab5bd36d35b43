package search

import (
	"context"
	"sort"
	"strings"
)

// GrepOptions says what Grep looks for.
type GrepOptions struct {
	Scope
	// Pattern is a regular expression of Go's regexp package (RE2), or plain text if Fixed. It is matched against one
	// line at a time, without its line end.
	Pattern string
	Fixed   bool
	// CaseSensitive makes upper and lower case differ.
	CaseSensitive bool
	// Include keeps the files that match one of these globs; those with a leading `!` keep files out. A glob without a
	// slash is matched against the name at any depth, others against the path from Dir or from Root. Case counts.
	Include []string
	// Withhold, if set, says which files by path relative to the root are not looked
	// into. It is called side by side, and not for a file that Dir names.
	Withhold func(rel string) bool
	// Context is how many lines to give before and after each match.
	Context int
	// MaxMatches bounds the matching lines returned, the first in the order of the result; 0 means no bound.
	MaxMatches int
	// MaxPerFile bounds the matching lines returned for each file; 0 means no bound.
	MaxPerFile int
	// CountPerFile ends the search of a file after that many matching lines; 0 means that all are counted.
	CountPerFile int
	// MaxLine cuts longer lines to about that many bytes around the match; 0 means 2000.
	MaxLine int
}

// DefaultMaxLine is the length in bytes beyond which lines are cut.
const DefaultMaxLine = 2000

// GrepResult is what Grep found.
type GrepResult struct {
	Files []FileMatches // sorted by path, as bytes
	// Matches counts the matching lines, also those that are not returned. It is exact unless AtLeast.
	Matches      int
	AtLeast      bool
	Shown        int // matching lines in Files
	MatchedFiles int // files with a match, also those that are not returned
	Searched     int // text files looked at
	Binary       int // files passed over because of a NUL in their first 8 KB
	Ignored      int // files left out by a rule; those below an ignored directory are not counted
	Withheld     int // files left out by Withhold
	// Unreadable names what could not be read, or not to its end, sorted.
	Unreadable []string
}

// FileMatches is the matches of one file.
type FileMatches struct {
	Path    string // relative to the root, with slashes
	Lines   []Line // by number; matches and their context
	Matches int    // matching lines, also those that are not in Lines
	AtLeast bool   // there may be more than Matches
	Unsaved bool   // the text is that of an open file
}

// Line is a line of text.
type Line struct {
	Number int    // 1-based
	Text   string // UTF-8, without the line end; invalid bytes are replaced by U+FFFD
	Match  bool   // false for context
	Cut    bool   // the line was too long; Text is a part of it
}

// Grep lists the lines that match. Files are searched side by side; the result is the same each time. The error is the
// context's, or says what is wrong with the pattern or the scope.
func Grep(ctx context.Context, opts GrepOptions) (*GrepResult, error) {
	m, err := newMatcher(opts.Pattern, opts.Fixed, opts.CaseSensitive)
	if err != nil {
		return nil, err
	}
	t, err := opts.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if opts.MaxLine <= 0 {
		opts.MaxLine = DefaultMaxLine
	}
	var include, exclude []*fileFilter
	for _, glob := range opts.Include {
		out, isOut := strings.CutPrefix(glob, "!")
		filters, err := newFileFilters([]string{out}, t.dir)
		if err != nil {
			return nil, err
		}
		if isOut {
			exclude = append(exclude, filters...)
		} else {
			include = append(include, filters...)
		}
	}
	c := &collector{max: opts.MaxMatches, context: opts.Context}
	workers := make([]*grepper, t.workers)
	stats, err := t.walk(ctx, nil, func(i int) visitor {
		workers[i] = &grepper{
			target: t, opts: &opts, include: include, exclude: exclude, out: c, finder: newLineFinder(m),
		}
		return workers[i]
	})
	if err != nil {
		return nil, err
	}
	r := c.result()
	r.Ignored = stats.ignored
	r.Unreadable = stats.unreadable
	for _, w := range workers {
		if w == nil {
			continue
		}
		r.Searched += w.searched
		r.Binary += w.binary
		r.Withheld += w.withheld
		r.Matches += w.matches
		r.MatchedFiles += w.matched
		r.AtLeast = r.AtLeast || w.atLeast
		r.Unreadable = append(r.Unreadable, w.unreadable...)
	}
	sort.Strings(r.Unreadable)
	return r, nil
}
