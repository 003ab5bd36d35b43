package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/models"
)

//go:embed compress.md
var compressPrompt string

// keepShare is how much of the conversation, by size, stays as it is.
const keepShare = 0.3

// leastGain is the share of the conversation that a compression must be about, for it
// to be worth a request.
const leastGain = 0.2

// compressCommand is the prompt that compresses the conversation.
const compressCommand = "/compress"

// BuiltinCommands are the words that a prompt may consist of which are no custom prompt,
// without the "/", and what they do.
var BuiltinCommands = map[string]string{
	strings.TrimPrefix(compressCommand, "/"): "Summarise the older part of the conversation",
}

// errNothingToCompress says that there is nothing old enough to be summarised.
var errNothingToCompress = errors.New("there is nothing to compress yet")

// Compression is what became of the conversation.
type Compression struct {
	Before, After int // tokens
}

// fitWindow compresses the conversation if it takes up too much of what the model can
// read. A failure is told and changes nothing.
func (s *Session) fitWindow(ctx context.Context, t *turn) {
	share := s.opt.CompressAt
	if share == 0 {
		share = DefaultCompressAt
	}
	tokens := s.estimate()
	if share >= 1 || tokens < s.tooSmall {
		return
	}
	_, name := s.settings()
	window := s.learnWindow(ctx, t.generator, name, tokens)
	if float64(tokens) < share*float64(window) {
		return
	}
	if splitPoint(s.history.Contents()) == 0 {
		s.tooSmall = tokens + window/10 // it is one long message, or hardly begun
		return
	}
	s.emit(t.id, Notice{"info", fmt.Sprintf("The conversation fills %d%% of what the model can read; its older part is being summarised.", tokens*100/window)})
	if _, err := s.compress(ctx, t, true); err != nil && ctx.Err() == nil {
		// Not again before there is notably more of it.
		s.tooSmall = tokens + window/10
		s.emit(t.id, Notice{"warning", fmt.Sprintf("The conversation could not be compressed: %v. It goes on as it is.", err)})
	}
}

// compress has the model summarise the older part of the conversation and puts the
// summary in its place. Unless that makes it smaller by the count of tokens, nothing
// changes. No turn but t may be running.
func (s *Session) compress(ctx context.Context, t *turn, auto bool) (Compression, error) {
	old := s.history.Contents()
	split := splitPoint(old)
	if split == 0 {
		return Compression{}, errNothingToCompress
	}
	summary, err := s.summarise(ctx, t, old[:split])
	if err != nil {
		return Compression{}, err
	}
	// The environment is told anew: files have come and gone.
	text := environment(ctx, s.opt.Workspace.Snapshot(), s.opt.Now()) +
		"\nThe conversation was long; this is what its older part came to:\n" + summary
	if prompt := lastPrompt(old); prompt >= 0 && prompt < split {
		text += "\n\nThe user's last message, word for word:\n" + excerpt(old[prompt].Text())
	}
	var next History
	next.AddUser(model.Text(text))
	for _, c := range old[split:] {
		next.add(c)
	}
	out, err := s.measure(ctx, t, old, next.Contents())
	if err != nil {
		return Compression{}, err
	}
	if out.After >= out.Before {
		return out, fmt.Errorf("the summary would not make it shorter (%d tokens instead of %d)", out.After, out.Before)
	}
	s.history.Replace(next.Contents())
	s.emitMu.Lock()
	s.contextTokens = out.After
	s.emitMu.Unlock()
	s.weighed, s.tooSmall = weigh(s.history.Contents()), 0
	s.instructions.told = nil // of deeper folders: what the model was told is gone
	s.emit(t.id, Compressed{Before: out.Before, After: out.After, Auto: auto})
	s.emit(t.id, Notice{"info", fmt.Sprintf("The conversation was compressed from %d to %d tokens.", out.Before, out.After)})
	return out, nil
}

// summarise returns the model's snapshot of a part of the conversation.
func (s *Session) summarise(ctx context.Context, t *turn, part []model.Content) (string, error) {
	name, config := s.beside(models.Compression)
	config.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: compressPrompt}}}
	if weigh(part)/bytesPerToken > s.window(name)*9/10 {
		part = shortened(part) // the summary must fit too
	}
	var ask History
	for _, c := range part {
		ask.add(c)
	}
	ask.AddUser(model.Text("Write the snapshot of the conversation up to here now."))
	text, err := s.utilityText(ctx, t, &model.Request{Model: name, Contents: ask.Contents(), Config: config, PromptID: t.id})
	if err != nil {
		return "", fmt.Errorf("summarise the conversation: %w", err)
	}
	const open, end = "<state_snapshot>", "</state_snapshot>"
	if i := strings.LastIndex(text, open); i >= 0 {
		text = text[i:]
		if j := strings.Index(text, end); j >= 0 {
			text = text[:j+len(end)]
		}
	}
	if text = strings.TrimSpace(text); len(text) < 2*len(open) {
		return "", errors.New("the model gave no summary")
	}
	return text, nil
}

// measure counts the tokens of the conversation before and after, both in the same
// way: the service's if it counts, else by size.
func (s *Session) measure(ctx context.Context, t *turn, before, after []model.Content) (Compression, error) {
	_, name := s.settings()
	name, _ = s.resolve(name, models.Chat)
	if counter, ok := t.generator.(model.TokenCounter); ok {
		a, errA := counter.CountTokens(ctx, &model.Request{Model: name, Contents: before})
		b, errB := counter.CountTokens(ctx, &model.Request{Model: name, Contents: after})
		if errA == nil && errB == nil {
			return Compression{a, b}, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return Compression{}, err
	}
	return Compression{weigh(before) / bytesPerToken, weigh(after) / bytesPerToken}, nil
}

// splitPoint returns how many messages from the start can be summarised, so that
// about keepShare of the conversation stays: 0 when there is nothing to gain. What
// stays begins with a message of the model's, or with one of the user's that answers
// no call, so that every call stays beside its response.
func splitPoint(cs []model.Content) int {
	total := weigh(cs)
	best, rest := 0, 0
	for i := len(cs); i > 0; i-- {
		if i < len(cs) {
			rest += weigh(cs[i : i+1])
		}
		if total-rest < int(leastGain*float64(total)) {
			break
		}
		if !splits(cs, i) {
			continue
		}
		if best != 0 && float64(rest) > keepShare*float64(total) {
			break
		}
		best = i
	}
	if best == 1 {
		return 0 // the environment and a prompt: nothing was done yet
	}
	return best
}

// splits reports whether the conversation can be cut before message i.
func splits(cs []model.Content, i int) bool {
	if i == len(cs) {
		last := cs[i-1]
		return last.Role == model.RoleModel && !hasCalls(last)
	}
	return cs[i].Role == model.RoleModel || !hasResponses(cs[i])
}

func hasCalls(c model.Content) bool {
	for _, p := range c.Parts {
		if _, ok := p.FunctionCall(); ok {
			return true
		}
	}
	return false
}

func hasResponses(c model.Content) bool {
	for _, p := range c.Parts {
		if p.Value().FunctionResponse != nil {
			return true
		}
	}
	return false
}

// lastPrompt returns the index of the last message that is the user's own, -1 when
// there is none.
func lastPrompt(cs []model.Content) int {
	for i := len(cs) - 1; i > 0; i-- {
		if cs[i].Role == model.RoleUser && !hasResponses(cs[i]) {
			return i
		}
	}
	return -1
}

// excerpt returns a prompt, the middle of a very long one left out.
func excerpt(text string) string {
	const limit = 8 << 10
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit/2], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-limit/2:], "")
}

// shortened returns messages with the function responses cut to their beginnings.
func shortened(cs []model.Content) []model.Content {
	const limit = 2000
	out := make([]model.Content, len(cs))
	for i, c := range cs {
		out[i] = model.Content{Role: c.Role}
		for _, p := range c.Parts {
			v := p.Value()
			switch {
			case v.InlineData != nil:
				p = model.Text("[" + v.InlineData.MIMEType + "]")
			case v.FunctionResponse != nil && len(fmt.Sprint(v.FunctionResponse.Response["output"])) > limit:
				text := strings.ToValidUTF8(fmt.Sprint(v.FunctionResponse.Response["output"])[:limit], "") + "\n[cut]"
				p = model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{
					ID: v.FunctionResponse.ID, Name: v.FunctionResponse.Name, Response: map[string]any{"output": text},
				}})
			}
			out[i].Parts = append(out[i].Parts, p)
		}
	}
	return out
}

// tooLong reports whether the service refused a request for its length.
func tooLong(err error) bool {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindBadRequest {
		return false
	}
	msg := strings.ToLower(e.Message)
	return strings.Contains(msg, "token") && (strings.Contains(msg, "exceed") || strings.Contains(msg, "too long") || strings.Contains(msg, "maximum"))
}
