package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"redline/agent"
	"redline/lsp/rpc"
)

// promptRun is a prompt at work.
type promptRun struct {
	mu        sync.Mutex
	turnID    string // empty until the turn has begun
	cancelled bool
	ends      map[string]agent.TurnEnded // of turns that ended, until it is known which is ours
	ended     chan struct{}              // capacity 1: ends has grown
	answered  chan struct{}              // closed when the handler has returned
}

// finish notes that a turn has ended.
func (r *promptRun) finish(turnID string, end agent.TurnEnded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[turnID] = end
	select {
	case r.ended <- struct{}{}:
	default:
	}
}

// prompt runs a turn and answers when it has ended. It holds the queue until the session
// knows of it, so that a cancel behind it is one of it.
func (s *Server) prompt(ctx context.Context, p *promptParams) (*promptResult, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	msg, err := x.message(p.Prompt)
	if err != nil {
		return nil, err
	}
	run := &promptRun{ends: map[string]agent.TurnEnded{}, ended: make(chan struct{}, 1), answered: make(chan struct{})}
	defer close(run.answered)
	x.mu.Lock()
	before := x.running
	if before == nil || before.isCancelled() {
		x.running = run
		x.runs[run] = true
	}
	x.mu.Unlock()
	if before != nil && !before.isCancelled() {
		return nil, promptError(agent.ErrBusy)
	}
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.runs, run)
		if x.running == run {
			x.running = nil
		}
	}()
	rpc.Release(ctx)
	if before != nil { // the user goes on before what they cancelled has quite ended
		select {
		case <-before.answered:
		case <-ctx.Done():
			return &promptResult{stopCancelled}, nil
		}
	}
	if run.isCancelled() {
		return &promptResult{stopCancelled}, nil
	}
	turnID, err := x.Prompt(x.ctx, msg)
	if err != nil {
		return nil, promptError(err)
	}
	run.mu.Lock()
	run.turnID = turnID
	if run.cancelled {
		x.Cancel(turnID)
	}
	run.mu.Unlock()
	x.show.info(x.Info())
	x.show.commands() // files of prompts come and go
	end, err := run.wait(ctx, x)
	if err != nil {
		return nil, err
	}
	x.show.info(x.Info())
	return promptEnd(end)
}

func (r *promptRun) isCancelled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancelled
}

// wait returns how the turn ended. The client's word on the request cancels it; it is
// waited for all the same, since every turn ends. The end of the connection is no such
// word: the session ends with it, and what is open in it stays open.
func (r *promptRun) wait(ctx context.Context, x *session) (agent.TurnEnded, error) {
	done := ctx.Done()
	for {
		r.mu.Lock()
		end, ok := r.ends[r.turnID]
		r.mu.Unlock()
		if ok {
			return end, nil
		}
		select {
		case <-r.ended:
		case <-done:
			if err := context.Cause(ctx); errors.Is(err, rpc.ErrClosed) {
				return agent.TurnEnded{}, err
			}
			done = nil
			x.Cancel(r.turnID)
		}
	}
}

// promptEnd is the answer to a prompt whose turn has ended.
func promptEnd(end agent.TurnEnded) (*promptResult, error) {
	switch end.Status {
	case agent.Cancelled:
		return &promptResult{stopCancelled}, nil
	case agent.Limit:
		return &promptResult{stopRequests}, nil
	case agent.Completed:
		if end.Finish == "MAX_TOKENS" {
			return &promptResult{stopTokens}, nil
		}
		return &promptResult{stopEnd}, nil
	}
	if errors.Is(end.Err, agent.ErrRefused) {
		return &promptResult{stopRefusal}, nil
	}
	switch end.Finish {
	case "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY":
		return &promptResult{stopRefusal}, nil
	}
	return nil, turnError(end)
}

// cancel ends the prompt at work, and with it every question that is open.
func (s *Server) cancel(_ context.Context, p *sessionParams) error {
	x, err := s.session(p.SessionID)
	if err != nil {
		return err
	}
	x.mu.Lock()
	run := x.running
	x.mu.Unlock()
	if run == nil {
		return nil
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.cancelled = true
	if run.turnID != "" {
		x.Cancel(run.turnID)
	}
	return nil
}

// message turns a prompt's content into what the session takes. Links are named in the
// text where they stand, and their content follows it.
func (x *session) message(blocks []contentBlock) (agent.Message, error) {
	var msg agent.Message
	var text strings.Builder
	for i, b := range blocks {
		field := fmt.Sprintf("prompt[%d]", i)
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "image", "audio":
			if b.Data == "" && b.URI != "" {
				text.WriteString(x.attach(&msg, b.URI, b.MIMEType, b.Name))
				continue
			}
			data, err := decode(field+".data", b.Data)
			if err != nil {
				return msg, err
			}
			if !strings.HasPrefix(b.MIMEType, b.Type+"/") {
				return msg, rpc.BadParams(field+".mimeType", "is %q; it must begin with %s/", b.MIMEType, b.Type)
			}
			msg.Context = append(msg.Context, agent.ContextItem{Kind: "image", URI: b.URI, MIMEType: b.MIMEType, Data: data})
		case "resource_link":
			if b.URI == "" {
				return msg, rpc.BadParams(field+".uri", "is missing")
			}
			text.WriteString(x.attach(&msg, b.URI, b.MIMEType, b.Name))
		case "resource":
			name, err := x.embed(&msg, field+".resource", b.Resource)
			if err != nil {
				return msg, err
			}
			text.WriteString(name)
		default:
			return msg, rpc.BadParams(field+".type", "is %q; use text, image, audio, resource_link or resource", b.Type)
		}
	}
	msg.Text = text.String()
	if strings.TrimSpace(msg.Text) == "" && len(msg.Context) == 0 {
		return msg, promptError(agent.ErrEmpty)
	}
	return msg, nil
}

func decode(field, data string) ([]byte, error) {
	if data == "" {
		return nil, rpc.BadParams(field, "is missing")
	}
	out, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, rpc.BadParams(field, "is no base64: %v", err)
	}
	return out, nil
}

// lines finds the lines in a link's fragment: #L3, #L3:7, #L3-L7, #L3-7.
var lines = regexp.MustCompile(`^L(\d+)(?:[:-]L?(\d+))?$`)

// target says what a link points to.
func target(link string) (item agent.ContextItem, isFile bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "file" && u.Scheme != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return agent.ContextItem{Kind: "url", URI: link}, false
	}
	item = agent.ContextItem{Kind: "file", Path: filepath.Clean(filepath.FromSlash(u.Path))}
	if m := lines.FindStringSubmatch(u.Fragment); m != nil {
		item.Kind = "selection"
		item.FromLine, _ = strconv.Atoi(m[1])
		if item.ToLine, _ = strconv.Atoi(m[2]); item.ToLine == 0 {
			item.ToLine = item.FromLine
		}
	}
	return item, true
}

// attach adds what a link points to, and returns how it is called in the text. Folders
// and what is outside of the workspace are named only: the model has tools to look.
func (x *session) attach(msg *agent.Message, link, mimeType, name string) string {
	item, isFile := target(link)
	if !isFile {
		if name != "" && name != link {
			return fmt.Sprintf("%s <%s>", name, link)
		}
		return link
	}
	snap := x.ws.Snapshot()
	called := fmt.Sprintf("`%s`", snap.Rel(item.Path))
	if _, err := snap.Resolve(item.Path); err != nil {
		return fmt.Sprintf("`%s`", item.Path)
	}
	if info, err := os.Stat(item.Path); err == nil && info.IsDir() {
		return called
	}
	if kind, _, _ := strings.Cut(mimeType, "/"); kind == "image" || kind == "audio" || kind == "video" || mimeType == "application/pdf" {
		item.Kind, item.MIMEType = "image", mimeType
	}
	if item.FromLine > 0 {
		called = fmt.Sprintf("`%s` (lines %d-%d)", snap.Rel(item.Path), item.FromLine, item.ToLine)
	}
	msg.Context = append(msg.Context, item)
	return called
}

// embed adds content that the client sent along, and returns how it is called.
func (x *session) embed(msg *agent.Message, field string, r resource) (string, error) {
	if r.URI == "" {
		return "", rpc.BadParams(field+".uri", "is missing")
	}
	item, isFile := target(r.URI)
	item.MIMEType = r.MIMEType
	if !isFile {
		item.Kind = "text"
	}
	switch {
	case r.Text != nil:
		item.Text = *r.Text
		if item.Text == "" {
			item.Text = "\n" // else the file would be read
		}
	case r.Blob != nil:
		data, err := decode(field+".blob", *r.Blob)
		if err != nil {
			return "", err
		}
		item.Kind, item.Data = "image", data
	default:
		return "", rpc.BadParams(field, "has neither text nor blob")
	}
	msg.Context = append(msg.Context, item)
	if isFile {
		return fmt.Sprintf("`%s`", x.ws.Snapshot().Rel(item.Path)), nil
	}
	return r.URI, nil
}
