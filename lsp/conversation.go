package lsp

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"redline/agent"
	"redline/agent/model"
	"redline/agent/models"
	"redline/lsp/rpc"
)

// The methods about the conversation with the model.
const (
	methodAsk             = "agent/ask" // the server's
	methodSessionCompress = "agent/session/compress"
)

// The events about the conversation with the model.
type (
	evModelChanged struct {
		Type   string `json:"type"`
		Model  string `json:"model"`
		Reason string `json:"reason"`
	}
	evLoopDetected struct {
		Type string `json:"type"`
		Kind string `json:"kind"` // call, cycle or text
	}
	evCompressed struct {
		Type         string `json:"type"`
		TokensBefore int    `json:"tokensBefore"`
		TokensAfter  int    `json:"tokensAfter"`
		Automatic    bool   `json:"automatic"`
	}
)

// conversationEvent returns the wire form of an event about the conversation with the
// model, nil for others.
func conversationEvent(b agent.Body) any {
	switch b := b.(type) {
	case agent.ModelChanged:
		return evModelChanged{"model/changed", b.Model, b.Reason}
	case agent.LoopDetected:
		return evLoopDetected{"loop/detected", b.Kind}
	case agent.Compressed:
		return evCompressed{"history/compressed", b.Before, b.After, b.Auto}
	}
	return nil
}

// AskParams is a question to the user.
type AskParams struct {
	SessionID string   `json:"sessionId"`
	Question  string   `json:"question"`
	Options   []string `json:"options,omitempty"`
}

// AskResult is the user's answer; empty when they gave none.
type AskResult struct {
	Answer string `json:"answer"`
}

var _ agent.Asker = (*Server)(nil)

// Ask implements [agent.Asker]. Clients without a plugin are asked with a message.
func (s *Server) Ask(ctx context.Context, sessionID, question string, options []string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, s.timing.Review)
	defer cancel()
	var answer string
	var err error
	switch {
	case s.client.ask:
		var res AskResult
		err = s.conn.Call(ctx, methodAsk, &AskParams{sessionID, question, options}, &res)
		answer = res.Answer
	case !s.client.knowsUs:
		var i int
		q := asking{level: protocol.MessageTypeInfo, text: "Redline asks: " + question, brief: strings.TrimRight(question, "?"), options: options}
		if i, err = s.askPlain(ctx, q); err == nil && i >= 0 {
			answer = options[i]
		}
	}
	if err != nil {
		s.log.Warn(methodAsk, zap.Error(err))
		return "", false
	}
	return answer, answer != "" && (len(options) == 0 || slices.Contains(options, answer))
}

// CompressResult is the answer to agent/session/compress. Without an error nothing was
// changed unless Compressed is set.
type CompressResult struct {
	Compressed   bool `json:"compressed"`
	TokensBefore int  `json:"tokensBefore,omitempty"`
	TokensAfter  int  `json:"tokensAfter,omitempty"`
}

// sessionCompress compresses a session's conversation, in a turn of its own, and
// answers when it is done. Cancelling the request ends the turn.
func (s *Server) sessionCompress(ctx context.Context, p *SessionParams) (CompressResult, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return CompressResult{}, err
	}
	c, err := x.Compress(ctx)
	switch {
	case errors.Is(err, agent.ErrBusy), errors.Is(err, agent.ErrClosed), errors.Is(err, agent.ErrTurnLimit):
		return CompressResult{}, sessionError(err)
	case err != nil && ctx.Err() != nil:
		return CompressResult{}, ctx.Err()
	case err != nil:
		return CompressResult{}, rpc.Failed("%v", err)
	}
	return CompressResult{Compressed: c.Before > 0, TokensBefore: c.Before, TokensAfter: c.After}, nil
}

// Usage counts tokens.
type Usage struct {
	InputTokens   int `json:"inputTokens"` // cached ones included
	CachedTokens  int `json:"cachedTokens"`
	OutputTokens  int `json:"outputTokens"`
	ThoughtTokens int `json:"thoughtTokens"`
	TotalTokens   int `json:"totalTokens"`
	Requests      int `json:"requests"`
	// CostUSD is an estimate in US dollars by list prices; absent when a price is not
	// known or nobody pays by the token.
	CostUSD *float64 `json:"costUsd,omitempty"`
}

// UsageInfo is the answer to agent/usage/get.
type UsageInfo struct {
	Usage
	Models []ModelUsage `json:"models"` // by name
	// ContextTokens is how much of ContextWindow, in tokens, the conversation takes up;
	// 0 when it is not known yet.
	ContextTokens int `json:"contextTokens"`
	ContextWindow int `json:"contextWindow"`
	// PricesOf is the month of the price list that costs are estimated by.
	PricesOf string `json:"pricesOf,omitempty"`
}

// ModelUsage is what a session used of one model.
type ModelUsage struct {
	Model string `json:"model"`
	Usage
}

// WireUsage returns a token count in its wire form.
func WireUsage(u agent.Usage) Usage {
	w := Usage{u.Input, u.Cached, u.Output, u.Thoughts, u.Total, u.Requests, nil}
	if u.Requests > 0 && u.Unpriced == 0 {
		cost := math.Round(u.Cost*1e9) / 1e9
		w.CostUSD = &cost
	}
	return w
}

func (s *Server) usageGet(_ context.Context, p *SessionParams) (UsageInfo, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return UsageInfo{}, err
	}
	sp := x.Spending()
	out := UsageInfo{Usage: WireUsage(sp.Total), Models: []ModelUsage{}, ContextTokens: sp.Context, ContextWindow: sp.Window}
	for _, m := range sp.Models {
		w := ModelUsage{m.Model, WireUsage(m.Usage)}
		if w.CostUSD != nil {
			out.PricesOf = models.PricesOf
		}
		out.Models = append(out.Models, w)
	}
	return out, nil
}

// ModelList is the answer to agent/model/list.
type ModelList struct {
	Models  []Model `json:"models"`
	Current string  `json:"current"` // of new sessions
	// Aliases are names that stand for a model, and what they stand for.
	Aliases map[string]string `json:"aliases"`
	// Message says why the service could not be asked; Models are those that are
	// known without it then.
	Message string `json:"message,omitempty"`
}

// Model describes one model.
type Model struct {
	Name             string `json:"name"`
	DisplayName      string `json:"displayName,omitempty"`
	InputTokenLimit  int    `json:"inputTokenLimit,omitempty"`
	OutputTokenLimit int    `json:"outputTokenLimit,omitempty"`
	Thinking         bool   `json:"thinking,omitempty"`
	Price            *Price `json:"price,omitempty"`
}

// Price is what a model costs, in US dollars for a million tokens of a prompt of at
// most 200,000.
type Price struct {
	Input  float64 `json:"input"`
	Cached float64 `json:"cached"`
	Output float64 `json:"output"`
}

// modelList asks the service for its models; where it has no list or does not answer,
// the ones that redline knows are told.
func (s *Server) modelList(ctx context.Context, _ *Empty) (ModelList, error) {
	set, err := s.loadSettings()
	if err != nil {
		return ModelList{}, rpc.Failed("settings: %v", err)
	}
	out := ModelList{Current: set.Model, Models: []Model{}, Aliases: set.Conversation.Models.Aliases()}
	if out.Current == "" {
		out.Current = agent.DefaultModel
	}
	infos, err := listModels(ctx, set.Settings)
	if ctx.Err() != nil {
		return ModelList{}, ctx.Err()
	}
	if err != nil {
		out.Message = err.Error()
	}
	if infos == nil {
		for _, m := range models.All() {
			infos = append(infos, model.Info{Name: m.Name})
		}
	}
	for _, i := range infos {
		known, _ := models.Lookup(i.Name)
		m := Model{Name: i.Name, DisplayName: i.DisplayName, InputTokenLimit: i.InputLimit, OutputTokenLimit: i.OutputLimit, Thinking: i.Thinking || known.Thinking != models.ThinkingNone}
		if p := known.Price; p != nil {
			m.Price = &Price{p.Input, p.Cached, p.Output}
			if m.InputTokenLimit == 0 {
				m.InputTokenLimit, m.OutputTokenLimit = known.Window, known.Output
			}
		}
		out.Models = append(out.Models, m)
	}
	return out, nil
}

// listModels returns what the service lists, nil when it has no list.
func listModels(ctx context.Context, set Settings) ([]model.Info, error) {
	g, err := set.Generator(ctx)
	if err != nil {
		return nil, err
	}
	lister, ok := g.(model.Lister)
	if !ok {
		return nil, nil
	}
	return lister.ListModels(ctx)
}
