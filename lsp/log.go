package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"go.lsp.dev/protocol"
	"go.uber.org/zap/zapcore"

	"redline/lsp/rpc"
)

// maxClientLog is how many messages may wait for the client.
const maxClientLog = 512

// maxTraceText is how much of a message $/logTrace carries, in bytes.
const maxTraceText = 4 << 10

const (
	methodLogMessage = "window/logMessage"
	methodLogTrace   = "$/logTrace"
)

// ClientLog is a [zapcore.Core] that shows the log in the editor, by
// window/logMessage, and carries $/logTrace. It never blocks: what a slow client leaves
// no room for is dropped and counted. Make it with [NewClientLog] and give it to
// [Options.ClientLog].
type ClientLog struct {
	zapcore.LevelEnabler
	enc    zapcore.Encoder
	redact func(string) string
	shared *clientQueue
}

// clientQueue is shared by the cores that [ClientLog.With] makes.
type clientQueue struct {
	items   chan clientItem
	dropped atomic.Int64
	once    sync.Once
	trace   atomic.Value // protocol.TraceValue
}

type clientItem struct {
	method string
	params any
}

// NewClientLog returns a log for the client of what level lets through; redact takes
// secrets out.
func NewClientLog(level zapcore.LevelEnabler, redact func(string) string) *ClientLog {
	enc := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "msg", NameKey: "logger", ConsoleSeparator: " "}) // the editor adds time and level
	q := &clientQueue{items: make(chan clientItem, maxClientLog)}
	q.trace.Store(protocol.TraceValueOff)
	return &ClientLog{level, enc, redact, q}
}

// With implements [zapcore.Core].
func (l *ClientLog) With(fields []zapcore.Field) zapcore.Core {
	out := *l
	out.enc = l.enc.Clone()
	for _, f := range fields {
		f.AddTo(out.enc)
	}
	return &out
}

// Check implements [zapcore.Core].
func (l *ClientLog) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if l.Enabled(e.Level) {
		return ce.AddCore(e, l)
	}
	return ce
}

// Write implements [zapcore.Core]; it never fails.
func (l *ClientLog) Write(e zapcore.Entry, fields []zapcore.Field) error {
	b, err := l.enc.EncodeEntry(e, fields)
	if err != nil {
		return err
	}
	text := l.redact(strings.TrimSpace(b.String()))
	b.Free()
	l.put(methodLogMessage, &protocol.LogMessageParams{Type: messageType(e.Level), Message: text})
	return nil
}

// Sync implements [zapcore.Core]; the client shows messages when it likes.
func (l *ClientLog) Sync() error { return nil }

func messageType(level zapcore.Level) protocol.MessageType {
	switch {
	case level >= zapcore.ErrorLevel:
		return protocol.MessageTypeError
	case level == zapcore.WarnLevel:
		return protocol.MessageTypeWarning
	case level == zapcore.InfoLevel:
		return protocol.MessageTypeInfo
	}
	return protocol.MessageTypeLog
}

func (l *ClientLog) put(method string, params any) {
	select {
	case l.shared.items <- clientItem{method, params}:
	default:
		l.shared.dropped.Add(1)
	}
}

// setTrace follows $/setTrace and the trace of initialize.
func (l *ClientLog) setTrace(v protocol.TraceValue) {
	switch v {
	case protocol.TraceValueOff, protocol.TraceValueMessages, protocol.TraceValueVerbose:
		l.shared.trace.Store(v)
	}
}

// tap tells of a message of the protocol, when the client wants to know.
func (l *ClientLog) tap(d rpc.Direction, body []byte) {
	level, _ := l.shared.trace.Load().(protocol.TraceValue)
	if level == protocol.TraceValueOff {
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(body, &m) != nil || m.Method == methodLogTrace || m.Method == methodLogMessage {
		return
	}
	what := "response"
	switch {
	case m.Method != "" && len(m.ID) > 0:
		what = "request " + m.Method
	case m.Method != "":
		what = "notification " + m.Method
	}
	if len(m.ID) > 0 {
		what += fmt.Sprintf(" (%s)", m.ID)
	}
	p := &protocol.LogTraceParams{Message: d.String() + " " + what}
	if level == protocol.TraceValueVerbose {
		text := l.redact(string(body))
		if len(text) > maxTraceText {
			text = strings.ToValidUTF8(text[:maxTraceText], "") + "…"
		}
		p.Verbose = &text
	}
	l.put(methodLogTrace, p)
}

// run sends what waits, until ctx ends.
func (l *ClientLog) run(ctx context.Context, conn *rpc.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case it := <-l.shared.items:
			if conn.Notify(ctx, it.method, it.params) != nil {
				return // the connection has ended
			}
		}
		if n := l.shared.dropped.Swap(0); n > 0 {
			_ = conn.Notify(ctx, methodLogMessage, &protocol.LogMessageParams{ // the next one will tell
				Type: protocol.MessageTypeWarning, Message: fmt.Sprintf("%d messages of the log were dropped, because the editor did not take them", n),
			})
		}
	}
}

// startLog begins to send the log, once the client has initialized.
func (s *Server) startLog() {
	if l := s.opt.ClientLog; l != nil {
		l.shared.once.Do(func() { s.background(func(ctx context.Context) { l.run(ctx, s.conn) }) })
	}
}

// tapped returns what sees every message.
func (s *Server) tapped() func(rpc.Direction, []byte) {
	l := s.opt.ClientLog
	if l == nil {
		return s.opt.Tap
	}
	return func(d rpc.Direction, body []byte) {
		if s.opt.Tap != nil {
			s.opt.Tap(d, body)
		}
		l.tap(d, body)
	}
}

func (s *Server) setTrace(v protocol.TraceValue) {
	if l := s.opt.ClientLog; l != nil {
		l.setTrace(v)
	}
}
