package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"redline/tools"
	"redline/workspace"
)

// maxName is the longest name of a function that the API takes.
const maxName = 63

// maxDescription bounds what a server may put into every request, in bytes.
const maxDescription = 2000

// tool is a tool of a server.
type tool struct {
	spec tools.Spec
	name string // as the server calls it
	link *link
}

// newTool returns a tool as a server declares it, all but its function name, and
// what was wrong with the declaration.
func newTool(l *link, t *sdk.Tool) (*tool, []string) {
	srv := l.server
	kind := tools.KindOther
	if srv.Trust && t.Annotations != nil && t.Annotations.ReadOnlyHint {
		kind = tools.KindRead // a hint is a claim: it counts of trusted servers only
	}
	description := strings.ToValidUTF8(t.Description, "")
	if len(description) > maxDescription {
		description = strings.ToValidUTF8(description[:maxDescription], "") + "…"
	}
	display := t.Name
	if t.Title != "" {
		display = line(t.Title)
	}
	parameters, problem := schema(t.InputSchema)
	var notes []string
	if problem != "" {
		notes = append(notes, fmt.Sprintf("the parameters of tool %q are not declared as they should be (%s), so that any are taken", t.Name, problem))
	}
	return &tool{
		spec: tools.Spec{
			DisplayName: display + " (" + srv.Name + ")", Kind: kind,
			Description: description, Schema: parameters, Lenient: true,
		},
		name: t.Name, link: l,
	}, notes
}

// Spec implements [tools.Tool].
func (t *tool) Spec() *tools.Spec { return &t.spec }

// Prepare implements [tools.Tool].
func (t *tool) Prepare(_ *workspace.View, args json.RawMessage) (*tools.Call, error) {
	var shown bytes.Buffer
	if json.Compact(&shown, args) != nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	title := t.name + " " + shown.String()
	if len(title) > 200 {
		title = strings.ToValidUTF8(title[:200], "") + "…"
	}
	call := &tools.Call{Title: title, Run: func(ctx context.Context) (*tools.Result, error) { return t.call(ctx, args) }}
	if !t.link.server.Trust {
		call.Permission = &tools.Permission{
			Subject: "mcp", Keys: []string{t.spec.Name},
			Detail: fmt.Sprintf("Tool `%s` of the MCP server `%s`\n\n```json\n%s\n```", t.name, t.link.server.Name, shown.String()),
		}
	}
	return call, nil
}

func (t *tool) call(ctx context.Context, args json.RawMessage) (*tools.Result, error) {
	res, err := ask(ctx, t.link, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return t.link.CallTool(ctx, &sdk.CallToolParams{Name: t.name, Arguments: args})
	})
	if err != nil {
		return nil, err
	}
	var c content
	for _, x := range res.Content {
		c.add(x)
	}
	if len(c.text) == 0 && res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			c.text = append(c.text, string(raw))
		}
	}
	out := c.result()
	if res.IsError {
		if out.Text == "" {
			out.Text = "the tool failed and does not say why"
		}
		return nil, errors.New(out.Text)
	}
	out.Display = fmt.Sprintf("%s answered", t.link.server.Name)
	return out, nil
}

// patience is how long a request may go on after it was given up.
const patience = 2 * time.Second

// ask puts one request to a server, within the server's timeout. Should even the
// sending hang, because the server does not read, the connection is ended.
func ask[T any](ctx context.Context, l *link, request func(context.Context) (T, error)) (T, error) {
	var none T
	srv := l.server
	call, cancel := context.WithTimeout(ctx, srv.timeout())
	defer cancel()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-done:
			return
		case <-call.Done():
		}
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			l.stop()
		}
	})
	res, err := request(call)
	close(done)
	wg.Wait()
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		return none, ctx.Err()
	case call.Err() != nil:
		return none, fmt.Errorf("the MCP server %s did not answer within %v", srv.Name, srv.timeout())
	case errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, sdk.ErrSessionMissing), errors.Is(err, io.EOF), errors.Is(err, errEnded):
		return none, fmt.Errorf("the MCP server %s went away during the call (%s); it is started again by itself: try once more in a moment, and go on without it if that fails too", srv.Name, srv.scrub(err.Error()))
	}
	return none, fmt.Errorf("MCP server %s: %s", srv.Name, srv.scrub(err.Error()))
}
