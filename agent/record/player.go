package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"

	"redline/agent/model"
	"redline/tools/secret"
)

// maxLine bounds a line of a recording, in bytes.
const maxLine = 256 << 20

// Player answers requests as a recording has it, and only requests that are in it, in
// its order. It is safe for concurrent use.
type Player struct {
	header Header
	redact *secret.Redactor

	mu     sync.Mutex
	tapes  []*tape
	failed error // the first request that is not in the recording
}

// tape is one exchange.
type tape struct {
	n        int
	method   string
	request  json.RawMessage
	response json.RawMessage // the line; nil when there is none
	overlaps int             // up to this number exchanges began before this one ended
	played   bool
}

// NewPlayer reads a recording.
func NewPlayer(r io.Reader, redact *secret.Redactor) (*Player, error) {
	p := &Player{redact: redact}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	byNumber := map[int]*tape{}
	for line := 1; in.Scan(); line++ {
		raw := bytes.Clone(in.Bytes())
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		var l struct {
			Kind, Method string
			N            int
			Header       *Header
			Request      json.RawMessage
		}
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("line %d of the recording: %w", line, err)
		}
		switch {
		case l.Kind == KindHeader && l.Header != nil:
			p.header = *l.Header
		case l.Kind == KindRequest:
			t := &tape{n: l.N, method: l.Method, request: l.Request}
			byNumber[l.N] = t
			p.tapes = append(p.tapes, t)
		case l.Kind == KindResponse && byNumber[l.N] != nil:
			byNumber[l.N].response, byNumber[l.N].overlaps = raw, len(p.tapes)
		default:
			return nil, fmt.Errorf("line %d of the recording has the kind %q, which is not known, or does not belong there", line, l.Kind)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	if len(p.tapes) == 0 {
		return nil, errors.New("there is no exchange in the recording")
	}
	return p, nil
}

// Generator returns what answers from the recording.
func (p *Player) Generator(places Places) model.ContentGenerator {
	g := &playing{p, places}
	return offer(g, g, g, p.header.Counts, p.header.Lists)
}

// Err returns what was not as recorded: the first request that differs, else the
// exchanges that nobody asked for.
func (p *Player) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return p.failed
	}
	left := 0
	for _, t := range p.tapes {
		if !t.played {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("%d of the %d recorded requests were not made", left, len(p.tapes))
	}
	return nil
}

// take finds the exchange for a request: the first that is left, or one that was
// under way together with it.
func (p *Player) take(method string, request []byte) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, where := -1, ""
	for i, t := range p.tapes {
		if t.played {
			continue
		}
		if first >= 0 && i >= p.tapes[first].overlaps {
			break
		}
		d := ""
		if t.method != method {
			d = report("method", t.method, method)
		} else if t.request != nil || string(request) != "null" {
			d = difference(t.request, request)
		}
		if d == "" {
			t.played = true
			if t.response == nil {
				return nil, p.fail(fmt.Sprintf("the recording ends in request %d: it has no answer", t.n))
			}
			return t.response, nil
		}
		if first < 0 {
			first, where = i, d
		}
	}
	if first < 0 {
		return nil, p.fail(fmt.Sprintf("request %d is not in the recording, which ends before it:\n%s", len(p.tapes)+1, last(request)))
	}
	return nil, p.fail(fmt.Sprintf("request %d differs from the recording %s", p.tapes[first].n, where))
}

func (p *Player) fail(text string) error {
	err := &model.Error{Kind: model.KindBadRequest, Message: text}
	if p.failed == nil {
		p.failed = err
	}
	return err
}

// last shows what a request asks for.
func last(request []byte) string {
	var r struct{ Contents []json.RawMessage }
	if json.Unmarshal(request, &r) != nil || len(r.Contents) == 0 {
		return cut(string(request))
	}
	return "  " + strings.TrimSpace(cut(string(r.Contents[len(r.Contents)-1])))
}

type playing struct {
	p      *Player
	places Places
}

// ask returns the recorded response.
func (g *playing) ask(method string, req *model.Request) (*Line, error) {
	l := Line{}
	if req != nil {
		l.Request = &Request{req.Model, req.PromptID, req.Config, req.Contents}
	}
	raw, err := l.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	var made struct{ Request json.RawMessage }
	if err := json.Unmarshal(g.p.redact.JSON(g.places.hide(raw)), &made); err != nil {
		return nil, err
	}
	if made.Request == nil {
		made.Request = json.RawMessage(`null`)
	}
	res, err := g.p.take(method, made.Request)
	if err != nil {
		return nil, err
	}
	var out Line
	if err := json.Unmarshal(g.places.show(res), &out); err != nil {
		return nil, fmt.Errorf("read the recorded answer: %w", err)
	}
	return &out, nil
}

// Stream implements [model.ContentGenerator].
func (g *playing) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		l, err := g.ask(MethodStream, req)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, c := range l.Chunks {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if chunk := model.Chunk(c); !yield(&chunk, nil) {
				return
			}
		}
		if l.Error != nil {
			yield(nil, l.Error.err())
		}
	}
}

// CountTokens implements [model.TokenCounter].
func (g *playing) CountTokens(_ context.Context, req *model.Request) (int, error) {
	l, err := g.ask(MethodCountTokens, req)
	if err != nil {
		return 0, err
	}
	if l.Error != nil {
		return 0, l.Error.err()
	}
	return l.Tokens, nil
}

// ListModels implements [model.Lister].
func (g *playing) ListModels(context.Context) ([]model.Info, error) {
	l, err := g.ask(MethodListModels, nil)
	if err != nil {
		return nil, err
	}
	if l.Error != nil {
		return nil, l.Error.err()
	}
	return l.Models, nil
}
