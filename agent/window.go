package agent

import (
	"context"

	"redline/agent/model"
	"redline/agent/models"
)

// bytesPerToken is how much of the conversation's JSON makes a token, where nobody
// has counted.
const bytesPerToken = 4

// overhead is what a request has besides the conversation, in tokens, where nobody
// has counted: system prompt and declarations.
const overhead = 3000

// window returns how many tokens the model of a name can read, as far as it is known.
func (s *Session) window(name string) int {
	name, _ = s.resolve(name, models.Chat)
	m, known := models.Lookup(name)
	if known {
		return m.Window
	}
	s.mu.Lock()
	told := s.windows[name]
	s.mu.Unlock()
	switch {
	case s.opt.Window > 0:
		return s.opt.Window
	case told > 0:
		return told
	}
	return m.Window
}

// learnWindow is window once the service was asked about a model that is not known
// here: once, and not before the conversation has grown.
func (s *Session) learnWindow(ctx context.Context, g model.ContentGenerator, name string, tokens int) int {
	const small = 4000
	resolved, _ := s.resolve(name, models.Chat)
	lister, lists := g.(model.Lister)
	s.mu.Lock()
	asked := s.windows != nil
	s.mu.Unlock()
	if _, known := models.Lookup(resolved); known || !lists || asked || s.opt.Window > 0 || tokens < small {
		return s.window(name)
	}
	found := map[string]int{}
	if infos, err := lister.ListModels(ctx); err == nil {
		for _, i := range infos {
			found[i.Name] = i.InputLimit
		}
	}
	s.mu.Lock()
	s.windows = found
	s.mu.Unlock()
	return s.window(name)
}

// estimate returns how many tokens the next request has: as the service counted the
// last one, and by size what has come since.
func (s *Session) estimate() int {
	weight := weigh(s.history.Contents())
	s.emitMu.Lock()
	defer s.emitMu.Unlock()
	if s.contextTokens == 0 {
		return overhead + weight/bytesPerToken
	}
	if weight < s.weighed { // the conversation was taken back to an earlier point
		return int(int64(s.contextTokens) * int64(weight) / int64(s.weighed))
	}
	return s.contextTokens + (weight-s.weighed)/bytesPerToken
}

// counted notes what the service counted for a request and its answer, which is in the
// history.
func (s *Session) counted(prompt, answer int32) {
	if prompt == 0 {
		return
	}
	s.emitMu.Lock()
	s.contextTokens = int(prompt + answer)
	s.emitMu.Unlock()
	s.weighed = weigh(s.history.Contents())
}

// weigh returns the size of messages in bytes, media at what they cost: a picture has
// 258 tokens, however large its file.
func weigh(cs []model.Content) int {
	n := 0
	for _, c := range cs {
		for _, p := range c.Parts {
			if d := p.Value().InlineData; d != nil {
				n += 258*bytesPerToken + len(d.Data)/50
				continue
			}
			n += p.Size()
		}
	}
	return n
}
