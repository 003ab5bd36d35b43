package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
)

func headers(in string) *headerSource {
	return newHeaderSource(strings.NewReader(in), 8<<10, 1<<20)
}

// drain reads to the end; errors between are written as "!code".
func drain(t testing.TB, s source) (got []string, end error) {
	t.Helper()
	for range 10_000 {
		body, err := s.next()
		var fe *frameError
		switch {
		case errors.As(err, &fe):
			got = append(got, fmt.Sprintf("!%d", fe.code))
		case err != nil:
			return got, err
		default:
			got = append(got, string(body))
		}
	}
	t.Fatal("no end")
	return nil, nil
}

// TestHeaderSource covers what the data tests cannot say in a line.
func TestHeaderSource(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct{ name, in, want, end string }{
		{"long header after the length", "Content-Length: 2\r\nX: " + long + "\r\n\r\n{}" + frame("[1]"), "!-32600 [1]", "EOF"},
		{"long header before the length", "X: " + long + "\r\nContent-Length: 2\r\n\r\n{}" + frame("[1]"), "!-32700 {} [1]", "EOF"},
		{"many headers", "Content-Length: 2\r\n" + strings.Repeat("X: y\r\n", 2000) + "\r\n{}" + frame("[1]"), "!-32600 [1]", "EOF"},
		{"endless line, then a frame", long + frame("[1]"), "!-32700", "unexpected EOF"},
		{"garbage that ends like a body, then a frame", long + "}" + frame("[1]"), "!-32700 [1]", "EOF"},
		{"garbage of a read buffer", strings.Repeat("x", readBuffer-20) + "}" + frame("[1]") + frame("[2]"), "[1] [2]", "EOF"},
		{"length across the read buffer", strings.Repeat("x", readBuffer-10) + "}" + frame("[1]") + frame("[2]"), "!-32700 [1] [2]", "EOF"},
		{"body over the limit", fmt.Sprintf("Content-Length: %d\r\n\r\n", 1<<20+1) + strings.Repeat(" ", 1<<20+1) + frame("[1]"), "!-32600 [1]", "EOF"},
		{"body over the limit, cut", "Content-Length: 5000000000\r\n\r\n" + long, "!-32600", "unexpected EOF"},
		{"length beyond 63 bits", "Content-Length: 99999999999999999999\r\n\r\n" + frame("[1]"), "!-32700 [1]", "EOF"},
		{"no length at all", strings.Repeat("a: b\r\n\r\n", 3) + frame("[1]"), "!-32700 [1]", "EOF"},
		{"two lengths", "Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}", "{}", "EOF"},
		{"length with a sign", "Content-Length: +2\r\n\r\n{}" + frame("[1]"), "!-32700 [1]", "EOF"},
	} {
		got, end := drain(t, headers(tt.in))
		if strings.Join(got, " ") != tt.want || end.Error() != tt.end {
			t.Errorf("%s: got %.200q and %v, want %q and %s", tt.name, got, end, tt.want, tt.end)
		}
	}
}

// TestLyingLength checks that a length costs no memory before its bytes arrive.
func TestLyingLength(t *testing.T) {
	for _, arrived := range []int{2, 200_000} {
		s := newHeaderSource(strings.NewReader("Content-Length: 200000000\r\n\r\n"+strings.Repeat("x", arrived)), 8<<10, 256<<20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.next()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
			t.Errorf("%d bytes allocated for %d that arrived", grown, arrived)
		}
	}
}

func TestLineSource(t *testing.T) {
	s := &lineSource{bufio.NewReaderSize(strings.NewReader("\n {} \r\n"+strings.Repeat("x", 200)+"\n[1]\n\n[2]"), 16), 100}
	got, end := drain(t, s)
	if want := "{} !-32600 [1] [2]"; strings.Join(got, " ") != want || !errors.Is(end, io.EOF) {
		t.Errorf("got %q and %v, want %s", got, end, want)
	}
}

// oneByte hands out a byte a read.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// FuzzFrames checks that reading never panics or hangs, does not depend on how the
// bytes are cut, and finds the frame after any well-framed body, whatever that holds.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"), []byte("{}"))
	f.Add([]byte("garbage\r\n\r\n"), []byte(`{"a":"Content-Length: 5\r\n\r\n"}`))
	f.Add([]byte("content-LENGTH:3\n\nabc\n\n\n"), []byte("Content-Length: 9\r\n\r\n"))
	f.Add([]byte("Content-Length: -1\r\n\r\n"), []byte{})
	f.Fuzz(func(t *testing.T, noise, body []byte) {
		all, end := drain(t, headers(string(noise)))
		cut, endCut := drain(t, newHeaderSource(oneByte{bytes.NewReader(noise)}, 8<<10, 1<<20))
		if fmt.Sprint(all, end) != fmt.Sprint(cut, endCut) {
			t.Errorf("depends on how the input is cut:\n%q %v\n%q %v", all, end, cut, endCut)
		}
		const next = `{"next":true}`
		got, end := drain(t, headers(frame(string(body))+frame(next)))
		if len(got) != 2 || got[0] != string(body) || got[1] != next || !errors.Is(end, io.EOF) {
			t.Errorf("after %q: got %q and %v", body, got, end)
		}
	})
}

// FuzzLines checks that reading lines never panics or hangs, does not depend on how the
// bytes are cut, keeps within its bound, and finds the line after any garbage.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n{}"))
	f.Add([]byte("\uFEFF{}\r\n\r\n \n\xff\xfe\x00\n"))
	f.Add(bytes.Repeat([]byte("x"), 300))
	f.Fuzz(func(t *testing.T, noise []byte) {
		const limit = 64
		lines := func(r io.Reader) *lineSource { return &lineSource{bufio.NewReaderSize(r, 16), limit} }
		all, end := drain(t, lines(bytes.NewReader(noise)))
		cut, endCut := drain(t, lines(oneByte{bytes.NewReader(noise)}))
		if fmt.Sprint(all, end) != fmt.Sprint(cut, endCut) {
			t.Errorf("depends on how the input is cut:\n%q %v\n%q %v", all, end, cut, endCut)
		}
		for _, line := range all {
			if len(line) > limit || strings.Contains(line, "\n") || line != strings.TrimSpace(line) || line == "" {
				t.Errorf("line %q", line)
			}
		}
		const next = `{"next":true}`
		got, end := drain(t, lines(strings.NewReader(string(noise)+"\n"+next+"\n")))
		if !errors.Is(end, io.EOF) || len(got) == 0 || got[len(got)-1] != next {
			t.Errorf("after %q: got %q and %v", noise, got, end)
		}
	})
}

// FuzzCheck checks that what the guard passes is what jsonrpc2 takes, and that
// each refusal is a valid message.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, `[1]`, `{}`, `{"id":1,"result":null,"error":{"code":1.5}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1e99,"message":3}}`, `{"jsonrpc":"2.0","method":"\ud800","id":"\ud800"}`, `null`, ``, `[[[]]]`,
		`{"jsonrpc":"2.0","result":1,"id":true}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v := check(body)
		if v.pass != nil {
			if err := accepted(v.pass); err != nil {
				t.Errorf("%q passes as %q, which jsonrpc2 refuses: %v", body, v.pass, err)
			}
		}
		if v.reply != nil {
			if err := accepted(v.reply); err != nil && !bytes.Contains(v.reply, []byte(`"id":`)) {
				t.Errorf("%q is answered %q: %v", body, v.reply, err)
			}
			normal(t, string(v.reply))
		}
		if v.pass == nil && v.problem == "" {
			t.Errorf("%q dropped without a word", body)
		}
	})
}

// accepted returns the error with which jsonrpc2 would end the connection.
func accepted(body []byte) error {
	if first(body) == '[' {
		_, err := jsonrpc2.ParseRequests(body)
		return err
	}
	_, err := jsonrpc2.DecodeMessage(body)
	return err
}
