package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
)

// asError is errors.As, false for nil.
func asError[T error](err error, target *T) bool { return err != nil && errors.As(err, target) }

// commands are what workspace/executeCommand takes, each with one JSON argument.
var commands = map[string]func(*Server, context.Context, commandArgs) (any, error){
	"redline.ask": (*Server).commandAsk,
	"redline.fix": (*Server).commandFix,
	"redline.accept": func(s *Server, ctx context.Context, a commandArgs) (any, error) {
		return s.commandDecide(ctx, a, "accept")
	},
	"redline.reject": func(s *Server, ctx context.Context, a commandArgs) (any, error) {
		return s.commandDecide(ctx, a, "reject")
	},
	"redline.cancel":     (*Server).commandCancel,
	"redline.newSession": (*Server).commandNewSession,
	"redline.undo":       (*Server).commandUndo,
	"redline.login":      (*Server).commandLogin,
	"redline.logout":     (*Server).commandLogout,
}

func commandNames() []string { return sortedKeys(commands) }

// commandArgs is the argument of a command.
type commandArgs struct {
	Text       string          `json:"text"`
	URI        string          `json:"uri"`
	Range      *protocol.Range `json:"range"`
	ProposalID string          `json:"proposalId"`
	Target     *Target         `json:"target"`
	Reason     string          `json:"reason"`
}

func (s *Server) executeCommand(ctx context.Context, p *protocol.ExecuteCommandParams) (any, error) {
	run, ok := commands[p.Command]
	if !ok {
		return nil, rpc.BadParams("command", "there is no command %q; the commands are: %s", p.Command, strings.Join(commandNames(), ", "))
	}
	var args commandArgs
	if len(p.Arguments) > 0 {
		// A bare string is the text: some editors can send nothing else.
		if json.Unmarshal(p.Arguments[0], &args.Text) != nil {
			if err := json.Unmarshal(p.Arguments[0], &args); err != nil {
				return nil, rpc.BadParams("arguments[0]", "%v", err)
			}
		}
	}
	return run(s, ctx, args)
}

// currentSession returns the newest session, making one if there is none.
func (s *Server) currentSession() (*session, error) {
	s.mu.Lock()
	var x *session
	if n := len(s.order); n > 0 {
		x = s.sessions[s.order[n-1]]
	}
	s.mu.Unlock()
	if x != nil {
		return x, nil
	}
	return s.newSession("", "", "", s.client.knowsUs)
}

func (s *Server) commandAsk(_ context.Context, a commandArgs) (any, error) {
	if strings.TrimSpace(a.Text) == "" {
		return nil, rpc.BadParams("arguments[0].text", `is missing; give the prompt as {"text": "…"}`)
	}
	return s.ask(a.Text, a)
}

func (s *Server) commandFix(_ context.Context, a commandArgs) (any, error) {
	if a.URI == "" || a.Range == nil {
		return nil, rpc.BadParams("arguments[0]", "needs uri and range")
	}
	text := "Fix the problem in the selected lines."
	if a.Text != "" {
		text = "Fix this problem in the selected lines: " + a.Text
	}
	return s.ask(text, a)
}

// ask prompts the current session about the place that a names.
func (s *Server) ask(text string, a commandArgs) (any, error) {
	x, err := s.currentSession()
	if err != nil {
		return nil, err
	}
	msg := agent.Message{Text: text}
	if a.URI != "" {
		item := ContextItem{Kind: "file", URI: a.URI, Range: a.Range}
		if a.Range != nil {
			item.Kind = "selection"
			item.Text = s.textAt(a.URI, *a.Range)
		}
		msg.Context = append(msg.Context, s.contextItem(item))
	}
	id, err := x.Prompt(s.root, msg)
	if err != nil {
		return nil, sessionError(err)
	}
	return map[string]string{"sessionId": x.Info().ID, "turnId": id}, nil
}

// textAt returns the whole lines of a document that a range touches.
func (s *Server) textAt(u string, r protocol.Range) string {
	key, path := keyOf(u)
	snap := s.ws.Snapshot()
	var text string
	if d, ok := snap.DocumentByKey(key); ok {
		text = d.Text
	} else if f, err := snap.Read(path); err == nil && path != "" {
		text = f.Text
	}
	m := newMapper(text, s.client.encoding)
	start := m.offset(protocol.Position{Line: r.Start.Line})
	end := m.offset(protocol.Position{Line: r.End.Line + 1})
	return text[start:max(start, end)]
}

// commandDecide accepts or rejects hunks of open proposals. It does not wait until
// they are applied: the editor may be waiting for this answer before it can.
func (s *Server) commandDecide(_ context.Context, a commandArgs, decision string) (any, error) {
	var open []*workspace.Proposal
	for _, p := range s.openProposals() {
		if a.ProposalID == "" || p.ID == a.ProposalID {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		return nil, rpc.Failed("there is no open proposal")
	}
	target := Target{All: true}
	if a.Target != nil {
		target = *a.Target
		if !target.All && len(open) > 1 {
			return nil, rpc.BadParams("arguments[0].proposalId", "is missing; several proposals are open")
		}
	}
	for _, p := range open {
		if _, err := targets(p, target); err != nil {
			return nil, rpc.BadParams("arguments[0].target", "%v", err)
		}
		rv, err := s.review(p.ID)
		if err != nil {
			return nil, err
		}
		s.background(func(ctx context.Context) {
			if err := rv.decide(ctx, 0, []HunkDecision{{Target: target, Decision: decision, Reason: a.Reason}}); err != nil && ctx.Err() == nil {
				s.showMessage(ctx, protocol.MessageTypeWarning, fmt.Sprintf("Redline: %v", err))
			}
		})
	}
	return nil, nil
}

func (s *Server) commandCancel(context.Context, commandArgs) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		x.Cancel("")
	}
	return nil, nil
}

func (s *Server) commandNewSession(context.Context, commandArgs) (any, error) {
	x, err := s.newSession("", "", "", s.client.knowsUs)
	if err != nil {
		return nil, err
	}
	return wireInfo(x.Info()), nil
}

// codeAction offers, where a hunk of an open proposal stands, to accept or reject
// it, and for diagnostics to have them fixed. Clients with a plugin show hunks
// their own way.
func (s *Server) codeAction(_ context.Context, p *protocol.CodeActionParams) ([]*protocol.CodeAction, error) {
	out := []*protocol.CodeAction{}
	u := string(p.TextDocument.URI)
	quickfix := protocol.CodeActionKindQuickFix
	add := func(title, command string, args map[string]any) {
		raw, err := json.Marshal(args)
		if err != nil {
			return // maps of strings
		}
		out = append(out, &protocol.CodeAction{
			Title: title, Kind: &quickfix,
			Command: protocol.Command{Title: title, Command: command, Arguments: []protocol.LSPAny{protocol.LSPAny(raw)}},
		})
	}
	if !s.client.proposals {
		for _, h := range s.hunksIn(u) {
			if h.rng.End.Line < p.Range.Start.Line || h.rng.Start.Line > p.Range.End.Line {
				continue
			}
			hunk := map[string]string{"hunkId": h.id}
			file := map[string]string{"fileId": h.file}
			add("Redline: accept this hunk", "redline.accept", map[string]any{"proposalId": h.proposal, "target": hunk})
			add("Redline: reject this hunk", "redline.reject", map[string]any{"proposalId": h.proposal, "target": hunk})
			add("Redline: accept all of this file", "redline.accept", map[string]any{"proposalId": h.proposal, "target": file})
			add("Redline: reject all of this file", "redline.reject", map[string]any{"proposalId": h.proposal, "target": file})
			add("Redline: accept everything", "redline.accept", map[string]any{"proposalId": h.proposal, "target": "all"})
			add("Redline: reject everything", "redline.reject", map[string]any{"proposalId": h.proposal, "target": "all"})
		}
	}
	if len(p.Context.Diagnostics) > 0 {
		var texts []string
		for _, d := range p.Context.Diagnostics {
			texts = append(texts, diagnosticText(d))
		}
		add("Redline: fix this", "redline.fix", map[string]any{"uri": u, "range": p.Range, "text": strings.Join(texts, "; ")})
	}
	return out, nil
}

// codeLens shows the pending hunks of a document to clients without a plugin.
func (s *Server) codeLens(_ context.Context, p *protocol.CodeLensParams) ([]*protocol.CodeLens, error) {
	out := []*protocol.CodeLens{}
	if s.client.proposals {
		return out, nil
	}
	for _, h := range s.hunksIn(string(p.TextDocument.URI)) {
		for _, c := range []struct{ title, command string }{{"✓ Accept", "redline.accept"}, {"✗ Reject", "redline.reject"}} {
			raw, err := json.Marshal(map[string]any{"proposalId": h.proposal, "target": map[string]string{"hunkId": h.id}})
			if err != nil {
				return nil, err
			}
			out = append(out, &protocol.CodeLens{
				Range:   protocol.Range{Start: h.rng.Start, End: h.rng.Start},
				Command: protocol.Command{Title: c.title, Command: c.command, Arguments: []protocol.LSPAny{protocol.LSPAny(raw)}},
			})
		}
	}
	return out, nil
}

// placedHunk is a pending hunk and where it stands.
type placedHunk struct {
	proposal, file, id string
	rng                protocol.Range
}

// hunksIn returns the pending hunks in a document.
func (s *Server) hunksIn(u string) []placedHunk {
	key, _ := keyOf(u)
	e := s.encoder()
	var out []placedHunk
	for _, p := range s.openProposals() {
		for _, f := range p.Files {
			if workspace.Key(f.Path) != key {
				continue
			}
			now, _ := f.Current()
			m := newMapper(now, e.encoding)
			for _, h := range f.Hunks {
				if h.State == workspace.Pending {
					out = append(out, placedHunk{p.ID, f.ID, h.ID, m.rng(h.Start, h.End)})
				}
			}
		}
	}
	return out
}

func diagnosticText(d protocol.Diagnostic) string {
	raw, err := json.Marshal(d.Message)
	if err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}
