package lsp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"redline/lsp/lsptest"
	"redline/lsp/rpc"
	"redline/tools/secret"
)

// The log is shown in the editor by level, and $/setTrace turns traces on and off;
// neither has secrets in it.
func TestClientLog(t *testing.T) {
	var redact secret.Redactor
	redact.Add("key-0123456789")
	clientLog := NewClientLog(zapcore.InfoLevel, redact.Text)
	log := zap.New(clientLog)
	e := lsptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		Serve(ctx, rpc.Pair(io.NopCloser(in), nopWriteCloser{out}), Options{Log: log, ClientLog: clientLog, Settings: func([]string) (Settings, error) { return Settings{}, nil }})
		return nil
	}, lsptest.Options{})
	log.Debug("not this")
	log.With(zap.String("where", "here")).Warn("beware of key-0123456789", zap.Int("n", 3))
	e.WaitNotification("window/logMessage", func(p json.RawMessage) bool {
		text := string(p)
		if strings.Contains(text, "not this") || strings.Contains(text, "key-0123456789") {
			t.Errorf("logged %s", p)
		}
		return strings.Contains(text, "beware of [redacted]") && strings.Contains(text, `"type":2`) && strings.Contains(text, "here")
	})
	e.Notify("$/setTrace", map[string]any{"value": "verbose"})
	e.MustCall("agent/session/list", map[string]any{}, nil) // until it is answered, messages may have been read already
	e.MustCall("agent/session/list", map[string]any{}, nil)
	e.WaitNotification("$/logTrace", func(p json.RawMessage) bool {
		return strings.Contains(string(p), "received request agent/session/list") && strings.Contains(string(p), "verbose")
	})
	e.Notify("$/setTrace", map[string]any{"value": "off"})
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// A client that takes nothing holds up nobody, and what is dropped is counted.
func TestClientLogBounded(t *testing.T) {
	l := NewClientLog(zapcore.DebugLevel, func(s string) string { return s })
	log := zap.New(l)
	for range 3 * maxClientLog {
		log.Info("x")
	}
	if n := l.shared.dropped.Load(); n != 2*maxClientLog {
		t.Errorf("%d dropped", n)
	}
}
