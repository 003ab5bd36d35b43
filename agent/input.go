package agent

import (
	"encoding/json"
	"strings"
)

// shownInput returns the arguments of a call with long strings shortened: a whole file
// is shown by the proposal, not by each event of its call.
func shownInput(raw json.RawMessage) json.RawMessage {
	const maxString = 2 << 10
	if len(raw) <= maxString {
		return raw
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	for k, v := range args {
		if len(v) <= maxString {
			continue
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			delete(args, k)
			continue
		}
		short, err := json.Marshal(strings.ToValidUTF8(s[:min(len(s), maxString)], "") + "…")
		if err != nil {
			delete(args, k)
			continue
		}
		args[k] = short
	}
	out, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return out
}
