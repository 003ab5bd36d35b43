package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/models"
)

// utility asks a small question beside the conversation: system and prompt are all
// the model sees, nothing of it enters the history. The answer is JSON that fits
// schema, decoded into out. Its tokens count, and it is retried like any request.
func (s *Session) utility(ctx context.Context, t *turn, system, prompt string, schema json.RawMessage, out any) error {
	name, c := s.beside(models.EditCorrector)
	c.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: system}}}
	c.ResponseMIMEType, c.ResponseJsonSchema = "application/json", schema
	text, err := s.utilityText(ctx, t, &model.Request{Model: name, Contents: []model.Content{model.UserText(prompt)}, Config: c, PromptID: t.id})
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(withoutFence(text)), out); err != nil {
		return fmt.Errorf("read the model's answer: %w", err)
	}
	return nil
}

// utilityText sends a request beside the conversation and returns the whole answer,
// which is the one it had before to an equal request.
func (s *Session) utilityText(ctx context.Context, t *turn, req *model.Request) (string, error) {
	key, named := s.answers.keyOf(req)
	if text, ok := s.answers.get(key); named && ok {
		return text, nil
	}
	text, err := s.utilityAnswer(ctx, t, req)
	if err == nil && named && text != "" {
		s.answers.put(key, text)
	}
	return text, err
}

func (s *Session) utilityAnswer(ctx context.Context, t *turn, req *model.Request) (string, error) {
	var text strings.Builder
	var finish genai.FinishReason
	var usage *genai.GenerateContentResponseUsageMetadata
	defer func() { s.spent(t, req.Model, usage) }()
	for chunk, err := range t.generator.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		for _, p := range chunk.Parts {
			if v := p.Value(); !v.Thought {
				text.WriteString(v.Text)
			}
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		if chunk.BlockReason != "" {
			return "", fmt.Errorf("the model's service refused the request (%s)", chunk.BlockReason)
		}
		if chunk.FinishReason != "" {
			finish = chunk.FinishReason
		}
	}
	if finish != "" && finish != genai.FinishReasonStop {
		return "", fmt.Errorf("the model stopped before the end of its answer (%s)", finish)
	}
	return text.String(), nil
}

// beside returns the model and the parameters for requests of a scope other than the
// conversation: those of the alias with its name. Without a model of its own, and
// where the session's is no Gemini and so has no Flash beside it, it is the session's.
func (s *Session) beside(scope string) (string, *genai.GenerateContentConfig) {
	_, name := s.settings()
	name, _ = s.resolve(name, models.Chat)
	other, c := s.resolve(scope, scope)
	if other == "" || strings.HasPrefix(other, "gemini-") && !strings.HasPrefix(name, "gemini-") {
		c.ThinkingConfig = nil // it was meant for the other
		return name, c
	}
	return other, c
}

// withoutFence takes JSON out of the Markdown that some models wrap it in.
func withoutFence(s string) string {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "```"); ok {
		_, rest, _ = strings.Cut(rest, "\n")
		return strings.TrimSuffix(strings.TrimSpace(rest), "```")
	}
	return s
}
