// Package telemetry tells what an agent does, for its user's own eyes: requests to the
// model, tool calls, edits, as JSON lines in a file or as OTLP logs to a collector of
// the user's. It is off unless switched on; prompts and texts of files go in only with
// a second switch; keys and tokens never do.
//
// Nothing here holds up or fails a turn: events wait in a bounded queue, one goroutine
// writes them, and what does not fit is dropped and counted.
package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"redline/tools/secret"
)

// Options say what is told to whom (settings telemetry.*).
type Options struct {
	Enabled      bool
	File         string // telemetry.outfile: JSON lines are appended
	OTLPEndpoint string // telemetry.otlpEndpoint: the base URL of a collector, OTLP over HTTP
	LogPrompts   bool   // prompts, answers and arguments too

	Version  string // of redline
	AuthType string // how the model is reached, such as gemini-api-key
	Redact   *secret.Redactor
	// Problem is told once when events cannot be written.
	Problem func(error)
}

// queue is how many events may wait to be written.
const queue = 4096

// closeWait is how long [Log.Close] waits for what is still to be written.
const closeWait = 2 * time.Second

// Event is one event. Attributes are flat, under OpenTelemetry's names where it has
// some.
type Event struct {
	Name       string
	Time       time.Time
	Attributes map[string]any // strings, bools, ints, int64s and float64s
}

// exporter writes events; it is used by one goroutine.
type exporter interface {
	export([]Event) error
	close() error
}

// Log takes events. A nil Log takes none.
type Log struct {
	opt    Options
	events chan Event
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	closed  bool
	dropped int64
	said    bool
	told    map[string]bool // what is told once
}

// Start returns a log for the options, nil when they are off. What it writes to is
// opened with the first event.
func Start(opt Options) *Log {
	if !opt.Enabled || opt.File == "" && opt.OTLPEndpoint == "" {
		return nil
	}
	if opt.Redact == nil {
		opt.Redact = new(secret.Redactor)
	}
	l := &Log{opt: opt, events: make(chan Event, queue), done: make(chan struct{})}
	go l.run()
	return l
}

// Add takes an event, or drops it when too many wait. It never blocks.
func (l *Log) Add(name string, attributes map[string]any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.events <- Event{name, time.Now(), attributes}:
	default:
		l.dropped++
	}
}

// first reports whether key is new.
func (l *Log) first(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[string]bool{}
	}
	was := l.told[key]
	l.told[key] = true
	return !was
}

// Close writes what waits, for at most two seconds, and returns how many events were
// dropped.
func (l *Log) Close() (dropped int64) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.events)
	}
	dropped = l.dropped
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-time.After(closeWait): // a file system or collector that hangs
	}
	return dropped
}

func (l *Log) run() {
	defer close(l.done)
	var to []exporter
	defer func() {
		for _, x := range to {
			_ = x.close() // the events are written, or the problem was told
		}
	}()
	opened := false
	for ev := range l.events {
		batch := []Event{ev}
	more:
		for len(batch) < 512 {
			select {
			case ev, ok := <-l.events:
				if !ok {
					break more
				}
				batch = append(batch, ev)
			default:
				break more
			}
		}
		if !opened {
			opened = true
			to = l.open()
		}
		for _, x := range to {
			if err := x.export(batch); err != nil {
				l.problem(err)
			}
		}
	}
}

func (l *Log) open() (to []exporter) {
	if l.opt.File != "" {
		f, err := openFile(l.opt.File)
		if err != nil {
			l.problem(err)
		} else {
			to = append(to, &lines{f, l.opt.Redact})
		}
	}
	if l.opt.OTLPEndpoint != "" {
		to = append(to, newCollector(l.opt))
	}
	return to
}

// problem tells the first one only.
func (l *Log) problem(err error) {
	l.mu.Lock()
	first := !l.said
	l.said = true
	l.mu.Unlock()
	if first && l.opt.Problem != nil {
		l.opt.Problem(fmt.Errorf("telemetry is not written: %w", err))
	}
}

// openFile opens the file to append to, for its owner alone. One that is no regular
// file or device could block for ever.
func openFile(path string) (io.WriteCloser, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeDir) != 0 {
		return nil, fmt.Errorf("%s is no file", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// lines writes JSON lines.
type lines struct {
	w      io.WriteCloser
	redact *secret.Redactor
}

func (x *lines) export(batch []Event) error {
	var out []byte
	for _, ev := range batch {
		line := map[string]any{"event.name": ev.Name, "event.timestamp": ev.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")}
		for k, v := range ev.Attributes {
			line[k] = v
		}
		raw, err := json.Marshal(line)
		if err != nil {
			return err
		}
		out = append(append(out, x.redact.JSON(raw)...), '\n')
	}
	_, err := x.w.Write(out)
	return err
}

func (x *lines) close() error { return x.w.Close() }
