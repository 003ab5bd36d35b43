// Package agenttest has a scripted model and a scripted reviewer for tests of
// whatever runs a session.
package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"google.golang.org/genai"

	"redline/agent/model"
)

// Step is one answer of the model.
type Step struct {
	Thought string
	Text    []string // chunks
	Calls   []Call
	Finish  genai.FinishReason // STOP when empty
	// Grounding and URLContext come with the finish reason.
	Grounding  *genai.GroundingMetadata
	URLContext *genai.URLContextMetadata
	Err        error // ends the stream after everything else, in place of Finish
	// Gate, if set, is received from before the answer begins.
	Gate <-chan struct{}
	// Asked, if set, is closed when the request has come in.
	Asked chan<- struct{}
	// Hang makes the stream wait, after everything else, until it is cancelled.
	Hang bool
	// Started, if set, is closed once the chunks have been handed out.
	Started chan<- struct{}
}

// Call is a function call of a [Step].
type Call struct {
	ID   string
	Name string
	Args any // encoded as JSON; a json.RawMessage is taken as it is
}

// Model answers each request with the next step and keeps the requests.
type Model struct {
	mu       sync.Mutex
	steps    []Step
	requests []*model.Request
}

// NewModel returns a model that plays the steps in order.
func NewModel(steps ...Step) *Model { return &Model{steps: steps} }

// Generator is what [agent.Options] takes.
func (m *Model) Generator(context.Context) (model.ContentGenerator, error) { return m, nil }

// Requests returns what was asked so far.
func (m *Model) Requests() []*model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*model.Request(nil), m.requests...)
}

// Responses returns the function responses in the last message of request i.
func (m *Model) Responses(i int) []Response {
	reqs := m.Requests()
	if i >= len(reqs) {
		return nil
	}
	var out []Response
	for _, p := range reqs[i].Contents[len(reqs[i].Contents)-1].Parts {
		fr := p.Value().FunctionResponse
		if fr == nil {
			continue
		}
		r := Response{ID: fr.ID, Name: fr.Name}
		r.Output, _ = fr.Response["output"].(string)
		r.Error, _ = fr.Response["error"].(string)
		out = append(out, r)
	}
	return out
}

// Response is a function response as the model got it.
type Response struct{ ID, Name, Output, Error string }

// Stream implements [model.ContentGenerator].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	m.mu.Lock()
	n := len(m.requests)
	kept := *req
	kept.Contents = append([]model.Content(nil), req.Contents...)
	m.requests = append(m.requests, &kept)
	var step Step
	if n < len(m.steps) {
		step = m.steps[n]
	} else {
		step = Step{Err: fmt.Errorf("the script has no step %d", n+1)}
	}
	m.mu.Unlock()
	return func(yield func(*model.Chunk, error) bool) {
		if step.Asked != nil {
			close(step.Asked)
		}
		if step.Gate != nil {
			select {
			case <-step.Gate:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
		if step.Thought != "" && !yield(chunk(model.NewPart(&genai.Part{Text: step.Thought, Thought: true})), nil) {
			return
		}
		for _, t := range step.Text {
			if !yield(chunk(model.Text(t)), nil) {
				return
			}
		}
		for _, c := range step.Calls {
			if !yield(chunk(callPart(c)), nil) {
				return
			}
		}
		if step.Started != nil {
			close(step.Started)
		}
		switch {
		case step.Hang:
			<-ctx.Done()
			yield(nil, ctx.Err())
		case step.Err != nil:
			yield(nil, step.Err)
		default:
			finish := step.Finish
			if finish == "" {
				finish = genai.FinishReasonStop
			}
			yield(&model.Chunk{FinishReason: finish, Grounding: step.Grounding, URLContext: step.URLContext, Usage: &genai.GenerateContentResponseUsageMetadata{
				PromptTokenCount: 10, CandidatesTokenCount: 5, TotalTokenCount: 15,
			}}, nil)
		}
	}
}

func chunk(p model.Part) *model.Chunk { return &model.Chunk{Parts: []model.Part{p}} }

func callPart(c Call) model.Part {
	args, err := json.Marshal(c.Args)
	if err != nil {
		panic(fmt.Sprintf("agenttest: arguments of %s: %v", c.Name, err))
	}
	raw, err := json.Marshal(map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": json.RawMessage(args)}})
	if err != nil {
		panic(err)
	}
	p, err := model.RawPart(raw)
	if err != nil {
		panic(err)
	}
	return p
}
