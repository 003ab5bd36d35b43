package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// arguments returns the arguments of a call as a JSON object. Small models write JSON
// with slips; those are mended that leave no doubt about what is meant. An end that is
// missing is added only between values, and only of an answer that was not cut off:
// half a text must not become a file. ok is false when the call has to be written
// again.
func arguments(s string, cutOff bool) (_ json.RawMessage, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || s == "null" {
		return json.RawMessage(`{}`), !cutOff
	}
	for range 3 {
		if raw, ok := object(s); ok {
			return raw, true
		}
		var inner string // JSON in a string in a string
		if json.Unmarshal([]byte(s), &inner) != nil {
			break
		}
		s = strings.TrimSpace(inner)
	}
	// Some servers send the whole again at the end.
	if n := len(s) / 2; len(s)%2 == 0 && s[:n] == s[n:] {
		if raw, ok := object(s[:n]); ok {
			return raw, true
		}
	}
	if fenced, ok := strings.CutPrefix(s, "```"); ok {
		_, fenced, _ = strings.Cut(fenced, "\n")
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(fenced), "```"))
	}
	return object(mend(s, cutOff))
}

// object returns s if it is exactly one JSON object.
func object(s string) (json.RawMessage, bool) {
	if !strings.HasPrefix(s, "{") || !json.Valid([]byte(s)) {
		return nil, false
	}
	return json.RawMessage(s), true
}

// mend escapes line ends and other control characters inside strings, takes out commas
// before a closing bracket, and closes brackets that are open at the end.
func mend(s string, cutOff bool) string {
	var out bytes.Buffer
	var open []byte
	inString, escaped := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if inString {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			case c == '\n':
				out.WriteString(`\n`)
				continue
			case c == '\r':
				out.WriteString(`\r`)
				continue
			case c == '\t':
				out.WriteString(`\t`)
				continue
			}
			out.WriteByte(c)
			continue
		}
		switch c {
		case '"':
			inString = true
		case '{':
			open = append(open, '}')
		case '[':
			open = append(open, ']')
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return s // not by guessing
			}
			open = open[:len(open)-1]
			trimComma(&out)
		}
		out.WriteByte(c)
	}
	if inString || cutOff {
		return out.String()
	}
	for i := len(open) - 1; i >= 0; i-- {
		trimComma(&out)
		out.WriteByte(open[i])
	}
	return out.String()
}

func trimComma(b *bytes.Buffer) {
	trimmed := bytes.TrimRight(b.Bytes(), " \t\r\n")
	if bytes.HasSuffix(trimmed, []byte(",")) {
		b.Truncate(len(trimmed) - 1)
	}
}
