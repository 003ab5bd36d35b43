package openaitest

import (
	"fmt"
	"strings"
)

type object = map[string]any

// events returns a streamed answer in the manner of the kind.
func (s *Server) events(body Body, step *Step) []object {
	var out []object
	add := func(delta object, finish any) {
		out = append(out, object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	thought := "reasoning"
	switch s.script.Kind {
	case LlamaCpp:
		thought = "reasoning_content"
		add(object{"role": "assistant", "content": nil}, nil)
	case VLLM:
		thought = "reasoning_content"
		add(object{"role": "assistant", "content": ""}, nil)
	}
	if step.Thought != "" {
		add(object{thought: step.Thought}, nil)
	}
	for _, t := range step.Text {
		delta := object{"content": t}
		if s.script.Kind == Ollama {
			delta["role"] = "assistant" // in every chunk
		}
		add(delta, nil)
	}
	if step.Cut || step.Hang {
		return out
	}
	for i, c := range step.Calls {
		for _, d := range s.call(i, c) {
			add(object{"tool_calls": []object{d}}, nil)
		}
	}
	add(object{}, s.finish(step))
	if body.StreamOptions.IncludeUsage {
		out = append(out, object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": body.Model, "choices": []object{}, "usage": s.usage()})
	}
	return out
}

// call returns a tool call in the fragments that the kind sends.
func (s *Server) call(i int, c Call) []object {
	id := fmt.Sprintf("call_%s_%d", strings.ReplaceAll(c.Name, "_", ""), i)
	switch s.script.Kind {
	case LlamaCpp, VLLM:
		if s.script.Kind == VLLM {
			id = "chatcmpl-tool-" + id
		}
		out := []object{{"index": i, "id": id, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}
		for rest := c.Args; rest != ""; {
			n := min(5, len(rest)) // fragments that end anywhere, as tokens do
			for n < len(rest) && rest[n]&0xC0 == 0x80 {
				n++
			}
			out = append(out, object{"index": i, "function": object{"arguments": rest[:n]}})
			rest = rest[n:]
		}
		return out
	}
	// Ollama: whole, and all of them number 0.
	return []object{{"index": 0, "id": id, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}}}
}

func (s *Server) finish(step *Step) string {
	switch {
	case step.Finish != "":
		return step.Finish
	case len(step.Calls) > 0 && s.script.Kind != Ollama:
		return "tool_calls"
	}
	return "stop"
}

func (s *Server) usage() object {
	u := object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
	if s.script.Kind == VLLM {
		u["prompt_tokens_details"] = object{"cached_tokens": 64}
	}
	return u
}

// plain returns the whole answer as one object.
func (s *Server) plain(body Body, step *Step) object {
	msg := object{"role": "assistant", "content": strings.Join(step.Text, "")}
	var calls []object
	for i, c := range step.Calls {
		calls = append(calls, object{"id": fmt.Sprintf("call_%d", i), "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
	}
	if len(calls) > 0 {
		msg["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl-1", "object": "chat.completion", "model": body.Model, "usage": s.usage(),
		"choices": []object{{"index": 0, "message": msg, "finish_reason": s.finish(step)}},
	}
}
