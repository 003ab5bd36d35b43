package record

import (
	"fmt"
	"io"
	"sync"

	"redline/agent/model"
	"redline/tools/secret"
)

// Recorder writes a recording. It is safe for concurrent use.
type Recorder struct {
	version string
	redact  *secret.Redactor

	mu     sync.Mutex
	out    io.Writer
	n      int
	number map[int]int // of an exchange in this recording
	err    error       // the first of writing; nothing is written after it
}

// NewRecorder returns a recorder that writes to w.
func NewRecorder(w io.Writer, version string, redact *secret.Redactor) *Recorder {
	return &Recorder{out: w, version: version, redact: redact, number: map[int]int{}}
}

// Wrap returns g with its exchanges written down. A write that fails disturbs nothing;
// see [Recorder.Err].
func (r *Recorder) Wrap(g model.ContentGenerator, places Places) model.ContentGenerator {
	_, counts := g.(model.TokenCounter)
	_, lists := g.(model.Lister)
	return Observe(g, func(l Line) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err != nil {
			return
		}
		if r.n == 0 {
			r.write(Line{Kind: KindHeader, Time: stamp(), Header: &Header{r.version, counts, lists}}, places)
		}
		if l.Kind == KindRequest {
			r.n++
			r.number[l.N] = r.n
		}
		exchange := l.N
		l.N = r.number[exchange]
		if l.Kind == KindResponse {
			delete(r.number, exchange)
		}
		r.write(l, places)
	})
}

func (r *Recorder) write(l Line, places Places) {
	raw, err := l.Encode()
	if err == nil {
		_, err = r.out.Write(append(r.redact.JSON(places.hide(raw)), '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("write the recording: %w", err)
	}
}

// Err returns the first error of writing.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
