package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
)

// utilityModel answers small questions beside the conversation.
const utilityModel = "gemini-2.5-flash"

// utility asks a small question beside the conversation: system and prompt are all
// the model sees, nothing of it enters the history. The answer is JSON that fits
// schema, decoded into out. Its tokens count, and it is retried like any request.
func (s *Session) utility(ctx context.Context, t *turn, system, prompt string, schema json.RawMessage, out any) error {
	_, name := s.settings()
	if strings.HasPrefix(name, "gemini-") {
		name = utilityModel // what is no Gemini has no Flash beside it
	}
	zero := float32(0)
	text, err := s.utilityText(ctx, t, &model.Request{
		Model: name, Contents: []model.Content{model.UserText(prompt)}, PromptID: t.id,
		Config: &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: system}}},
			Temperature:       &zero, ResponseMIMEType: "application/json", ResponseJsonSchema: schema,
		},
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(withoutFence(text)), out); err != nil {
		return fmt.Errorf("read the model's answer: %w", err)
	}
	return nil
}

// utilityText sends a request of [Session.utility] and returns the whole answer.
func (s *Session) utilityText(ctx context.Context, t *turn, req *model.Request) (string, error) {
	var text strings.Builder
	var usage *genai.GenerateContentResponseUsageMetadata
	defer func() {
		total := s.usage
		total.add(usage)
		s.emit(t.id, UsageUpdated{total})
	}()
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
	}
	return text.String(), nil
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
