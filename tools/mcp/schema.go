package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of a declared schema. It goes into every request, and the API refuses the
// whole request for one that it cannot take.
const (
	maxSchema = 64 << 10 // bytes
	maxDepth  = 32
)

// anything is a schema that takes every object.
const anything = `{"type":"object","properties":{}}`

// schema returns the parameters of a tool in a form that the API takes: an object.
// One that is no schema is replaced by [anything], and problem says why.
func schema(v any) (_ json.RawMessage, problem string) {
	if v == nil {
		return json.RawMessage(anything), ""
	}
	m, ok := v.(map[string]any)
	if !ok {
		return json.RawMessage(anything), "it is no object"
	}
	if t := m["type"]; t != nil && t != "object" {
		return json.RawMessage(anything), fmt.Sprintf("its type is %v", t)
	}
	if depth(m) > maxDepth {
		return json.RawMessage(anything), "it is nested too deeply"
	}
	out := map[string]any{}
	for k, x := range m {
		if k != "$schema" && k != "$id" {
			out[k] = x
		}
	}
	out["type"] = "object"
	if _, ok := out["properties"].(map[string]any); !ok {
		out["properties"] = map[string]any{}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(anything), err.Error()
	}
	if len(raw) > maxSchema {
		return json.RawMessage(anything), fmt.Sprintf("it has %d KB", len(raw)>>10)
	}
	var js jsonschema.Schema
	if err := json.Unmarshal(raw, &js); err != nil {
		return json.RawMessage(anything), err.Error()
	}
	if _, err := js.Resolve(nil); err != nil {
		return json.RawMessage(anything), err.Error()
	}
	return raw, ""
}

func depth(v any) int {
	d := 0
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			d = max(d, depth(x))
		}
	case []any:
		for _, x := range v {
			d = max(d, depth(x))
		}
	default:
		return 0
	}
	return d + 1
}
