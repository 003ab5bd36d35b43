package geminitest

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// signatures remembers which thought signatures went out with which calls.
type signatures struct {
	mu    sync.Mutex
	given map[string][]string
}

func (s *signatures) add(c Call) {
	if c.Signature == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		s.given = map[string][]string{}
	}
	s.given[callKey(c)] = append(s.given[callKey(c)], c.Signature)
}

// allow reports whether signature may stand beside c: any, if none was given.
func (s *signatures) allow(c Call, signature string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := s.given[callKey(c)]
	return len(given) == 0 || slices.Contains(given, signature)
}

// callKey is the same for calls that mean the same.
func callKey(c Call) string {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		args = encode(v) // members sorted
	}
	return c.ID + "\x00" + c.Name + "\x00" + string(args)
}
