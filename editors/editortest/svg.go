package editortest

import (
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Picture is a screen with its colours, as tmux prints it with escape sequences.
func (x *Terminal) Picture() string {
	x.t.Helper()
	return x.Tmux("capture-pane", "-p", "-e", "-N") // with the colours behind nothing
}

// Keep compares a screen with the one kept in a file, or with REDLINE_UPDATE=1 writes it, and
// beside it a picture with its colours (NAME.svg). Look at what was written. clean takes out
// what is different each time; it may be nil.
func (x *Terminal) Keep(file string, clean func(string) string) {
	x.t.Helper()
	got := x.Still()
	if clean == nil {
		clean = func(s string) string { return s }
	}
	got = clean(got)
	if os.Getenv("REDLINE_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			x.t.Fatal(err)
		}
		if err := os.WriteFile(strings.TrimSuffix(file, ".txt")+".svg", []byte(SVG(clean(x.Picture()))), 0o644); err != nil {
			x.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		x.t.Fatal(err)
	}
	if got != string(want) {
		x.t.Errorf("the screen is not as %s (REDLINE_UPDATE=1 writes it anew):\n%s\nwant\n%s", file, got, want)
	}
}

// style is how a run of characters looks; colours are as in CSS, empty is the default.
type style struct {
	fg, bg                        string
	bold, italic, under, reversed bool
}

const (
	cellWidth, cellHeight = 8.4, 18
	ink, paper            = "#d8dee9", "#20242c"
)

// SVG draws a screen with SGR escape sequences.
func SVG(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	width := 0
	var body strings.Builder
	var now style
	for row, line := range lines {
		col := 0
		for line != "" {
			if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
				if end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' }); end >= 0 {
					if rest[end] == 'm' {
						now.apply(rest[:end])
					}
					line = rest[end+1:]
					continue
				}
			}
			run := line
			if i := strings.Index(line, "\x1b["); i >= 0 {
				run = line[:i]
			}
			if run == "" { // an escape that is none of ours
				line = line[1:]
				continue
			}
			line = line[len(run):]
			n := utf8.RuneCountInString(run)
			now.draw(&body, run, row, col, n)
			col += n
		}
		width = max(width, col)
	}
	w, h := float64(width)*cellWidth+16, len(lines)*cellHeight+16
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" viewBox=\"0 0 %.0f %d\" font-family=\"ui-monospace,Menlo,Consolas,monospace\" font-size=\"14\">\n"+
		"<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"%s\"/>\n%s</svg>\n", w, h, w, h, paper, body.String())
}

// draw writes a run of n cells.
func (s style) draw(b *strings.Builder, run string, row, col, n int) {
	fg, bg := s.fg, s.bg
	if s.reversed {
		fg, bg = bg, fg
		if fg == "" {
			fg = paper
		}
		if bg == "" {
			bg = ink
		}
	}
	x, y := 8+float64(col)*cellWidth, 8+row*cellHeight
	if bg != "" {
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, y, float64(n)*cellWidth, cellHeight, bg)
	}
	if strings.TrimSpace(run) == "" {
		return
	}
	if fg == "" {
		fg = ink
	}
	extra := ""
	if s.bold {
		extra += " font-weight=\"bold\""
	}
	if s.italic {
		extra += " font-style=\"italic\""
	}
	if s.under {
		extra += " text-decoration=\"underline\""
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" fill=\"%s\"%s textLength=\"%.1f\" xml:space=\"preserve\">%s</text>\n", x, y+13, fg, extra, float64(n)*cellWidth, html.EscapeString(run))
}

// apply takes the numbers of an SGR sequence.
func (s *style) apply(numbers string) {
	p := strings.FieldsFunc(numbers, func(r rune) bool { return r == ';' || r == ':' })
	if len(p) == 0 {
		p = []string{"0"}
	}
	for i := 0; i < len(p); i++ {
		n, _ := strconv.Atoi(p[i]) // tmux writes numbers
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.under = true
		case n == 7:
			s.reversed = true
		case n == 22:
			s.bold = false
		case n == 23:
			s.italic = false
		case n == 24:
			s.under = false
		case n == 27:
			s.reversed = false
		case n == 38 || n == 48:
			colour, used := extended(p[i+1:])
			i += used
			if n == 38 {
				s.fg = colour
			} else {
				s.bg = colour
			}
		case n == 39:
			s.fg = ""
		case n == 49:
			s.bg = ""
		case n >= 30 && n <= 37:
			s.fg = indexed(n - 30)
		case n >= 40 && n <= 47:
			s.bg = indexed(n - 40)
		case n >= 90 && n <= 97:
			s.fg = indexed(n - 82)
		case n >= 100 && n <= 107:
			s.bg = indexed(n - 92)
		}
	}
}

// extended reads what follows 38 or 48, and how many numbers that takes.
func extended(p []string) (colour string, used int) {
	if len(p) >= 2 && p[0] == "5" {
		n, _ := strconv.Atoi(p[1])
		return indexed(n), 2
	}
	if len(p) >= 4 && p[0] == "2" {
		var c [3]int
		for i := range c {
			c[i], _ = strconv.Atoi(p[i+1])
		}
		return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]), 4
	}
	return "", len(p)
}

// indexed returns a colour of the 256 of a terminal.
func indexed(n int) string {
	first := [16]string{
		"#3b4252", "#bf616a", "#a3be8c", "#ebcb8b", "#81a1c1", "#b48ead", "#88c0d0", "#e5e9f0",
		"#6b7486", "#d08770", "#b5d19c", "#f0d399", "#93b4d6", "#c9a2c4", "#8fbcbb", "#eceff4",
	}
	switch {
	case n < 16:
		return first[max(0, n)]
	case n < 232:
		n -= 16
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}
