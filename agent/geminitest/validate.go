package geminitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxNameLen is the shorter of the two limits Google documents (64 and 128).
const maxNameLen = 64

var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]*$`)

// members are those of the request messages of v1beta; the API also knows them
// with_underscores, which no client of ours has reason to send.
var members = map[string][]string{
	"streamGenerateContent": {
		"model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent", "serviceTier", "store", "labels",
	},
	"countTokens": {"model", "contents", "generateContentRequest"},
}

// kinds are the members of a part of which one must be set.
var kinds = []string{
	"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

// decode reads the body of a request to method, refusing what the API refuses.
func decode(method string, raw []byte) (Body, *Error) {
	var b Body
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return b, invalid("Invalid JSON payload received. %v", err)
	}
	known := members[method]
	if method == "generateContent" {
		known = members["streamGenerateContent"]
	}
	for name := range top {
		if !slices.Contains(known, name) {
			return b, invalid("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
		}
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, invalid("Invalid JSON payload received. %v", err)
	}
	if inner, ok := top["generateContentRequest"]; ok {
		return decode("generateContent", inner)
	}
	return b, nil
}

// validate checks what has been decoded. issued knows the thought signatures that
// have been given out.
func (b Body) validate(issued *signatures) *Error {
	if len(b.Contents) == 0 {
		return invalid("* GenerateContentRequest.contents: contents is not specified")
	}
	if b.SystemInstruction != nil {
		if err := b.SystemInstruction.validate("system_instruction"); err != nil {
			return err
		}
	}
	for i, c := range b.Contents {
		if err := c.validate(fmt.Sprintf("contents[%d]", i)); err != nil {
			return err
		}
		want := []string{"user", "model"}[i%2]
		switch c.Role {
		case want:
		case "user", "model":
			return invalid("Please ensure that multiturn requests alternate between user and model. contents[%d] has the role %s.", i, c.Role)
		default:
			return invalid("Please use a valid role: user, model. contents[%d] has the role %q.", i, c.Role)
		}
		if err := c.checkCalls(i, issued); err != nil {
			return err
		}
		var before Content
		if i > 0 {
			before = b.Contents[i-1]
		}
		if err := checkAnswers(i, before.Calls(), c.Responses()); err != nil {
			return err
		}
	}
	if len(b.Contents)%2 == 0 {
		return invalid("Please ensure that multiturn requests end with a user role or a function response.")
	}
	return b.validateTools()
}

// validate checks that there is something in each part.
func (c Content) validate(path string) *Error {
	if len(c.Parts) == 0 {
		return invalid("* GenerateContentRequest.%s.parts: contents.parts must not be empty.", path)
	}
	for i, p := range c.Parts {
		path := fmt.Sprintf("%s.parts[%d]", path, i)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(p.Raw, &fields); err != nil || fields == nil {
			return invalid("Invalid value at '%s' (type.googleapis.com/google.ai.generativelanguage.v1beta.Part)", path)
		}
		n := 0
		for _, k := range kinds {
			if raw, ok := fields[k]; ok && string(raw) != "null" {
				n++
			}
		}
		if n > 1 {
			return invalid("Invalid value at '%s': oneof field 'data' is already set", path)
		}
		if n == 0 || p.Text != nil && *p.Text == "" && p.Signature == "" {
			return invalid("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", path)
		}
		if r := p.FunctionResponse; r != nil {
			if r.Name == "" {
				return invalid("* GenerateContentRequest.%s.function_response.name: Name cannot be empty.", path)
			}
			if !isObject(r.Response) {
				return invalid("Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct), %s", path, r.Response)
			}
			if c.Role == "model" {
				return invalid("Please ensure that function responses are in a user turn, not in %s.", path)
			}
		}
		if f := p.FunctionCall; f != nil {
			if f.Name == "" {
				return invalid("* GenerateContentRequest.%s.function_call.name: Name cannot be empty.", path)
			}
			if len(f.Args) > 0 && !isObject(f.Args) {
				return invalid("Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", path, f.Args)
			}
			if c.Role != "model" {
				return invalid("Please ensure that function calls are in a model turn, not in %s.", path)
			}
		}
	}
	return nil
}

// checkCalls checks that function calls still have their thought signatures. i is
// the index of c.
func (c Content) checkCalls(i int, issued *signatures) *Error {
	for _, p := range c.Parts {
		if p.FunctionCall != nil && !issued.allow(*p.FunctionCall, p.Signature) {
			if p.Signature == "" {
				return invalid("Function call `%s` in the %d. content block is missing a `thought_signature`.", p.FunctionCall.Name, i+1)
			}
			return invalid("Thought signature of function call `%s` in the %d. content block is not valid.", p.FunctionCall.Name, i+1)
		}
	}
	return nil
}

// checkAnswers checks the function responses of content i against the function
// calls of the content before.
func checkAnswers(i int, calls []Call, answers []FunctionResponse) *Error {
	if len(calls) == 0 && len(answers) > 0 {
		return invalid("Please ensure that function response turn comes immediately after a function call turn. contents[%d] answers %s, which was not called.", i, answers[0].Name)
	}
	if len(calls) != len(answers) {
		return invalid("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn. contents[%d] has %d for %d.",
			i, len(answers), len(calls))
	}
	for k, call := range calls {
		if a := answers[k]; a.Name != call.Name || call.ID != "" && a.ID != call.ID {
			return invalid("Please ensure that function responses match the function calls. contents[%d] answers %s(id %q) where %s(id %q) was called.", i, a.Name, a.ID, call.Name, call.ID)
		}
	}
	return nil
}

func (b Body) validateTools() *Error {
	seen := map[string]bool{}
	for i, t := range b.Tools {
		for k, f := range t.Functions {
			path := fmt.Sprintf("GenerateContentRequest.tools[%d].function_declarations[%d]", i, k)
			if len(f.Name) > maxNameLen || !functionName.MatchString(f.Name) {
				return invalid("* %s.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of %d. It is %q.",
					path, maxNameLen, f.Name)
			}
			if seen[f.Name] {
				return invalid("* %s.name: Duplicate function declaration found: %s", path, f.Name)
			}
			seen[f.Name] = true
			if f.Parameters != nil && f.JSONSchema != nil {
				return invalid("* %s: parameters and parameters_json_schema are mutually exclusive", path)
			}
			if f.Parameters != nil {
				if err := validateSchema(path+".parameters", f.Parameters, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// schema is the part of the API's own Schema type that it checks itself.
type schema struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
}

func validateSchema(path string, raw json.RawMessage, top bool) *Error {
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return invalid("Invalid value at '%s': %v", path, err)
	}
	if top && !strings.EqualFold(s.Type, "OBJECT") {
		return invalid("* %s: schema should be of OBJECT type", path)
	}
	for i, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return invalid("* %s.required[%d]: property is not defined", path, i)
		}
	}
	for name, p := range s.Properties {
		if err := validateSchema(path+".properties["+name+"]", p, false); err != nil {
			return err
		}
	}
	if strings.EqualFold(s.Type, "ARRAY") {
		if s.Items == nil {
			return invalid("* %s.items: missing field", path)
		}
		return validateSchema(path+".items", s.Items, false)
	}
	return nil
}
