package model

import "encoding/json"

// Nameless is the name of a function call that came without one: the service accepts neither a call nor an answer
// without a name in the history, and the model has to be told.
const Nameless = "undefined_tool_name"

// Named returns the part; a function call without a name gets the name [Nameless], everything else of it stays.
func (p Part) Named() Part {
	if v := p.Value(); v.FunctionCall == nil || v.FunctionCall.Name != "" {
		return p
	}
	var part, call map[string]json.RawMessage
	if json.Unmarshal(p.raw, &part) != nil || json.Unmarshal(part["functionCall"], &call) != nil || call == nil {
		return p
	}
	call["name"] = json.RawMessage(`"` + Nameless + `"`)
	var err error
	if part["functionCall"], err = json.Marshal(call); err != nil {
		return p
	}
	raw, err := json.Marshal(part)
	if err != nil {
		return p
	}
	named, err := RawPart(raw)
	if err != nil {
		return p
	}
	return named
}
