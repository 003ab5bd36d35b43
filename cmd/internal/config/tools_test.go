package config

import (
	"testing"
	"time"
)

func TestToolSettings(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`: 0, `{"tools": {"shell": {"inactivityTimeout": 90}}}`: 90 * time.Second, `{"tools": {"shell": {"inactivityTimeout": 0}}}`: -1,
		`{"tools": {"shell": {"inactivityTimeout": 0.5, "pager": "less"}}}`: 500 * time.Millisecond,
	} {
		if c, err := load(t, nil, map[string]string{"home/settings.json": text}); err != nil || c.Silence != want || !c.CorrectEdits || len(c.Warnings) > 0 {
			t.Errorf("%s: %v, want %v (%v)", text, c, want, err)
		}
	}
	for _, text := range []string{
		`{"tools": {"shell": {"inactivityTimeout": "soon"}}}`, `{"tools": {"shell": {"inactivityTimeout": -1}}}`,
		`{"redline": {"correctEdits": 1}}`, `{"tools": {"callCommand": true}}`,
	} {
		if c, err := load(t, nil, map[string]string{"home/settings.json": text}); err == nil {
			t.Errorf("%s: %+v", text, c)
		}
	}
	c, err := load(t, nil, map[string]string{"home/settings.json": `{"toolDiscoveryCommand": "a", "toolCallCommand": "b", "redline": {"correctEdits": false}}`})
	if err != nil || c.DiscoveryCommand != "a" || c.CallCommand != "b" || c.CorrectEdits {
		t.Errorf("old names: %+v (%v)", c, err)
	}
}
