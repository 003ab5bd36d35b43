package match

// merge relates the lines of new to those of old, and through them to the file's.
type merge struct {
	place    place
	old, new block
	near     []int  // for each new line the old line it is, is made from, or -1
	same     []bool // near has the same text, whatever the indentation
	kept     []bool // near has the same text and indentation: the model did not change it
	indent   func(j int) string
}

func newMerge(p place, old, new block, file func() style) *merge {
	m := &merge{place: p, old: old, new: new}
	m.near = align(len(old.lines), len(new.lines), func(i, j int) int {
		a, b := old.lines[i], new.lines[j]
		switch {
		case a.text != b.text:
			return unlike
		case a.indent != b.indent:
			return moved
		}
		return alike
	})
	m.same = make([]bool, len(new.lines))
	m.kept = make([]bool, len(new.lines))
	for j, i := range m.near {
		m.same[j] = i >= 0
		m.kept[j] = i >= 0 && old.lines[i].indent == new.lines[j].indent
	}
	m.pairChanged()
	m.indent = m.indentation(file)
	return m
}

// pairChanged pairs the lines between two unchanged ones: one by one where as many were written as taken, else the
// first with the first, which is where blank lines and line ends carry over.
func (m *merge) pairChanged() {
	prev := -1 // the old line paired last
	for j := 0; j < len(m.near); {
		if m.near[j] >= 0 {
			prev = m.near[j]
			j++
			continue
		}
		end, next := j, len(m.old.lines)
		for end < len(m.near) && m.near[end] < 0 {
			end++
		}
		if end < len(m.near) {
			next = m.near[end]
		}
		if next-prev-1 == end-j {
			for n := 0; j+n < end; n++ {
				m.near[j+n] = prev + 1 + n
			}
		} else if next-prev-1 > 0 {
			m.near[j] = prev + 1
		}
		j = end
	}
}

// trail is the whitespace at the end of a changed line: the model's, which may mean something (Markdown), unless it put
// the same where the file has other whitespace.
func (m *merge) trail(j int) string {
	trail := m.new.lines[j].trail
	if i := m.near[j]; trail != "" && i >= 0 && m.old.lines[i].trail == trail {
		line := m.place.ix.line(m.place.row(i))
		return line[len(m.place.indent[i])+len(m.place.text[i]):]
	}
	return trail
}

// gapAfter is the number of blank lines that follow the old line that new line j is, 0 when there is no such line.
func (m *merge) gapAfter(j int) int {
	if i := m.near[j]; i >= 0 && m.same[j] && i+1 < len(m.old.lines) {
		return m.old.lines[i+1].gap
	}
	return 0
}
