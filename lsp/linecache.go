package lsp

import (
	"slices"
	"sync"
	"unsafe"

	"go.lsp.dev/protocol"

	"redline/workspace"
	"redline/workspace/diff"
	"redline/workspace/text"
)

// lineCache keeps what was found out about the texts used last, so that a document
// is not gone through again for each message about it. A nil cache keeps nothing.
type lineCache struct {
	mu     sync.Mutex
	recent []*mapper // newest last
}

// maxCached is how many texts are kept. Each keeps 8 bytes a line.
const maxCached = 8

// sameString reports whether a and b are the same bytes in memory: whether they are
// equal would be too long to find out.
func sameString(a, b string) bool {
	return len(a) == len(b) && (len(a) == 0 || unsafe.StringData(a) == unsafe.StringData(b))
}

// mapper returns the mapper of a text.
func (c *lineCache) mapper(t string, encoding protocol.PositionEncodingKind) *mapper {
	if c == nil {
		return newMapper(t, encoding)
	}
	c.mu.Lock()
	for i, m := range c.recent {
		if sameString(m.text, t) && m.encoding == encoding {
			c.recent = append(slices.Delete(c.recent, i, i+1), m)
			c.mu.Unlock()
			return m
		}
	}
	c.mu.Unlock()
	m := newMapper(t, encoding) // two at once do it twice
	c.keep(m)
	return m
}

// keep adds a mapper. Small texts are not worth a place.
func (c *lineCache) keep(m *mapper) {
	if c == nil || len(m.text) < 4<<10 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent) >= maxCached {
		c.recent = slices.Delete(c.recent, 0, len(c.recent)-maxCached+1)
	}
	c.recent = append(c.recent, m)
}

// splice returns the mapper of the text in which the bytes [start, end) are replaced
// by with. Only the lines around them are looked at; m stays as it is.
func (m *mapper) splice(start, end int, with string) *mapper {
	t := m.text[:start] + with + m.text[end:]
	first := m.line(start)
	if first > 0 {
		first-- // "\r" at its end may become "\r\n"
	}
	last := m.line(end) + 1 // the line after the one that end is in
	for last < len(m.starts) && m.starts[last] <= end {
		last++
	}
	grow := len(with) - (end - start)
	to := len(t)
	if last < len(m.starts) {
		to = m.starts[last] + grow
	}
	out := &mapper{text: t, encoding: m.encoding, starts: make([]int, 0, len(m.starts)+len(with)/16+8)}
	out.starts = append(out.starts, m.starts[:first+1]...)
	for at := m.starts[first]; at < to; {
		at += diff.NextLine(t[at:to])
		if c := t[at-1]; (c == '\n' || c == '\r') && at < to {
			out.starts = append(out.starts, at)
		}
	}
	if last < len(m.starts) {
		for _, s := range m.starts[last:] {
			out.starts = append(out.starts, s+grow)
		}
		return out
	}
	if to > 0 && to > m.starts[first] && (t[to-1] == '\n' || t[to-1] == '\r') {
		out.starts = append(out.starts, to)
	}
	return out
}

// facts are what a proposal says of the text of a file.
type facts struct {
	once sync.Once
	hash string
	eol  text.EOL
}

func (m *mapper) facts() *facts {
	m.known.once.Do(func() { m.known.hash, m.known.eol = workspace.Hash(m.text), text.DetectEOL(m.text) })
	return &m.known
}
