package agent

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/models"
	"redline/tools"
)

// grounder lets a tool of the running turn use the model's own tools for the web.
// The requests are apart from the conversation; their tokens count.
type grounder struct {
	s *Session
	t *turn
}

// Search implements [tools.Grounder].
func (g grounder) Search(ctx context.Context, question string) (*tools.Grounded, error) {
	return g.ask(ctx, question, &genai.Tool{GoogleSearch: &genai.GoogleSearch{}})
}

// Read implements [tools.Grounder].
func (g grounder) Read(ctx context.Context, prompt string) (*tools.Grounded, error) {
	return g.ask(ctx, prompt, &genai.Tool{URLContext: &genai.URLContext{}})
}

func (g grounder) ask(ctx context.Context, prompt string, tool *genai.Tool) (*tools.Grounded, error) {
	s := g.s
	_, modelName := s.settings()
	modelName, _ = s.resolve(modelName, models.Chat)
	req := &model.Request{
		Model: modelName, Contents: []model.Content{model.UserText(prompt)},
		Config: &genai.GenerateContentConfig{Tools: []*genai.Tool{tool}}, PromptID: g.t.id, SessionID: s.id,
	}
	out := &tools.Grounded{}
	var usage *genai.GenerateContentResponseUsageMetadata
	var meta *genai.GroundingMetadata
	defer func() { s.spent(g.t, req.Model, usage) }()
	for chunk, err := range g.t.generator.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		for _, p := range chunk.Parts {
			if v := p.Value(); v.Text != "" && !v.Thought {
				out.Text += v.Text
			}
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		if m := chunk.Grounding; m != nil && (meta == nil || len(m.GroundingChunks) >= len(meta.GroundingChunks)) {
			meta = m // the last chunk has all of it
		}
		if chunk.URLContext != nil {
			for _, u := range chunk.URLContext.URLMetadata {
				if u != nil {
					out.Pages = append(out.Pages, tools.GroundedPage{
						URL: u.RetrievedURL, Status: string(u.URLRetrievalStatus), OK: u.URLRetrievalStatus == genai.URLRetrievalStatusSuccess,
					})
				}
			}
		}
		if chunk.BlockReason != "" {
			return nil, fmt.Errorf("the model's service refused the request (%s)", chunk.BlockReason)
		}
	}
	ground(out, meta)
	return out, nil
}

// ground takes sources and citations over. The API counts in bytes of UTF-8 from
// the start of the answer's part; parts that were streamed in pieces are one.
func ground(out *tools.Grounded, meta *genai.GroundingMetadata) {
	if meta == nil {
		return
	}
	for _, c := range meta.GroundingChunks {
		var src tools.Source
		if c != nil && c.Web != nil {
			src = tools.Source{Title: c.Web.Title, URL: c.Web.URI}
		}
		out.Sources = append(out.Sources, src)
	}
	for _, sup := range meta.GroundingSupports {
		if sup == nil || sup.Segment == nil {
			continue
		}
		cite := tools.Cite{End: int(sup.Segment.EndIndex)}
		for _, i := range sup.GroundingChunkIndices {
			cite.Sources = append(cite.Sources, int(i))
		}
		out.Cites = append(out.Cites, cite)
	}
}
