package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// kept are the keywords of JSON Schema that all of these servers understand. One that
// they do not know can fail the whole request: llama.cpp makes a grammar of the schema,
// Ollama decodes it into fixed types.
var kept = map[string]bool{
	"type": true, "description": true, "enum": true, "default": true, "title": true,
	"properties": true, "required": true, "additionalProperties": true,
	"items": true, "minItems": true, "maxItems": true,
	"anyOf": true, "minimum": true, "maximum": true, "minLength": true, "maxLength": true,
	"$ref": true, "$defs": true,
}

// plainSchema returns the parameters' schema with what the servers understand: always
// an object with properties. What it leaves out is checked again when a call comes in.
func plainSchema(v any) map[string]any {
	out, _ := simplify(generic(v)).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	out["type"] = "object"
	if _, ok := out["properties"].(map[string]any); !ok {
		out["properties"] = map[string]any{}
	}
	return out
}

// generic returns v as decoded JSON, numbers as they are written.
func generic(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out any
	if dec.Decode(&out) != nil {
		return nil
	}
	return out
}

func simplify(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return map[string]any{} // true: anything; false makes no sense for a parameter
	}
	// Other words for the same.
	rename(m, "definitions", "$defs")
	rename(m, "oneOf", "anyOf")
	if c, ok := m["const"]; ok && m["enum"] == nil {
		m["enum"] = []any{c}
	}
	if all, ok := m["allOf"].([]any); ok && len(all) == 1 {
		if only, ok := all[0].(map[string]any); ok {
			for k, x := range only {
				if m[k] == nil {
					m[k] = x
				}
			}
		}
	}
	out := map[string]any{}
	for k, x := range m {
		if !kept[k] {
			continue
		}
		switch k {
		case "properties", "$defs":
			sub, ok := x.(map[string]any)
			if !ok {
				continue
			}
			list := map[string]any{}
			for name, s := range sub {
				list[name] = simplify(s)
			}
			x = list
		case "items":
			x = simplify(x)
		case "additionalProperties":
			if _, isBool := x.(bool); !isBool {
				x = simplify(x)
			}
		case "anyOf":
			sub, ok := x.([]any)
			if !ok || len(sub) == 0 {
				continue
			}
			list := make([]any, len(sub))
			for i, s := range sub {
				list[i] = simplify(s)
			}
			x = list
		case "type":
			x = types(x)
		case "$ref":
			if s, ok := x.(string); ok { // the definitions may have been renamed
				x = strings.Replace(s, "#/definitions/", "#/$defs/", 1)
			}
		}
		out[k] = x
	}
	return out
}

// types writes types in lower case: Gemini's own schemas have them in capitals.
func types(x any) any {
	if s, ok := x.(string); ok {
		return strings.ToLower(s)
	}
	return x
}

func rename(m map[string]any, from, to string) {
	if v, ok := m[from]; ok && m[to] == nil {
		m[to] = v
	}
	delete(m, from)
}
