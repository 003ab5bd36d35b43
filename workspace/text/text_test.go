package text

import (
	"bytes"
	"errors"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		text       string
		format     Format
		err        error
	}{
		{"ascii", "a\r\nb", "a\r\nb", Plain, nil},
		{"utf-8", "é…", "é…", Plain, nil},
		{"utf-8 with bom", "\xef\xbb\xbfé", "é", Format{UTF8, true}, nil},
		{"latin-1", "caf\xe9\n", "café\n", Format{Encoding: Latin1}, nil},
		{"utf-16le", "\xff\xfea\x00\xe9\x00", "aé", Format{UTF16LE, true}, nil},
		{"utf-16be", "\xfe\xff\x00a\xd8\x3d\xde\x00", "a😀", Format{UTF16BE, true}, nil},
		{"half a surrogate pair", "\xff\xfe\x3d\xd8", "", Format{}, ErrBinary},
		{"odd utf-16", "\xff\xfea", "", Format{}, ErrBinary},
		{"nul", "a\x00b", "", Format{}, ErrBinary},
		{"bom, then no utf-8", "\xef\xbb\xbf\xff", "", Format{}, ErrBinary},
		{"empty", "", "", Plain, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, format, err := Decode([]byte(tt.data))
			if text != tt.text || !errors.Is(err, tt.err) || (err == nil && format != tt.format) {
				t.Fatalf("got %q, %+v, %v", text, format, err)
			}
			if err != nil {
				return
			}
			back, err := Encode(text, format)
			if err != nil || string(back) != tt.data {
				t.Errorf("written back as %q (%v)", back, err)
			}
		})
	}
}

func TestEncodeRefusesWhatDoesNotFit(t *testing.T) {
	if _, err := Encode("caf€", Format{Encoding: Latin1}); err == nil {
		t.Error("Latin-1 has no euro sign")
	}
}

// What is read and not changed is written back byte for byte.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("a\r\n"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("caf\xe9"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, format, err := Decode(data)
		if err != nil {
			return
		}
		back, err := Encode(text, format)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%q became %q (%v)", data, back, err)
		}
	})
}

func TestEOL(t *testing.T) {
	for s, want := range map[string]EOL{"": LF, "a": LF, "a\nb": LF, "a\r\nb\r\n": CRLF, "a\rb": CR, "a\r\nb\n": Mixed, "a\rb\n": Mixed} {
		if got := DetectEOL(s); got != want {
			t.Errorf("%q has %s, want %s", s, got, want)
		}
	}
	for s, want := range map[string]string{"": "\n", "a\r\nb\r\nc\n": "\r\n", "a\rb\rc\n": "\r", "a\r\nb\n": "\n"} {
		if got := Dominant(s); got != want {
			t.Errorf("most lines of %q end in %q, want %q", s, got, want)
		}
	}
}
