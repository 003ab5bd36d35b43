package lsp

import (
	"cmp"
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
	"redline.resume":     (*Server).commandResume,
	"redline.sessions":   (*Server).commandSessions,
	"redline.undo":       (*Server).commandUndo,
	"redline.login":      (*Server).commandLogin,
	"redline.logout":     (*Server).commandLogout,
	"redline.showDiff":   (*Server).commandShowDiff,
	"redline.openChat":   (*Server).commandOpenChat,
	"redline.send":       (*Server).commandSend,
	"redline.answer":     (*Server).commandAnswer,
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
	QuestionID string          `json:"questionId"`
	SessionID  string          `json:"sessionId"`
}

func (s *Server) executeCommand(ctx context.Context, p *protocol.ExecuteCommandParams) (any, error) {
	s.unanswered.note(ctx)
	run, ok := commands[p.Command]
	if !ok {
		return nil, rpc.BadParams("command", "there is no command %q; the commands are: %s", p.Command, strings.Join(commandNames(), ", "))
	}
	var args commandArgs
	if len(p.Arguments) > 0 {
		// A bare string is the text: some editors can send nothing else.
		if json.Unmarshal(p.Arguments[0], &args.Text) != nil {
			if err := json.Unmarshal(p.Arguments[0], &args); err != nil {
				return nil, rpc.BadParams("arguments[0]", "must be a text or an object such as {\"text\": \"…\"}; %s is neither, or has a field of a wrong type", shortJSON(p.Arguments[0]))
			}
		}
	}
	res, err := run(s, ctx, args)
	if err != nil && s.client.name == editorHelix && ctx.Err() == nil {
		text := err.Error() // Helix writes the errors of commands to its log only
		var known *rpc.Error
		if errors.As(err, &known) {
			text = known.Message
		}
		s.showMessage(ctx, protocol.MessageTypeError, "Redline: "+text)
	}
	return res, err
}

// shortJSON returns the beginning of a JSON text, for a message.
func shortJSON(raw []byte) string {
	const most = 80
	text := strings.ToValidUTF8(string(raw), "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
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

func (s *Server) commandAsk(ctx context.Context, a commandArgs) (any, error) {
	if strings.TrimSpace(a.Text) == "" {
		if s.client.name == editorHelix { // 25.01 cannot give arguments
			return s.commandOpenChat(ctx, a)
		}
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
	var t *chatTurn
	if d, ok := s.openChatOf(x); ok {
		t = s.newChatTurn(d.Key)
		t.head, t.above = prompted(text), true
	}
	id, err := x.promptInChat(msg, t)
	if errors.Is(err, agent.ErrBusy) && !s.client.knowsUs {
		if id, err = x.Steer(agent.Message{Text: withPlace(text, msg.Context)}); err == nil {
			s.showMessage(s.root, protocol.MessageTypeInfo, s.passedOn(x))
		}
	}
	if err != nil {
		return nil, sessionError(err)
	}
	return map[string]string{"sessionId": x.Info().ID, "turnId": id}, nil
}

// withPlace adds to a text for the running turn what place it is about.
func withPlace(text string, context []agent.ContextItem) string {
	for _, c := range context {
		text += "\n\n(This is about " + cmp.Or(c.Path, c.URI)
		if c.FromLine > 0 {
			text += fmt.Sprintf(", lines %d-%d", c.FromLine, c.ToLine)
		}
		text += ".)"
	}
	return text
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
