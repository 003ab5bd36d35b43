package secret

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redactor takes secrets out of what is written down: logs, traces, recordings,
// telemetry. Beside the forms of [Redact] it knows values that were added, and places
// where only secrets stand: an Authorization header, a key in a query, a member
// "access_token". The zero Redactor is ready; it is safe for concurrent use.
type Redactor struct {
	mu     sync.RWMutex
	values []string // the longest first
}

// minValue is how long a value must be to be known for a secret, in bytes: a shorter
// one would be found in what is none.
const minValue = 8

// Add makes values known.
func (r *Redactor) Add(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range values {
		if len(v) >= minValue && !slices.Contains(r.values, v) {
			r.values = append(r.values, v)
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
}

// AddEnviron makes the values of variables ("NAME=value") known that look like
// secrets.
func (r *Redactor) AddEnviron(environ []string) {
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && (slices.Contains(Own, name) || Looks(name, value)) {
			r.Add(value)
		}
	}
}

// AddTree makes the strings of decoded JSON known that stand under a name of a secret,
// and what stands in the query or as the password of an address.
func (r *Redactor) AddTree(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			r.AddTree(k, x)
		}
	case []any:
		for _, x := range v {
			r.AddTree(name, x)
		}
	case string:
		if u, err := url.Parse(v); err == nil && u.Host != "" {
			for _, values := range u.Query() {
				r.Add(values...)
			}
			if password, ok := u.User.Password(); ok {
				r.Add(password)
			}
		}
		if Looks(name, v) || isSecretName(name) {
			r.Add(v)
			if _, token, ok := strings.Cut(v, " "); ok { // "Bearer …"
				r.Add(token)
			}
		}
	}
}

var secretNames = []string{"authorization", "apikey", "api-key", "api_key", "accesstoken", "refreshtoken", "clientsecret", "cookie", "password", "token", "secret"}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(name, s) && !strings.HasSuffix(name, "env") })
}

// places are where only secrets stand; the first group stays.
var places = []struct {
	anchors []string // one of them is in each match, in lower case
	re      *regexp.Regexp
}{
	{[]string{"bearer ", "basic "}, regexp.MustCompile(`(?i)\b((?:bearer|basic) )[0-9A-Za-z._~+/=-]{8,}`)},
	{[]string{"key=", "token=", "secret=", "password=", "sig=", "code="}, regexp.MustCompile(`(?i)([?&](?:key|api_?key|[a-z_]*token|client_secret|secret|password|sig|code)=)[^&\s"'\\<>#]{4,}`)},
	{[]string{"token", "secret", "key", "password", "authorization"}, regexp.MustCompile(`(?i)(\\?"(?:access_?token|refresh_?token|id_?token|client_?secret|api_?key|x-goog-api-key|x-api-key|authorization|password)\\?" *: *\\?")[^"\\]{4,}`)},
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	values := r.values
	r.mu.RUnlock()
	s = Redact(s, values...)
	low := ""
	for _, p := range places {
		if low == "" {
			low = strings.ToLower(s)
		}
		if slices.ContainsFunc(p.anchors, func(a string) bool { return strings.Contains(low, a) }) {
			s = p.re.ReplaceAllString(s, "${1}"+Mask)
		}
	}
	return s
}

// JSON returns raw, one JSON value, without secrets; it stays JSON.
func (r *Redactor) JSON(raw []byte) []byte {
	out := r.Text(r.escaped(string(raw)))
	if out == string(raw) {
		return raw
	}
	if json.Valid([]byte(out)) || !json.Valid(raw) {
		return []byte(out)
	}
	// Something was found across the borders of strings.
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return []byte(`"` + Mask + `"`)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(r.tree("", v)) != nil {
		return []byte(`"` + Mask + `"`)
	}
	return bytes.TrimSpace(b.Bytes())
}

// escaped replaces the values that look different inside JSON.
func (r *Redactor) escaped(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, v := range r.values {
		if !strings.ContainsAny(v, "\"\\<>&\n\t") {
			continue
		}
		for _, html := range []bool{true, false} {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(html)
			if enc.Encode(v) == nil {
				s = strings.ReplaceAll(s, strings.Trim(strings.TrimSpace(b.String()), `"`), Mask)
			}
		}
	}
	return s
}

// tree redacts the strings of decoded JSON.
func (r *Redactor) tree(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[r.Text(k)] = r.tree(k, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = r.tree(name, x)
		}
		return out
	case string:
		if places[2].re.MatchString(`"` + name + `":"xxxx`) {
			return Mask
		}
		return r.Text(v)
	}
	return v
}

// Writer returns a writer that hands on to w what is written to it without secrets,
// write by write: each should be a whole line.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &writer{r, w} }

type writer struct {
	r *Redactor
	w io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	if _, err := w.w.Write([]byte(w.r.Text(w.r.escaped(string(p))))); err != nil {
		return 0, err
	}
	return len(p), nil
}
