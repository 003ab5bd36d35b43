package model

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads how long a server asks to wait: Retry-After (RFC 9110, section
// 10.2.3, fractions of a second allowed), or OpenAI's retry-after-ms; 0 when it does
// not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
