package match

import "strings"

// index holds the lines of a text, with a hash of each line that is not blank. The hash leaves out whitespace and takes
// quotes and Unicode forms alike, so lines that any layout stage may take for one another have the same hash.
type index struct {
	text  string
	start []int32  // byte offset of each line, and len(text) at the end; a line after a final newline is not counted
	solid []int32  // numbers, from 0, of the lines that are not blank
	hash  []uint64 // of each solid line

	indents style // found when first asked for
}

func newIndex(text string) *index {
	n := strings.Count(text, "\n") + 2
	ix := &index{text: text, start: make([]int32, 0, n), solid: make([]int32, 0, n), hash: make([]uint64, 0, n)}
	at := 0
	if strings.HasPrefix(text, "\uFEFF") {
		at = len("\uFEFF") // a byte order mark is no part of the first line
	}
	var buf []byte
	before := "" // the line before, with its line end
	for at < len(text) {
		if n := len(ix.hash); before != "" && strings.HasPrefix(text[at:], before) {
			// The same line again, as in data: what is known of it holds. It is solid.
			ix.solid = append(ix.solid, int32(len(ix.start)))
			ix.hash = append(ix.hash, ix.hash[n-1])
			ix.start = append(ix.start, int32(at))
			at += len(before)
			continue
		}
		end := plainRun(text, at)
		var line uint64
		solid := end > at
		if end < len(text) && text[end] != '\n' {
			if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
				end += i
			} else {
				end = len(text)
			}
			buf = squash(buf[:0], text[at:end])
			solid, line = len(buf) > 0, hashLine(buf)
		} else {
			line = hashLine(text[at:end])
		}
		before = ""
		end = min(end+1, len(text))
		if solid {
			ix.solid = append(ix.solid, int32(len(ix.start)))
			ix.hash = append(ix.hash, line)
			if text[end-1] == '\n' {
				before = text[at:end]
			}
		}
		ix.start = append(ix.start, int32(at))
		at = end
	}
	ix.start = append(ix.start, int32(len(text)))
	return ix
}

// line returns line i (from 0) without its line end.
func (ix *index) line(i int) string {
	s := ix.text[ix.start[i]:ix.start[i+1]]
	s = strings.TrimSuffix(s, "\n")
	return strings.TrimSuffix(s, "\r")
}

// lineEnd returns the line end of line i: "\n", "\r\n" or "".
func (ix *index) lineEnd(i int) string {
	s := ix.text[ix.start[i]:ix.start[i+1]]
	return s[len(ix.line(i)):]
}

// solidLine returns the k-th line that is not blank.
func (ix *index) solidLine(k int) string { return ix.line(int(ix.solid[k])) }

// runs returns the numbers k for which the solid lines k, k+1, … have the hashes of want, overlapping ones too, at most
// limit of them. It takes linear time whatever repeats (Knuth, Morris and Pratt).
func (ix *index) runs(want []uint64, limit int) (at []int, more bool) {
	fail := make([]int, len(want))
	for i, k := 1, 0; i < len(want); i++ {
		for k > 0 && want[i] != want[k] {
			k = fail[k-1]
		}
		if want[i] == want[k] {
			k++
		}
		fail[i] = k
	}
	k := 0
	for i, h := range ix.hash {
		for k > 0 && h != want[k] {
			k = fail[k-1]
		}
		if h == want[k] {
			k++
		}
		if k == len(want) {
			if len(at) == limit {
				return at, true
			}
			at = append(at, i+1-k)
			k = fail[k-1]
		}
	}
	return at, false
}
