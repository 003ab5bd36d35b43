package match

import "strings"

// style is how a file indents: by tabs (unit 1) or by unit spaces.
type style struct {
	tabs bool
	unit int
}

// style tells from its first lines how the file is indented.
func (ix *index) style() style {
	if ix.indents == (style{}) {
		ix.indents = ix.detectStyle()
	}
	return ix.indents
}

func (ix *index) detectStyle() style {
	const enough = 2000
	tabs, spaces := 0, 0
	var steps [9]int
	prev := 0
	for k := 0; k < len(ix.solid) && k < enough; k++ {
		indent, _ := splitIndent(ix.solidLine(k))
		switch {
		case strings.HasPrefix(indent, "\t"):
			tabs++
			continue
		case indent != "":
			spaces++
		}
		if d := len(indent) - prev; d > 1 && d < len(steps) {
			steps[d]++
		}
		prev = len(indent)
	}
	if tabs > spaces {
		return style{tabs: true, unit: 1}
	}
	best := 4
	for d, n := range steps {
		if n > steps[best] {
			best = d
		}
	}
	return style{unit: best}
}

// indentation returns the function that gives new line j the file's indentation. The old lines tell how the model's
// indentation relates to the file's; there is more than one way to read them, so the readings are compared by how well
// they put the lines the model kept, or replaced one by one, where the file has them.
func (m *merge) indentation(file func() style) func(j int) string {
	asIs := func(j int) string { return m.new.lines[j].indent }
	differs := false
	for i, l := range m.old.lines {
		differs = differs || l.indent != m.place.indent[i]
	}
	if !differs || len(m.new.lines) == 0 {
		return asIs
	}
	conv := m.converter(file())
	mapped := func(j int) string { return m.mapped(j, conv) }
	best, cost := mapped, m.disagreement(mapped)
	if shift := m.shifted(); shift != nil {
		if c := m.disagreement(shift); c < cost {
			best, cost = shift, c
		}
	}
	// The model may have had the indentation wrong in the old text only. New text that starts left of the place is no
	// such case: there the model wrapped or moved lines in its own indentation.
	if (m.reachesBase() || m.new.lines[0].indent == m.place.indent[0]) && m.disagreement(asIs) < cost {
		best = asIs
	}
	return best
}

// disagreement counts the lines that a reading puts elsewhere than the file's line they are, or replace.
func (m *merge) disagreement(indent func(j int) string) int {
	n := 0
	for j, i := range m.near {
		if i < 0 || indent(j) == m.place.indent[i] {
			continue
		}
		n++
		if m.same[j] {
			n++
		}
	}
	return n
}

// reachesBase reports whether every new line has at least the indentation that all lines of the place share.
func (m *merge) reachesBase() bool {
	base := m.place.indent[0]
	for _, in := range m.place.indent[1:] {
		base = commonPrefix(base, in)
	}
	for _, l := range m.new.lines {
		if !strings.HasPrefix(l.indent, base) {
			return false
		}
	}
	return true
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// shifted is the reading that the new text as a whole stands too far left or right, as its first line tells; nil when
// that line tells nothing.
func (m *merge) shifted() func(j int) string {
	first, want := m.new.lines[0].indent, m.place.indent[0]
	if add, ok := strings.CutSuffix(want, first); ok {
		return func(j int) string { return add + m.new.lines[j].indent }
	}
	if drop, ok := strings.CutSuffix(first, want); ok {
		return func(j int) string { return strings.TrimPrefix(m.new.lines[j].indent, drop) }
	}
	return nil
}

// mapped is the reading that an indentation means what the file has where the old text has it, and that a deeper or
// shallower one goes by steps from there.
func (m *merge) mapped(j int, conv converter) string {
	want := m.new.lines[j].indent
	pos := 0 // where the line stands among the old ones
	for n := j; n >= 0; n-- {
		if m.near[n] >= 0 {
			pos = m.near[n]
			break
		}
	}
	best, rank := -1, [3]int{}
	for i, l := range m.old.lines {
		dist := max(pos-i, i-pos)
		var r [3]int
		switch {
		case l.indent == want:
			r = [3]int{3, 0, -dist}
		case strings.HasPrefix(want, l.indent):
			r = [3]int{2, len(l.indent), -dist}
		case strings.HasPrefix(l.indent, want):
			r = [3]int{1, -len(l.indent), -dist}
		default:
			continue
		}
		if best < 0 || less(rank, r) {
			best, rank = i, r
		}
	}
	if best < 0 {
		return want // tabs against spaces within the model's own text
	}
	from, to := m.old.lines[best].indent, m.place.indent[best]
	if rank[0] >= 2 {
		return to + conv.steps(want[len(from):])
	}
	drop := conv.steps(from[len(want):])
	if rest, ok := strings.CutSuffix(to, drop); ok {
		return rest
	}
	return to[:max(0, len(to)-len(drop))]
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// converter turns steps of the model's indentation into the file's.
type converter struct {
	file  style
	num   int // spaces of the file for den characters of the model, when the lines tell
	den   int
	model int // spaces of one step of the model
}

func (m *merge) converter(file style) converter {
	c := converter{file: file}
	deepest := ""
	lo, hi := 0, 0
	for i, l := range m.old.lines {
		if len(m.place.indent[i]) > len(deepest) {
			deepest = m.place.indent[i]
		}
		if len(l.indent) < len(m.old.lines[lo].indent) {
			lo = i
		}
		if len(l.indent) > len(m.old.lines[hi].indent) {
			hi = i
		}
	}
	if deepest != "" {
		c.file.tabs = strings.HasPrefix(deepest, "\t")
		if !c.file.tabs && file.tabs {
			c.file.unit = 4
		}
	}
	c.den = len(m.old.lines[hi].indent) - len(m.old.lines[lo].indent)
	c.num = len(m.place.indent[hi]) - len(m.place.indent[lo])
	if c.den <= 0 || c.num <= 0 {
		// One depth only: the indentation itself is the scale, unless it is a mere shift of the same kind.
		c.den, c.num = len(m.old.lines[hi].indent), len(m.place.indent[hi])
		if c.den > 0 && c.num > 0 && m.old.lines[hi].indent[0] == m.place.indent[hi][0] {
			c.num = c.den
		}
	}
	for _, l := range m.old.lines {
		c.model = gcd(c.model, strings.Count(l.indent, " "))
	}
	for _, l := range m.new.lines {
		c.model = gcd(c.model, strings.Count(l.indent, " "))
	}
	if c.model < 2 {
		c.model = 4
	}
	return c
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// steps converts whitespace that stands to the right of an indentation the file is known to have.
func (c converter) steps(s string) string {
	if s == "" {
		return ""
	}
	tabs := s[0] == '\t'
	switch {
	case tabs == c.file.tabs && (tabs || c.num == c.den || c.den <= 0):
		return s
	case c.den > 0 && c.num > 0 && len(s)*c.num%c.den == 0:
		if c.file.tabs {
			return strings.Repeat("\t", len(s)*c.num/c.den)
		}
		return strings.Repeat(" ", len(s)*c.num/c.den)
	case tabs:
		return strings.Repeat(" ", len(s)*c.file.unit)
	case c.file.tabs:
		return strings.Repeat("\t", len(s)/c.model) + strings.Repeat(" ", len(s)%c.model)
	}
	return s
}
