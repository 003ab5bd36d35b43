package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

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
	spec    tools.Spec
	server  Server
	name    string // as the server calls it
	session *sdk.ClientSession
}

func newTool(srv Server, session *sdk.ClientSession, t *sdk.Tool) *tool {
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
		display = t.Title
	}
	return &tool{
		spec: tools.Spec{
			Name: functionName(srv.Name, t.Name), DisplayName: display + " (" + srv.Name + ")", Kind: kind,
			Description: description, Schema: schema(t.InputSchema), Lenient: true,
		},
		server: srv, name: t.Name, session: session,
	}
}

// functionName returns what the model calls a tool: server__tool, of letters,
// digits, "_", "." and "-", with a hash in place of what is too long.
func functionName(server, tool string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, server+"__"+tool)
	if c := name[0]; c >= '0' && c <= '9' || c == '-' || c == '.' {
		name = "_" + name
	}
	if len(name) > maxName {
		h := fnv.New32a()
		_, _ = h.Write([]byte(server + "__" + tool))
		name = fmt.Sprintf("%s_%08x", name[:maxName-9], h.Sum32())
	}
	return name
}

// schema returns the parameters of a tool in a form that the API takes: an object.
func schema(v any) json.RawMessage {
	m, ok := v.(map[string]any)
	if !ok || m["type"] != nil && m["type"] != "object" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	out := map[string]any{"type": "object", "properties": map[string]any{}}
	for k, x := range m {
		if k != "$schema" && k != "$id" {
			out[k] = x
		}
	}
	if _, ok := out["properties"].(map[string]any); !ok {
		out["properties"] = map[string]any{}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return raw
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
	if !t.server.Trust {
		call.Permission = &tools.Permission{
			Subject: "mcp", Keys: []string{t.spec.Name},
			Detail: fmt.Sprintf("Tool `%s` of the MCP server `%s`\n\n```json\n%s\n```", t.name, t.server.Name, shown.String()),
		}
	}
	return call, nil
}

func (t *tool) call(ctx context.Context, args json.RawMessage) (*tools.Result, error) {
	call, cancel := context.WithTimeout(ctx, t.server.timeout())
	defer cancel()
	res, err := t.session.CallTool(call, &sdk.CallToolParams{Name: t.name, Arguments: args})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case call.Err() != nil:
		return nil, fmt.Errorf("the MCP server %s did not answer within %v", t.server.Name, t.server.timeout())
	case err != nil:
		return nil, fmt.Errorf("MCP server %s: %w", t.server.Name, err)
	}
	out := content(res)
	if res.IsError {
		if out.Text == "" {
			out.Text = "the tool failed and does not say why"
		}
		return nil, errors.New(out.Text)
	}
	if out.Text == "" && len(out.Media) == 0 {
		out.Text = "(no content)"
	}
	out.Display = fmt.Sprintf("%s answered", t.server.Name)
	return out, nil
}

// content returns what a call brought as text and media.
func content(res *sdk.CallToolResult) *tools.Result {
	out := &tools.Result{}
	var text []string
	media := func(mime string, data []byte, what string) {
		if len(data) > 0 && shows(mime) {
			out.Media = append(out.Media, tools.Media{MIMEType: mime, Data: data})
			text = append(text, fmt.Sprintf("[%s, %s]", what, mime))
			return
		}
		text = append(text, fmt.Sprintf("[%s, %s, %d bytes, which cannot be shown]", what, mime, len(data)))
	}
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			text = append(text, c.Text)
		case *sdk.ImageContent:
			media(c.MIMEType, c.Data, "image")
		case *sdk.AudioContent:
			media(c.MIMEType, c.Data, "audio")
		case *sdk.ResourceLink:
			text = append(text, fmt.Sprintf("[resource %s: %s]", c.Name, c.URI))
		case *sdk.EmbeddedResource:
			if r := c.Resource; r != nil && r.Text != "" {
				text = append(text, fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text))
			} else if r != nil {
				media(r.MIMEType, r.Blob, "resource "+r.URI)
			}
		}
	}
	if len(text) == 0 && res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			text = append(text, string(raw))
		}
	}
	out.Text = strings.ToValidUTF8(strings.Join(text, "\n"), "\ufffd")
	return out
}

// shows reports whether the API takes data of a MIME type; it refuses a whole
// request for one that it does not know.
func shows(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/webp", "image/gif", "image/heic", "image/heif", "application/pdf",
		"audio/wav", "audio/mp3", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac":
		return true
	}
	return false
}
