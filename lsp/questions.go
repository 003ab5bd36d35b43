package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"redline/lsp/rpc"
)

// question is something a client without a plugin asks its user: with a message that
// has buttons and, where that is not to be had or was lost, with code actions that are
// offered everywhere while the question is open. The first answer counts.
type question struct {
	id      string
	brief   string // what it is about, for the titles of code actions
	options []string
	answer  chan int // capacity 1: the index of an option
}

// asking is a question as it is put.
type asking struct {
	level   protocol.MessageType
	text    string // of the message
	brief   string
	options []string
	// no is the option that does nothing. It is the first of the message in editors that
	// take the first one when the user, who was typing, happens to press Enter.
	no string
}

// askPlain returns the index of the option the user chose, -1 when the message was sent
// away without an answer.
func (s *Server) askPlain(ctx context.Context, a asking) (int, error) {
	done, err := s.oneMessage(ctx)
	if err != nil {
		return -1, err
	}
	defer done()
	q := s.addQuestion(a)
	defer s.dropQuestion(q)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	type reply struct {
		item *protocol.MessageActionItem
		err  error
	}
	replied := make(chan reply, 1)
	s.background(func(context.Context) {
		p := protocol.ShowMessageRequestParams{Type: a.level, Message: a.text}
		for _, o := range a.options {
			item := protocol.MessageActionItem{Title: o}
			if o == a.no && (s.client.name == editorHelix || s.client.name == editorEglot) {
				p.Actions = slices.Insert(p.Actions, 0, item)
			} else {
				p.Actions = append(p.Actions, item)
			}
		}
		var r reply
		s.unanswered.wait(ctx)
		r.err = s.conn.Call(ctx, "window/showMessageRequest", &p, &r.item)
		replied <- r
	})
	for {
		select {
		case i := <-q.answer:
			return i, nil
		case r := <-replied:
			var peer *rpc.Error
			if asError(r.err, &peer) && peer.Code == rpc.CodeMethodNotFound && len(a.options) > 0 {
				s.showMessage(ctx, a.level, s.howToAnswer(a))
				replied = nil // the code actions are left
				continue
			}
			if r.err != nil {
				return -1, r.err
			}
			if r.item == nil {
				return -1, nil
			}
			return slices.Index(a.options, r.item.Title), nil
		case <-ctx.Done():
			return -1, ctx.Err()
		}
	}
}

func (s *Server) addQuestion(a asking) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	q := &question{id: fmt.Sprintf("q%d", s.asked), brief: a.brief, options: a.options, answer: make(chan int, 1)}
	s.questions = append(s.questions, q)
	return q
}

func (s *Server) dropQuestion(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions = slices.DeleteFunc(s.questions, func(x *question) bool { return x == q })
}

// openQuestions returns the questions that wait for an answer.
func (s *Server) openQuestions() []*question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.questions)
}

// commandAnswer answers an open question, the oldest when none is named, with the option
// that is named or whose words begin so.
func (s *Server) commandAnswer(_ context.Context, a commandArgs) (any, error) {
	open := s.openQuestions()
	if a.QuestionID != "" {
		open = slices.DeleteFunc(open, func(q *question) bool { return q.id != a.QuestionID })
	}
	if len(open) == 0 {
		return nil, rpc.Failed("there is no open question")
	}
	q := open[0]
	word := strings.ToLower(strings.TrimSpace(a.Text))
	i := slices.IndexFunc(q.options, func(o string) bool { return strings.ToLower(o) == word })
	if i < 0 && word != "" {
		i = slices.IndexFunc(q.options, func(o string) bool { return strings.HasPrefix(strings.ToLower(o), word) })
	}
	if i >= 0 {
		select {
		case q.answer <- i:
		default: // it was answered a moment ago
		}
		return nil, nil
	}
	return nil, rpc.BadParams("arguments[0].text", "is %q; answer with one of: %s", a.Text, strings.Join(q.options, ", "))
}
