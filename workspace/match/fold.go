package match

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain returns the ASCII spelling of a typographic character that models and editors swap freely, or "" for any
// other. Letters and digits have none: look-alike identifiers are different identifiers.
func plain(r rune) (string, bool) {
	switch {
	case r < 0x80, r > 0x3000 && r < 0xFE00: // neither ASCII nor the bulk of the living scripts
		return "", false
	case r == 0x00AB, r == 0x00BB, r >= 0x201C && r <= 0x201F, r == 0x2033:
		return `"`, true
	case r == 0x00B4, r == 0x02BC, r >= 0x2018 && r <= 0x201B, r == 0x2032:
		return "'", true
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0xFE58, r == 0xFE63:
		return "-", true
	case r == 0x2026:
		return "...", true
	case r == 0x200B, r == 0x2060, r == 0xFEFF, r == 0x00AD:
		return "", true
	case r >= 0xFF01 && r <= 0xFF5E:
		if c := r - 0xFEE0; !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return string(c), true
		}
	case unicode.IsSpace(r):
		return " ", true
	}
	return "", false
}

// fold spells s with plain characters, all quotes alike, in Unicode's composed form. Whitespace stays.
func fold(s string) string {
	if isASCII(s) {
		if strings.ContainsAny(s, "'`") {
			return quotesAlike.Replace(s)
		}
		return s
	}
	if mayCompose(s) {
		s = norm.NFC.String(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if p, ok := plain(r); ok {
			b.WriteString(p)
		} else {
			b.WriteRune(r)
		}
	}
	return quotesAlike.Replace(b.String())
}

var quotesAlike = strings.NewReplacer("'", `"`, "`", `"`)

// squashed maps an ASCII byte to what squash keeps of it, 0 for nothing.
var squashed = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
	}
	for _, c := range " \t\r\n\v\f" {
		t[c] = 0
	}
	t['\''], t['`'] = '"', '"'
	return t
}()

// squash appends fold(s) without whitespace to dst.
func squash(dst []byte, s string) []byte {
	n := len(dst)
	if cap(dst)-n < len(s) {
		grown := make([]byte, n, 2*(n+len(s))+64)
		copy(grown, dst)
		dst = grown
	}
	out := dst[n : n+len(s)]
	k := 0
	var seen byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		seen |= c
		q := squashed[c]
		out[k] = q
		if q != 0 {
			k++
		}
	}
	if seen < 0x80 {
		return dst[:n+k]
	}
	return squashRunes(dst[:n], s)
}

// squashRunes is squash for text that is not all ASCII.
func squashRunes(dst []byte, s string) []byte {
	if mayCompose(s) {
		s = norm.NFC.String(s)
	}
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if q := squashed[c]; q != 0 {
				dst = append(dst, q)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if p, ok := plain(r); ok {
			for k := 0; k < len(p); k++ {
				if q := squashed[p[k]]; q != 0 {
					dst = append(dst, q)
				}
			}
		} else {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

func isASCII(s string) bool {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if load64(s, i)&0x8080808080808080 != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// mayCompose reports whether s holds characters whose composed form may differ: combining marks, jamo, singletons.
// It errs towards true; it is here because asking the norm package about every line of a Chinese file is slow.
func mayCompose(s string) bool {
	for _, r := range s {
		switch {
		case r < 0x300, r > 0x309A && r < 0xA66F:
		case r <= 0x36F, r >= 0x483 && r <= 0x1FFF, r >= 0x20D0 && r <= 0x20FF, r >= 0x2126 && r <= 0x212B,
			r >= 0x2329 && r <= 0x232A, r >= 0x302A && r <= 0x302F, r >= 0x3099 && r <= 0x309A,
			r >= 0xA66F && r <= 0xABFF, r >= 0xF900 && r <= 0xFAFF, r >= 0xFB1D && r <= 0xFB4F, r >= 0x10000:
			return true
		}
	}
	return false
}

// sameTokens reports whether two lines, trimmed, differ in nothing but the width of their whitespace, or in whitespace
// that stands where none is needed. It is false where adding or taking whitespace would join words, numbers or operators.
func sameTokens(a, b string) bool {
	var prev rune
	for {
		ta, tb := strings.TrimLeft(a, " \t\r\v\f"), strings.TrimLeft(b, " \t\r\v\f")
		gapA, gapB := len(ta) != len(a), len(tb) != len(b)
		a, b = ta, tb
		if a == "" || b == "" {
			return a == b
		}
		r, n := utf8.DecodeRuneInString(a)
		q, m := utf8.DecodeRuneInString(b)
		if r != q || n != m {
			return false
		}
		if gapA != gapB && prev != 0 && needsGap(prev, r) {
			return false
		}
		prev = r
		a, b = a[n:], b[m:]
	}
}

// needsGap reports whether whitespace between two characters matters to what they mean.
func needsGap(a, b rune) bool {
	if isWord(a) && isWord(b) || isOperator(a) && isOperator(b) {
		return true
	}
	return unicode.IsDigit(a) && b == '.' || a == '.' && unicode.IsDigit(b)
}

// isWord reports whether r may be part of an identifier, a number or a natural word.
func isWord(r rune) bool {
	if r < 0x80 {
		return r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func isOperator(r rune) bool {
	return !isWord(r) && !unicode.IsSpace(r) && !strings.ContainsRune("()[]{},;\"'`", r)
}

// hasWord reports whether s holds a letter, digit or the like: text of mere punctuation singles out no place.
func hasWord(s string) bool { return strings.IndexFunc(s, isWord) >= 0 }

// isGap reports whether r is whitespace or invisible.
func isGap(r rune) bool {
	if r < 0x80 {
		return r == ' ' || r >= '\t' && r <= '\r'
	}
	if unicode.IsSpace(r) {
		return true
	}
	p, ok := plain(r)
	return ok && p == ""
}

// straighten spells those typographic characters of new plainly that old holds and the file's own text does not:
// there the model's habit, not the file's, put them. The same goes for decomposed characters.
func straighten(new, old, file string) string {
	if isASCII(new) {
		return new
	}
	if !norm.NFC.IsNormalString(old) && norm.NFC.IsNormalString(file) {
		new = norm.NFC.String(new)
	}
	var b strings.Builder
	for _, r := range new {
		if p, ok := plain(r); ok && strings.ContainsRune(old, r) && !strings.ContainsRune(file, r) {
			b.WriteString(p)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
