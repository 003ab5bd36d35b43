package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"redline/agent"
	"redline/agent/model"
	"redline/agent/record"
	"redline/agent/telemetry"
	"redline/cmd/internal/config"
	"redline/lsp"
	"redline/tools/secret"
)

// observation is what watches a process: log, trace, recording, telemetry. Whatever it
// writes has no secrets in it. Its fields are set by flags, then by open.
type observation struct {
	logFile, level, trace, record, replay string

	fallback string          // the level when neither flag nor settings name one
	at       zap.AtomicLevel // of the log; settings may change it later

	getenv func(string) string
	redact *secret.Redactor
	log    *zap.Logger
	tracer *tracer
	rec    *record.Recorder
	player *record.Player
	files  []*os.File

	mu    sync.Mutex
	telem *telemetry.Log // once the settings say so
}

// flags registers the flags that serve and run share.
func (o *observation) flags(fs *flag.FlagSet, level string) {
	o.fallback, o.at = level, zap.NewAtomicLevel()
	fs.StringVar(&o.level, "log-level", "", "debug, info, warn or error (default: the setting redline.log.level, else "+level+")")
	fs.StringVar(&o.logFile, "log-file", "", "write the log to this `file` instead of stderr")
	fs.StringVar(&o.trace, "trace", "", "write every message of the protocol and every exchange with the model to this `file`, one line each")
	fs.StringVar(&o.record, "record", "", "write the exchanges with the model to this `file`, for --replay")
	fs.StringVar(&o.replay, "replay", "", "answer from a recording in this `file` instead of a model; what is not as recorded is an error")
}

// open opens what the flags ask for. On an error it returns the code to exit with.
func (o *observation) open(std stdio, cores ...zapcore.Core) (code int, err error) {
	o.getenv = std.getenv
	if o.redact == nil {
		o.redact = new(secret.Redactor)
	}
	o.redact.AddEnviron(os.Environ())
	if o.record != "" && o.replay != "" {
		return exitUsage, errors.New("--record and --replay exclude each other")
	}
	out := std.err
	if o.logFile != "" {
		f, err := o.create(o.logFile, os.O_APPEND)
		if err != nil {
			return exitFailed, fmt.Errorf("open the log: %w", err)
		}
		out = f
	}
	level, err := parseLevel(cmp.Or(o.level, o.fallback))
	if err != nil {
		return exitUsage, err
	}
	o.at.SetLevel(level)
	o.log = newLog(o.redact.Writer(out), o.at, cores...)
	if o.trace != "" {
		f, err := o.create(o.trace, os.O_APPEND)
		if err != nil {
			return exitFailed, fmt.Errorf("open the trace: %w", err)
		}
		o.tracer = newTracer(f, o.redact)
	}
	if o.record != "" {
		f, err := o.create(o.record, os.O_TRUNC)
		if err != nil {
			return exitFailed, fmt.Errorf("open the recording: %w", err)
		}
		o.rec = record.NewRecorder(f, versionString(), o.redact)
	}
	if o.replay != "" {
		f, err := os.Open(o.replay)
		if err != nil {
			return exitUsage, fmt.Errorf("open the recording: %w", err)
		}
		defer f.Close()
		if o.player, err = record.NewPlayer(f, o.redact); err != nil {
			return exitUsage, fmt.Errorf("%s: %w", o.replay, err)
		}
	}
	return exitOK, nil
}

// clientLog returns the log that an editor shows, of the same level.
func (o *observation) clientLog() *lsp.ClientLog {
	o.redact = new(secret.Redactor)
	return lsp.NewClientLog(o.at, o.redact.Text)
}

// anotherLog returns a log for one of several editors that one process serves.
func (o *observation) anotherLog() *lsp.ClientLog { return lsp.NewClientLog(o.at, o.redact.Text) }

// create opens a file for its owner alone.
func (o *observation) create(name string, mode int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|mode, 0o600)
	if err == nil {
		o.files = append(o.files, f)
	}
	return f, err
}

// settings makes sessions with these settings watched.
func (o *observation) settings(set *lsp.Settings, cfg *config.Config, folders []string) {
	if level, err := parseLevel(cfg.LogLevel); err == nil && o.level == "" && cfg.LogLevel != "" {
		o.at.SetLevel(level)
	}
	environ, trees := cfg.Secrets()
	o.redact.AddEnviron(environ)
	o.redact.Add(set.Secrets...)
	for _, t := range trees {
		o.redact.AddTree("", t)
	}
	places := record.Places{Folders: folders, Home: config.Home(o.getenv)}
	if o.player != nil {
		set.Generator = func(context.Context) (model.ContentGenerator, error) { return o.player.Generator(places), nil }
		set.Auth = func() (string, error) { return "replay", nil }
		set.Account = nil
	}
	method, _ := set.Auth()
	events := o.telemetry(cfg, method)
	inner := set.Generator
	set.Generator = func(ctx context.Context) (model.ContentGenerator, error) {
		g, err := inner(ctx)
		if err != nil {
			return nil, err
		}
		g = record.Clean(g, o.redact.Text)
		if o.rec != nil {
			g = o.rec.Wrap(g, places)
		}
		if o.tracer == nil && events == nil {
			return g, nil
		}
		return record.Observe(g, func(l record.Line) {
			events.Exchange(l)
			if o.tracer != nil {
				o.tracer.exchange(l)
			}
		}), nil
	}
	if events != nil {
		set.Observe = func(ev agent.Event) { events.Session(ev) }
	}
}

// telemetry returns the log of events, nil when it is off.
func (o *observation) telemetry(cfg *config.Config, method string) *telemetry.Log {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := cfg.Telemetry
	if o.telem != nil || !t.Enabled {
		return o.telem
	}
	file := t.Outfile
	if file == "" && t.OTLPEndpoint == "" {
		file = filepath.Join(config.StateDir(o.getenv), "telemetry.jsonl")
	}
	o.telem = telemetry.Start(telemetry.Options{
		Enabled: true, File: file, OTLPEndpoint: t.OTLPEndpoint, LogPrompts: t.LogPrompts,
		Version: versionString(), AuthType: method, Redact: o.redact,
		Problem: func(err error) { o.log.Warn(err.Error()) },
	})
	return o.telem
}

// close ends everything. It returns what was not as recorded, or not written.
func (o *observation) close() error {
	o.mu.Lock()
	events := o.telem
	o.mu.Unlock()
	if dropped := events.Close(); dropped > 0 {
		o.log.Warn("events of telemetry were dropped", zap.Int64("events", dropped))
	}
	var err error
	if o.rec != nil {
		err = o.rec.Err()
	}
	if o.player != nil {
		err = o.player.Err()
	}
	for _, f := range o.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// end is close for a run that would end with code; it returns the code that counts.
func (o *observation) end(std stdio, code int) int {
	if err := o.close(); err != nil {
		var m *model.Error
		if code == exitOK || !errors.As(err, &m) { // else it was the turn's error
			fmt.Fprintf(std.err, "redline: %v\n", err)
		}
		if code == exitOK {
			return exitFailed
		}
	}
	return code
}

func parseLevel(s string) (zapcore.Level, error) {
	level, err := zapcore.ParseLevel(s)
	if err != nil {
		return level, fmt.Errorf("unknown log level %q; use debug, info, warn or error", s)
	}
	return level, nil
}

// newLog returns a log to w, and to the cores besides.
func newLog(w io.Writer, level zapcore.LevelEnabler, cores ...zapcore.Core) *zap.Logger {
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(w)), level)
	return zap.New(zapcore.NewTee(append([]zapcore.Core{core}, cores...)...))
}
