// Package text turns the bytes of a file into UTF-8 and back without changing
// what an edit does not touch.
package text

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is how the characters of a file are stored.
type Encoding string

// The encodings [Decode] detects.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
	Latin1  Encoding = "iso-8859-1"
)

// Format is what [Decode] took off the bytes and [Encode] puts back on.
type Format struct {
	Encoding Encoding
	BOM      bool // a byte order mark stands at the start
}

// Plain is the format of a file made anew: UTF-8, no BOM.
var Plain = Format{Encoding: UTF8}

// ErrBinary says that bytes are no text in any encoding known here.
var ErrBinary = errors.New("binary data")

// sniffLen is how many leading bytes are searched for NUL, as git and ripgrep do.
const sniffLen = 8 << 10

var (
	bomUTF8    = []byte{0xEF, 0xBB, 0xBF}
	bomUTF16LE = []byte{0xFF, 0xFE}
	bomUTF16BE = []byte{0xFE, 0xFF}
)

// Decode returns the text of data without its byte order mark, and its format.
// The order is: BOM, valid UTF-8, Latin-1. Data with a NUL in its first 8 KB and
// no UTF-16 BOM is [ErrBinary], as is UTF-16 that would not survive [Encode].
func Decode(data []byte) (string, Format, error) {
	switch {
	case bytes.HasPrefix(data, bomUTF8):
		rest := data[len(bomUTF8):]
		if !utf8.Valid(rest) {
			return "", Format{}, ErrBinary
		}
		return string(rest), Format{UTF8, true}, nil
	case bytes.HasPrefix(data, bomUTF16LE):
		s, err := decodeUTF16(data[2:], false)
		return s, Format{UTF16LE, true}, err
	case bytes.HasPrefix(data, bomUTF16BE):
		s, err := decodeUTF16(data[2:], true)
		return s, Format{UTF16BE, true}, err
	}
	if IsBinary(data) {
		return "", Format{}, ErrBinary
	}
	if utf8.Valid(data) {
		return string(data), Plain, nil
	}
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for _, c := range data {
		b.WriteRune(rune(c))
	}
	return b.String(), Format{Encoding: Latin1}, nil
}

// Fits reports whether a file in the given format can hold s; the error is that of
// [Encode].
func Fits(s string, f Format) error {
	if f.Encoding != Latin1 {
		return nil
	}
	_, err := Encode(s, f)
	return err
}

// IsBinary reports whether a NUL byte stands in the first 8 KB of data.
func IsBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffLen)], 0) >= 0
}

// Encode is the inverse of [Decode]. It fails when s holds a character that the
// format cannot store.
func Encode(s string, f Format) ([]byte, error) {
	switch f.Encoding {
	case UTF8, "":
		if f.BOM {
			return append(bytes.Clone(bomUTF8), s...), nil
		}
		return []byte(s), nil
	case UTF16LE, UTF16BE:
		units := utf16.Encode([]rune(s))
		out := make([]byte, 0, 2+2*len(units))
		big := f.Encoding == UTF16BE
		if f.BOM {
			units = append([]uint16{0xFEFF}, units...)
		}
		for _, u := range units {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return out, nil
	case Latin1:
		out := make([]byte, 0, len(s))
		for i, r := range s {
			if r > 0xFF {
				return nil, fmt.Errorf("the file is stored as %s, which has no %q (byte %d of the new text); use only Latin-1 characters or convert the file to UTF-8 first", Latin1, r, i)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return nil, fmt.Errorf("unknown encoding %q", f.Encoding)
}

func decodeUTF16(data []byte, big bool) (string, error) {
	if len(data)%2 != 0 {
		return "", ErrBinary
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		a, b := uint16(data[2*i]), uint16(data[2*i+1])
		if big {
			units[i] = a<<8 | b
		} else {
			units[i] = b<<8 | a
		}
	}
	runes := utf16.Decode(units)
	// An unpaired surrogate decodes to U+FFFD and would be written back changed.
	back := utf16.Encode(runes)
	if len(back) != len(units) {
		return "", ErrBinary
	}
	for i := range back {
		if back[i] != units[i] {
			return "", ErrBinary
		}
	}
	return string(runes), nil
}
