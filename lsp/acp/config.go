package acp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"redline/agent"
	"redline/agent/models"
	"redline/lsp"
	"redline/lsp/rpc"
)

// This file is what a client can set of a session: its mode, in the protocol's two ways,
// its model, and when edits are reviewed.

var allModes = []mode{
	{string(agent.ModeDefault), "Review", "Edits are reviewed, commands asked for"},
	{string(agent.ModeAutoEdit), "Auto edit", "Edits are made at once, commands asked for"},
	{string(agent.ModePlan), "Plan", "Nothing is changed"},
	{string(agent.ModeYolo), "Yolo", "Nothing is asked but what your rules and sensitive files want asked"},
}

// The names of the options.
const (
	configMode   = "mode"
	configModel  = "model"
	configReview = "reviewAt"
	configBy     = "reviewBy"
)

func (x *session) modes() modeState {
	return modeState{string(x.Info().Mode), allModes}
}

// modelValues returns the models that the settings let choose from: those that redline
// knows, and names of the settings that stand for one. The service is not asked.
func modelValues(set *lsp.Settings) []configValue {
	var out []configValue
	own := set.Model
	if own == "" {
		own = agent.DefaultModel
	}
	aliases := set.Conversation.Models.Aliases()
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		out = append(out, configValue{name, name, aliases[name]})
	}
	if _, known := models.Lookup(own); known || aliases[own] != "" {
		for _, m := range models.All() {
			out = append(out, configValue{Value: m.Name, Name: m.Name})
		}
	}
	if !slices.ContainsFunc(out, func(v configValue) bool { return v.Value == own }) {
		out = slices.Insert(out, 0, configValue{Value: own, Name: own})
	}
	return out
}

// configOptions returns everything that can be set, as it is.
func (x *session) configOptions() []configOption {
	info := x.Info()
	x.mu.Lock()
	names := slices.Clone(x.models)
	x.mu.Unlock()
	if !slices.ContainsFunc(names, func(v configValue) bool { return v.Value == info.Model }) {
		names = append(names, configValue{Value: info.Model, Name: info.Model})
	}
	by := byProposal
	if x.asksByHunk() {
		by = byHunk
	}
	var modes []configValue
	for _, m := range allModes {
		modes = append(modes, configValue{m.ID, m.Name, m.Description})
	}
	return []configOption{
		{Type: "select", ID: configMode, Name: "Mode", Category: "mode", CurrentValue: string(info.Mode), Options: modes},
		{Type: "select", ID: configModel, Name: "Model", Category: "model", CurrentValue: info.Model, Options: names},
		{
			Type: "select", ID: configReview, Name: "Review edits", CurrentValue: string(info.ReviewAt),
			Options: []configValue{{string(agent.AtStep), "As they come", ""}, {string(agent.AtTurn), "At the end of the turn", ""}},
		},
		{
			Type: "select", ID: configBy, Name: "Ask about edits", CurrentValue: by,
			Options: []configValue{{byProposal, "All at once", ""}, {byHunk, "Hunk by hunk", ""}},
		},
	}
}

func (s *Server) setMode(_ context.Context, p *setModeParams) (empty, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return empty{}, err
	}
	m, err := agent.ParseMode(p.ModeID)
	if err != nil {
		return empty{}, rpc.BadParams("modeId", "%v", err)
	}
	if err := x.Configure(m, ""); err != nil {
		return empty{}, internal("%v", err)
	}
	s.notify(x.id, configUpdate{"config_option_update", x.configOptions()})
	return empty{}, nil
}

func (s *Server) setConfig(_ context.Context, p *setConfigParams) (*setConfigResult, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil || value == "" {
		return nil, rpc.BadParams("value", "must be one of the option's values, a string")
	}
	switch p.ConfigID {
	case configMode:
		m, err := agent.ParseMode(value)
		if err != nil {
			return nil, rpc.BadParams("value", "%v", err)
		}
		if err := x.Configure(m, ""); err != nil {
			return nil, internal("%v", err)
		}
		s.notify(x.id, modeUpdate{"current_mode_update", value})
	case configModel:
		if err := x.Configure("", strings.Clone(value)); err != nil { // any name: the service knows which are its models
			return nil, internal("%v", err)
		}
	case configReview:
		if err := x.SetReviewAt(agent.ReviewAt(value)); err != nil {
			return nil, rpc.BadParams("value", "%v", err)
		}
	case configBy:
		if err := x.setReviewBy(value); err != nil {
			return nil, rpc.BadParams("value", "%v", err)
		}
	default:
		return nil, rpc.BadParams("configId", "is %q; use %s, %s, %s or %s", p.ConfigID, configMode, configModel, configReview, configBy)
	}
	return &setConfigResult{x.configOptions()}, nil
}

// changeMode changes the mode on our side and tells the client.
func (x *session) changeMode(m agent.Mode) {
	if err := x.Configure(m, ""); err != nil {
		return
	}
	x.s.notify(x.id, modeUpdate{"current_mode_update", string(m)})
	x.s.notify(x.id, configUpdate{"config_option_update", x.configOptions()})
}
