package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// grepper searches files for one worker.
type grepper struct {
	*target
	opts             *GrepOptions
	include, exclude []*fileFilter
	out              *collector
	finder           *lineFinder
	buf              []byte // reused from file to file

	searched, binary, matches, matched, withheld int
	atLeast                                      bool
	unreadable                                   []string
}

const (
	firstRead   = 64 << 10  // most files are smaller
	windowSize  = 1 << 20   // what is searched at a time of a large file
	longestLine = 256 << 20 // bound on a single line
	maxUTF16    = 64 << 20  // bound on a file that has to be decoded as a whole
	binaryProbe = 8 << 10
)

func (g *grepper) enters(string) bool { return true }

func (g *grepper) wants(rel, name string) bool {
	for _, f := range g.exclude {
		if f.matches(rel, name) {
			return false
		}
	}
	if len(g.include) == 0 {
		return !g.withholds(rel)
	}
	for _, f := range g.include {
		if f.matches(rel, name) {
			return !g.withholds(rel)
		}
	}
	return false
}

func (g *grepper) withholds(rel string) bool {
	if g.opts.Withhold == nil || g.target.file || !g.opts.Withhold(rel) {
		return false
	}
	g.withheld++
	return true
}

func (g *grepper) overlay(rel string, o overlay) {
	if g.target.file && !g.wants(rel, rel[strings.LastIndexByte(rel, '/')+1:]) {
		return
	}
	if isBinary(o.content) {
		g.binary++
		return
	}
	g.searched++
	s := g.begin(rel)
	text := bytes.TrimPrefix(o.content, utf8BOM)
	s.scan(text, 0, len(text))
	s.end(true)
}

func (g *grepper) file(d *dir, rel, name string, k kind) {
	if k == kindLink && !g.target.file || g.target.file && !g.wants(rel, name) {
		return // what a link leads to is searched under its own name
	}
	f, err := d.open(name, k == kindLink)
	if err != nil {
		g.unreadable = append(g.unreadable, rel)
		return
	}
	defer f.close()
	if !g.search(f, rel) {
		g.unreadable = append(g.unreadable, rel)
	}
}

var utf8BOM = []byte("\xef\xbb\xbf")

func isBinary(text []byte) bool { return bytes.IndexByte(text[:min(len(text), binaryProbe)], 0) >= 0 }

// search reports false when the file could not be read to its end.
func (g *grepper) search(f file, rel string) (complete bool) {
	if g.buf == nil {
		g.buf = make([]byte, firstRead)
	}
	// Knowing the size saves small files a second read, and costs as much, but also shows what is no regular file any more.
	size, regular := f.regularSize()
	if !regular {
		return true
	}
	n, err := f.read(g.buf[:firstRead])
	eof := n == 0 || int64(n) == size
	if err == nil && !eof {
		n, eof, err = fill(f, g.buf[:firstRead], n)
	}
	if err != nil {
		return false
	}
	if n >= 2 && (g.buf[0] == 0xff && g.buf[1] == 0xfe || g.buf[0] == 0xfe && g.buf[1] == 0xff) {
		return g.searchUTF16(f, rel, n, eof)
	}
	if isBinary(g.buf[:n]) {
		g.binary++
		return true
	}
	g.searched++
	s := g.begin(rel)
	from, end := 0, n // searched up to from, read up to end
	if bytes.HasPrefix(g.buf[:n], utf8BOM) {
		from = len(utf8BOM)
		s.offset = from
		s.lastEnd = from
	}
	complete = true
	for {
		to := end
		if !eof {
			to = from + bytes.LastIndexByte(g.buf[from:end], '\n') + 1
		}
		if !s.scan(g.buf[:to], from, to) || eof || g.cancelled() {
			break
		}
		// Keep the lines that may become context, and what is left of the last line.
		keep := to
		for range g.opts.Context {
			if keep > 0 {
				keep = bytes.LastIndexByte(g.buf[:keep-1], '\n') + 1
			}
		}
		s.slide(keep, to)
		copy(g.buf, g.buf[keep:end])
		from, end = to-keep, end-keep
		if len(g.buf) < windowSize {
			g.buf = append(make([]byte, 0, windowSize), g.buf...)[:windowSize]
		} else if end > len(g.buf)/2 {
			if len(g.buf) >= longestLine {
				complete = false
				break
			}
			g.buf = append(make([]byte, 0, 2*len(g.buf)), g.buf...)[:2*len(g.buf)]
		}
		if end, eof, err = fill(f, g.buf, end); err != nil {
			complete = false
			break
		}
	}
	s.end(false)
	if len(g.buf) > windowSize {
		g.buf = nil
	}
	return complete
}

// fill reads until buf is full, which holds n bytes already, or the file ends.
func fill(f file, buf []byte, n int) (end int, eof bool, err error) {
	for n < len(buf) {
		m, err := f.read(buf[n:])
		if err != nil {
			return n, false, err
		}
		if m == 0 {
			return n, true, nil
		}
		n += m
	}
	return n, false, nil
}

// searchUTF16 searches a file that begins with a byte order mark of UTF-16.
func (g *grepper) searchUTF16(f file, rel string, n int, eof bool) bool {
	all := bytes.Clone(g.buf[:n])
	for !eof {
		if len(all) > maxUTF16 {
			return false
		}
		var err error
		if n, eof, err = fill(f, g.buf, 0); err != nil {
			return false
		}
		all = append(all, g.buf[:n]...)
	}
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(all)
	if err != nil {
		return false
	}
	g.searched++
	s := g.begin(rel)
	s.scan(text, 0, len(text))
	s.end(false)
	return true
}

// fileSearch is the state of the search of one file. Offsets are in the current window.
type fileSearch struct {
	*grepper
	path    string
	storing bool
	lines   []Line
	matches int
	stored  int
	atLeast bool

	offset  int // line numbers are known up to here
	number  int // of the line at offset, 1-based
	lastEnd int // the end of the last line in lines
	lastNo  int // and its number
	after   int // lines of context still to come after it
}

func (g *grepper) begin(path string) fileSearch {
	return fileSearch{grepper: g, path: path, storing: g.out.keeps(path), number: 1}
}

// scan searches the lines text[from:to], text[:from] being earlier ones. It reports whether to go on.
func (s *fileSearch) scan(text []byte, from, to int) bool {
	s.finder.reset(text)
	for from < to {
		start, end, near, ok := s.finder.next(text, from)
		if !ok {
			break
		}
		s.matches++
		next := indexFrom(text, '\n', end) + 1
		if s.storing {
			s.store(text, start, end, near, min(next, to))
		}
		from = next
		if s.opts.CountPerFile > 0 && s.matches >= s.opts.CountPerFile {
			s.atLeast = true
			s.contextAfter(text, to)
			return false
		}
	}
	s.contextAfter(text, to)
	return true
}

// store adds a matching line and the context before it.
func (s *fileSearch) store(text []byte, start, end, near, next int) {
	s.number += bytes.Count(text[s.offset:start], []byte{'\n'})
	s.offset = start
	s.contextAfter(text, start)
	first, n := start, 0
	for n < s.opts.Context && first > s.lastEnd {
		first = bytes.LastIndexByte(text[:first-1], '\n') + 1
		n++
	}
	for ; first < start; n-- {
		lineEnd := indexFrom(text, '\n', first)
		s.addLine(text[first:lineEnd], s.number-n, 0, false)
		first = lineEnd + 1
	}
	s.addLine(text[start:end], s.number, near-start, true)
	s.lastEnd, s.lastNo, s.after = next, s.number, s.opts.Context
	if s.stored++; s.opts.MaxPerFile > 0 && s.stored >= s.opts.MaxPerFile ||
		s.opts.MaxMatches > 0 && s.stored >= s.opts.MaxMatches {
		s.storing = false
	}
}

// contextAfter adds what is due of the lines after the last match, up to limit.
func (s *fileSearch) contextAfter(text []byte, limit int) {
	for s.after > 0 && s.lastEnd < limit {
		end := indexFrom(text[:limit], '\n', s.lastEnd)
		s.lastNo++
		s.addLine(text[s.lastEnd:end], s.lastNo, 0, false)
		s.lastEnd = min(end+1, limit)
		s.after--
	}
}

// slide tells that the window now begins at keep and what is before to has been searched.
func (s *fileSearch) slide(keep, to int) {
	s.number += bytes.Count(s.buf[s.offset:to], []byte{'\n'})
	s.offset = to - keep
	s.lastEnd = max(s.lastEnd-keep, 0)
}

func (s *fileSearch) end(unsaved bool) {
	if s.matches == 0 {
		return
	}
	s.grepper.matches += s.matches
	s.matched++
	s.grepper.atLeast = s.grepper.atLeast || s.atLeast
	if len(s.lines) > 0 {
		s.out.add(FileMatches{Path: s.path, Lines: s.lines, Matches: s.matches, AtLeast: s.atLeast, Unsaved: unsaved})
	}
}

// addLine copies a line out of the window, cut if it is too long to a part around the offset near.
func (s *fileSearch) addLine(line []byte, number, near int, match bool) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	l := Line{Number: number, Match: match}
	if limit := s.opts.MaxLine; len(line) > limit {
		l.Cut = true
		from := max(0, min(near-limit/4, len(line)-limit))
		to := from + limit
		for from > 0 && from < to && !utf8.RuneStart(line[from]) {
			from++
		}
		for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
			to--
		}
		line = line[from:to]
	}
	l.Text = strings.ToValidUTF8(string(line), "\uFFFD")
	s.lines = append(s.lines, l)
}
