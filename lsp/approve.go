package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
)

// The methods of the server's requests.
const (
	methodApprove = "agent/approve"
	methodSave    = "editor/save"
)

// ApproveParams asks whether something other than an edit may be done.
type ApproveParams struct {
	SessionID string          `json:"sessionId"`
	TurnID    string          `json:"turnId"`
	CallID    string          `json:"callId"`
	Subject   ApproveSubject  `json:"subject"`
	Title     string          `json:"title"`
	Detail    string          `json:"detail"` // Markdown
	Options   []ApproveOption `json:"options"`
}

// ApproveSubject is what an approval is about; the type says which fields are set.
type ApproveSubject struct {
	Type      string    `json:"type"` // command, network, mcp, tool or path
	Tool      string    `json:"tool,omitempty"`
	Command   string    `json:"command,omitempty"`
	Directory uri.URI   `json:"directory,omitempty"`
	Roots     []string  `json:"roots,omitempty"` // the commands in the line; none when it cannot be taken apart
	Keys      []string  `json:"keys,omitempty"`  // hosts, or names of tools
	Unsaved   []uri.URI `json:"unsaved,omitempty"`
	Paths     []uri.URI `json:"paths,omitempty"` // files or folders that a subject path is about
}

// ApproveOption is an answer the user may give.
type ApproveOption struct {
	OptionID string `json:"optionId"`
	Label    string `json:"label"`
	Kind     string `json:"kind"` // once, session, always or reject
}

// ApproveResult is the user's answer.
type ApproveResult struct {
	OptionID string `json:"optionId"`
	Feedback string `json:"feedback,omitempty"`
}

// SaveParams asks the editor to save documents.
type SaveParams struct {
	URIs []uri.URI `json:"uris"`
}

// SaveResult says which documents are on disk now.
type SaveResult struct {
	Saved  []uri.URI `json:"saved"`
	Failed []uri.URI `json:"failed"`
}

var (
	_ agent.Approver = (*Server)(nil)
	_ agent.Saver    = (*Server)(nil)
)

// Approve implements [agent.Approver]. No answer in time is no.
func (s *Server) Approve(ctx context.Context, a agent.Approval) (agent.Answer, error) {
	wait, cancel := context.WithTimeout(ctx, s.timing.Review)
	defer cancel()
	if !s.client.approve {
		return s.approveByMessage(wait, a)
	}
	e := s.encoder()
	p := ApproveParams{
		SessionID: a.SessionID, TurnID: a.TurnID, CallID: a.CallID, Title: a.Title, Detail: a.Detail,
		Subject: ApproveSubject{Type: a.Subject.Type, Tool: a.Subject.Tool, Command: a.Subject.Command, Roots: a.Subject.Roots, Keys: a.Subject.Keys},
	}
	if a.Subject.Directory != "" {
		p.Subject.Directory = uri.File(a.Subject.Directory)
	}
	for _, path := range a.Subject.Unsaved {
		p.Subject.Unsaved = append(p.Subject.Unsaved, e.uriOf(path))
	}
	for _, path := range a.Subject.Paths {
		p.Subject.Paths = append(p.Subject.Paths, e.uriOf(path))
	}
	for _, o := range a.Options {
		p.Options = append(p.Options, ApproveOption{o.ID, o.Label, string(o.Kind)})
	}
	var res ApproveResult
	err := s.conn.Call(wait, methodApprove, &p, &res)
	return s.answered(ctx, agent.Answer{OptionID: res.OptionID, Feedback: res.Feedback}, err)
}

// answered words for the model why an approval has no answer.
func (s *Server) answered(ctx context.Context, ans agent.Answer, err error) (agent.Answer, error) {
	if err == nil || ctx.Err() != nil {
		return ans, ctx.Err()
	}
	s.log.Warn("approval", zap.Error(err))
	reason := "the user did not answer in time, so this was not done; go on without it, or ask"
	var peer *rpc.Error
	if errors.As(err, &peer) {
		reason = "the editor could not ask the user, so this was not done; go on without it: " + peer.Message
	}
	return agent.Answer{Reason: reason}, nil
}

// approveByMessage asks a client without a plugin, with a message and buttons.
func (s *Server) approveByMessage(ctx context.Context, a agent.Approval) (agent.Answer, error) {
	q := asking{level: protocol.MessageTypeWarning, text: s.messageText(a), brief: a.Title}
	for _, o := range a.Options {
		q.options = append(q.options, o.Label)
		if o.Kind == agent.OptionReject {
			q.no = o.Label
		}
	}
	i, err := s.askPlain(ctx, q)
	if err != nil || i < 0 {
		return s.answered(ctx, agent.Answer{}, err)
	}
	return agent.Answer{OptionID: a.Options[i].ID}, nil
}

// messageText returns an approval as plain text.
func (s *Server) messageText(a agent.Approval) string {
	switch a.Subject.Type {
	case "command":
		return fmt.Sprintf("Redline wants to run in %s:\n%s", a.Subject.Directory, a.Subject.Command)
	case "path":
	default:
		return fmt.Sprintf("Redline wants to use %s: %s", a.Subject.Tool, a.Title)
	}
	// A message shows the fences of code blocks as they are.
	lines := slices.DeleteFunc(strings.Split(a.Detail, "\n"), func(l string) bool {
		return strings.HasPrefix(l, "```") || strings.TrimSpace(l) == "" || l == a.Title
	})
	title := "Redline: " + a.Title
	if s.client.name == editorEglot { // of a long message the end is seen
		return strings.Join(append(lines, title), "\n")
	}
	return strings.Join(append([]string{title}, lines...), "\n")
}

// CanSave implements [agent.Saver].
func (s *Server) CanSave() bool { return s.client.save }

// Save implements [agent.Saver]. What was saved is seen on the disk: the answer of
// the editor alone is not believed.
func (s *Server) Save(ctx context.Context, paths []string) []string {
	ctx, cancel := context.WithTimeout(ctx, s.timing.Apply)
	defer cancel()
	e := s.encoder()
	var p SaveParams
	for _, path := range paths {
		p.URIs = append(p.URIs, e.uriOf(path))
	}
	var res SaveResult
	if err := s.conn.Call(ctx, methodSave, &p, &res); err != nil {
		s.log.Warn(methodSave, zap.Error(err))
	}
	left := s.ws.Snapshot().Unsaved()
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return slices.Contains(left, path) })
}
