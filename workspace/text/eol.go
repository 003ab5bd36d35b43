package text

import "strings"

// EOL names the line ends of a text.
type EOL string

// The kinds of line ends. A text without any is LF.
const (
	LF    EOL = "lf"
	CRLF  EOL = "crlf"
	CR    EOL = "cr"
	Mixed EOL = "mixed"
)

// DetectEOL returns the line ends of s.
func DetectEOL(s string) EOL {
	crlf := strings.Count(s, "\r\n")
	lf := strings.Count(s, "\n") - crlf
	cr := strings.Count(s, "\r") - crlf
	switch {
	case crlf == 0 && cr == 0:
		return LF
	case lf == 0 && cr == 0:
		return CRLF
	case lf == 0 && crlf == 0:
		return CR
	}
	return Mixed
}

// Dominant returns the line end that most lines of s have: "\n", "\r\n" or "\r".
func Dominant(s string) string {
	crlf := strings.Count(s, "\r\n")
	lf := strings.Count(s, "\n") - crlf
	cr := strings.Count(s, "\r") - crlf
	switch {
	case crlf > lf && crlf >= cr:
		return "\r\n"
	case cr > lf && cr > crlf:
		return "\r"
	}
	return "\n"
}

// WithEOL returns s with every line end replaced by eol.
func WithEOL(s, eol string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if eol == "\r" {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	if eol == "\n" {
		return s
	}
	return strings.ReplaceAll(s, "\n", eol)
}
