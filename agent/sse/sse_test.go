package sse

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func read(r io.Reader) (events []string, bare string, err error) {
	s := NewReader(r)
	for {
		data, err := s.Next()
		if err != nil {
			return events, string(s.Bare()), err
		}
		events = append(events, string(data))
	}
}

func TestForms(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		bare     string
	}{
		{"lf", "data: a\n\ndata: b\n\n", []string{"a", "b"}, ""},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, ""},
		{"cr", "data: a\r\rdata: b\r\r", []string{"a", "b"}, ""},
		{"mixed", "data: a\r\n\ndata: b\n\r\n", []string{"a", "b"}, ""},
		{"no space", "data:a\n\n", []string{"a"}, ""},
		{"comments and fields", ": ping\n\nevent: x\nid: 1\nretry: 3\ndata: a\n\n:\n\n", []string{"a"}, ""},
		{"several lines", "data: a\ndata: b\n\n", []string{"a\nb"}, ""},
		{"no end", "data: a\n\ndata: b", []string{"a", "b"}, ""},
		{"bare", "{\"error\":\n1}\n", nil, "{\"error\":\n1}"},
		{"a field of an error", "data: a\n\nerror: {\"code\":5}\n\n", []string{"a"}, "error: {\"code\":5}"},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}, ""},
		{"nothing", "", nil, ""},
		{"empty data", "data:\n\ndata: a\n\n", []string{"a"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in))} {
				got, bare, err := read(r)
				if !slices.Equal(got, tc.want) || bare != tc.bare || !errors.Is(err, io.EOF) {
					t.Errorf("got %q, bare %q, %v", got, bare, err)
				}
			}
		})
	}
}

// What breaks the connection is said, after what came before it.
func TestBrokenOff(t *testing.T) {
	broken := errors.New("reset")
	got, _, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	if !slices.Equal(got, []string{"a", "b"}) || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", got, err)
	}
}

// An event is there as soon as its empty line is, also when that ends in "\r".
func TestDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := NewReader(r)
	go func() { _, _ = w.Write([]byte("data: a\r\r")) }()
	if data, err := s.Next(); string(data) != "a" || err != nil {
		t.Errorf("got %q, %v", data, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\n: x\ndata: b\rdata: c\n\nerror: z"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, bare, err := read(bytes.NewReader(in))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		pieces, bare2, _ := read(iotest.OneByteReader(bytes.NewReader(in)))
		if !slices.Equal(whole, pieces) || bare != bare2 {
			t.Errorf("whole %q, byte by byte %q", whole, pieces)
		}
		for _, e := range whole {
			if strings.TrimSpace(e) == "" {
				t.Errorf("an empty event in %q", whole)
			}
		}
	})
}
