package agent

import (
	"maps"
	"slices"

	"google.golang.org/genai"

	"redline/agent/models"
)

// Usage counts tokens and what they cost.
type Usage struct {
	Input    int // tokens of the prompts, cached ones included
	Cached   int
	Output   int
	Thoughts int
	Total    int
	Requests int
	// Cost is an estimate in US dollars by the list prices of [models.PricesOf].
	// Unpriced are the requests it leaves out, because nobody knows their price.
	Cost     float64
	Unpriced int
}

// add counts a request to a model; free says that its tokens cost nothing.
func (u *Usage) add(modelName string, m *genai.GenerateContentResponseUsageMetadata, free bool) {
	u.Requests++
	if m == nil {
		u.Unpriced++
		return
	}
	u.Input += int(m.PromptTokenCount)
	u.Cached += int(m.CachedContentTokenCount)
	u.Output += int(m.CandidatesTokenCount)
	u.Thoughts += int(m.ThoughtsTokenCount)
	u.Total += int(m.TotalTokenCount)
	usd, ok := models.Cost(modelName, models.Tokens{
		Input: int(m.PromptTokenCount), Cached: int(m.CachedContentTokenCount),
		Output: int(m.CandidatesTokenCount), Thoughts: int(m.ThoughtsTokenCount),
	})
	if !ok || free {
		u.Unpriced++
		return
	}
	u.Cost += usd
}

func (u Usage) minus(o Usage) Usage {
	return Usage{
		u.Input - o.Input, u.Cached - o.Cached, u.Output - o.Output,
		u.Thoughts - o.Thoughts, u.Total - o.Total, u.Requests - o.Requests,
		u.Cost - o.Cost, u.Unpriced - o.Unpriced,
	}
}

// spent counts a request to a model, which may have failed (m is nil then, or what
// came before), and shows the sum.
func (s *Session) spent(t *turn, modelName string, m *genai.GenerateContentResponseUsageMetadata) {
	free := s.opt.Free != nil && s.opt.Free()
	s.emitMu.Lock()
	total := s.usage
	total.add(modelName, m, free)
	if s.byModel == nil {
		s.byModel = map[string]Usage{}
	}
	of := s.byModel[modelName]
	of.add(modelName, m, free)
	s.byModel[modelName] = of
	s.usage = total
	s.emitMu.Unlock()
	ev := UsageUpdated{Usage: total}
	if m != nil {
		ev.Context, ev.Window = int(m.PromptTokenCount+m.CandidatesTokenCount), s.window(modelName)
	}
	s.emit(t.id, ev)
}

// ModelUsage is what a session used of one model.
type ModelUsage struct {
	Model string
	Usage
}

// Spending is what a session used so far.
type Spending struct {
	Total  Usage
	Models []ModelUsage // by name
	// Context is how many tokens the conversation has, as far as it is known, of the
	// Window that the model can read.
	Context, Window int
}

// Spending returns what the session used so far.
func (s *Session) Spending() Spending {
	_, name := s.settings()
	out := Spending{Window: s.window(name)}
	s.emitMu.Lock()
	defer s.emitMu.Unlock()
	out.Total, out.Context = s.usage, s.contextTokens
	for _, m := range slices.Sorted(maps.Keys(s.byModel)) {
		out.Models = append(out.Models, ModelUsage{m, s.byModel[m]})
	}
	return out
}

// resolve returns the model that a name stands for, and the parameters for a request
// of the given scope.
func (s *Session) resolve(name, scope string) (string, *genai.GenerateContentConfig) {
	r, err := s.opt.Models.Resolve(name, scope)
	if err != nil { // aliases are checked when they are read
		return name, &genai.GenerateContentConfig{}
	}
	c, err := r.Config()
	if err != nil {
		c = &genai.GenerateContentConfig{}
	}
	if r.Model == "" && scope == models.Chat {
		r.Model = DefaultModel
	}
	return r.Model, c
}
