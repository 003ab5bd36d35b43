package main

import (
	"flag"
	"io"
	"testing"

	"redline/cmd/internal/config"
	"redline/lsp"
)

// The flag decides how much is logged, then the settings, then the command's own level.
func TestLogLevel(t *testing.T) {
	for _, c := range []struct{ flag, setting, want string }{
		{"", "", "info"},
		{"", "debug", "debug"},
		{"error", "debug", "error"},
		{"error", "", "error"},
	} {
		var o observation
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		o.flags(fs, "info")
		if c.flag != "" {
			if err := fs.Parse([]string{"--log-level", c.flag}); err != nil {
				t.Fatal(err)
			}
		}
		core := o.clientLog()
		if _, err := o.open(stdio{err: io.Discard, getenv: func(string) string { return "" }}, core); err != nil {
			t.Fatal(err)
		}
		o.settings(&lsp.Settings{Auth: func() (string, error) { return "", nil }}, &config.Config{LogLevel: c.setting}, nil)
		if got := o.at.Level().String(); got != c.want || !core.Enabled(o.at.Level()) || !o.log.Core().Enabled(o.at.Level()) {
			t.Errorf("flag %q, setting %q: level %s, want %s", c.flag, c.setting, got, c.want)
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
	}
}
