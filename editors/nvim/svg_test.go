package nvim_test

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// style is how a run of cells looks; colours are "#rrggbb", empty where the terminal's own.
type style struct {
	fg, bg                        string
	bold, italic, underline, flip bool
}

const (
	cellWidth, cellHeight = 8.4, 18.0
	paper, ink            = "#14161b", "#e0e2ea" // Neovim's own dark colours
)

var escape = regexp.MustCompile("\x1b\\[([0-9;:]*)m|\x1b[()][A-Z0-9]")

// svg draws what `tmux capture-pane -e` has printed: a picture that needs no terminal.
func svg(captured string) string {
	lines := strings.Split(strings.TrimRight(captured, "\n"), "\n")
	var rects, texts strings.Builder
	width := 0
	var st style
	for row, line := range lines {
		col, at := 0, 0
		draw := func(text string) {
			for _, r := range runs(text) {
				fg, bg := st.colours()
				x, y := float64(col)*cellWidth, float64(row)*cellHeight
				w := float64(r.cells) * cellWidth
				if bg != paper {
					fmt.Fprintf(&rects, `<rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", x, y, w+0.3, cellHeight, bg)
				}
				if strings.TrimSpace(r.text) != "" {
					fmt.Fprintf(&texts, `<text x="%.1f" y="%.0f" textLength="%.1f" fill="%s"%s>%s</text>`+"\n", x, y+13, w, fg, st.attributes(), html.EscapeString(r.text))
				}
				col += r.cells
			}
		}
		for _, m := range escape.FindAllStringSubmatchIndex(line, -1) {
			draw(line[at:m[0]])
			if m[2] >= 0 {
				st.apply(line[m[2]:m[3]])
			}
			at = m[1]
		}
		draw(line[at:])
		width = max(width, col)
	}
	w, h := float64(width)*cellWidth, float64(len(lines))*cellHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 %.0f %.0f" font-family="ui-monospace, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">
<rect x="-8" y="-8" width="100%%" height="100%%" rx="6" fill="%s"/>
%s%s</svg>
`, w+16, h+16, paper, rects.String(), texts.String())
}

// words returns the text of a picture.
func words(svg string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`>([^<]*)</text>`).FindAllStringSubmatch(svg, -1) {
		b.WriteString(html.UnescapeString(m[1]) + "\n")
	}
	return b.String()
}

// run is text that is drawn at once.
type run struct {
	text  string
	cells int
}

// runs cuts text where a picture must not rely on the font's widths: wide characters are
// on their own, and so are long blanks.
func runs(text string) (out []run) {
	var b run
	flush := func() {
		if b.text != "" {
			out = append(out, b)
		}
		b = run{}
	}
	for _, r := range text {
		cells := 1
		if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300) {
			cells = 2
		}
		blank := r == ' '
		if cells == 2 || b.text != "" && blank != (strings.TrimSpace(b.text) == "") {
			flush()
		}
		b.text += string(r)
		b.cells += cells
		if cells == 2 {
			flush()
		}
	}
	flush()
	return out
}

func (s style) colours() (fg, bg string) {
	fg, bg = s.fg, s.bg
	if fg == "" {
		fg = ink
	}
	if bg == "" {
		bg = paper
	}
	if s.flip {
		return bg, fg
	}
	return fg, bg
}

func (s style) attributes() string {
	var b strings.Builder
	if s.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if s.italic {
		b.WriteString(` font-style="italic"`)
	}
	if s.underline {
		b.WriteString(` text-decoration="underline"`)
	}
	return b.String()
}

// apply takes the numbers of an SGR sequence. Neovim in a terminal with true colours uses
// no palette.
func (s *style) apply(codes string) {
	var n []int
	for _, c := range strings.FieldsFunc(codes, func(r rune) bool { return r == ';' || r == ':' }) {
		i, _ := strconv.Atoi(c)
		n = append(n, i)
	}
	if len(n) == 0 {
		n = []int{0}
	}
	for i := 0; i < len(n); i++ {
		switch c := n[i]; c {
		case 0:
			*s = style{}
		case 1:
			s.bold = true
		case 3:
			s.italic = true
		case 4:
			s.underline = true
		case 7:
			s.flip = true
		case 22:
			s.bold = false
		case 23:
			s.italic = false
		case 24:
			s.underline = false
		case 27:
			s.flip = false
		case 39:
			s.fg = ""
		case 49:
			s.bg = ""
		case 38, 48:
			if i+4 < len(n) && n[i+1] == 2 {
				colour := fmt.Sprintf("#%02x%02x%02x", n[i+2], n[i+3], n[i+4])
				if c == 38 {
					s.fg = colour
				} else {
					s.bg = colour
				}
				i += 4
			}
		}
	}
}
