package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// Set are aliases and overrides. The zero Set has those that are built in.
type Set struct {
	aliases   map[string]alias
	overrides []override
}

// alias is a name for a model with parameters.
type alias struct {
	Extends     string      `json:"extends"`
	ModelConfig modelConfig `json:"modelConfig"`
}

// override changes what was resolved. All of match that is there must fit.
type override struct {
	Match struct {
		Model         *string `json:"model"`         // a model or an alias on the way to it
		OverrideScope *string `json:"overrideScope"` // what the request is for: a [Resolve] scope
		IsRetry       *bool   `json:"isRetry"`
	} `json:"match"`
	ModelConfig modelConfig `json:"modelConfig"`
}

// modelConfig is a model and the parameters that it is asked with.
type modelConfig struct {
	Model  string         `json:"model"`
	Config map[string]any `json:"generateContentConfig"`
}

// parameters are the members of generateContentConfig that settings may give. What a
// session itself is in charge of (tools, system instruction, schemas) is not among
// them.
var parameters = map[string]bool{
	"temperature": true, "topP": true, "topK": true, "maxOutputTokens": true, "candidateCount": false, "seed": true,
	"stopSequences": true, "presencePenalty": true, "frequencyPenalty": true, "thinkingConfig": true, "mediaResolution": true,
	"safetySettings": true,
}

// builtin are the aliases that are always there, under Gemini CLI's names, so that
// settings that extend them work.
var builtin = map[string]alias{
	"base":          {"", modelConfig{"", map[string]any{"temperature": 0.0, "topP": 1.0}}},
	"chat-base":     {"base", modelConfig{"", map[string]any{"temperature": 1.0, "topP": 0.95, "topK": 64.0, "thinkingConfig": map[string]any{"includeThoughts": true}}}},
	"chat-base-2.5": {"chat-base", modelConfig{"", map[string]any{"thinkingConfig": map[string]any{"thinkingBudget": 8192.0}}}},
	"chat-base-3":   {"chat-base", modelConfig{"", map[string]any{"thinkingConfig": map[string]any{"thinkingLevel": "HIGH"}}}},

	"gemini-2.5-pro":         {"chat-base-2.5", modelConfig{"gemini-2.5-pro", nil}},
	"gemini-2.5-flash":       {"chat-base-2.5", modelConfig{"gemini-2.5-flash", nil}},
	"gemini-2.5-flash-lite":  {"chat-base-2.5", modelConfig{"gemini-2.5-flash-lite", nil}},
	"gemini-3-pro-preview":   {"chat-base-3", modelConfig{"gemini-3-pro-preview", nil}},
	"gemini-3-flash-preview": {"chat-base-3", modelConfig{"gemini-3-flash-preview", nil}},

	"gemini-2.5-flash-base": {"base", modelConfig{"gemini-2.5-flash", nil}},
	"gemini-3-flash-base":   {"base", modelConfig{"gemini-3-flash-preview", nil}},

	"auto":            {"gemini-2.5-pro", modelConfig{}},
	"auto-gemini-2.5": {"gemini-2.5-pro", modelConfig{}},
	"auto-gemini-3":   {"gemini-3-pro-preview", modelConfig{}},
	"pro":             {"gemini-2.5-pro", modelConfig{}},
	"flash":           {"gemini-2.5-flash", modelConfig{}},
	"flash-lite":      {"gemini-2.5-flash-lite", modelConfig{}},

	// What is asked beside the conversation; without a model it is the session's.
	EditCorrector: {"base", modelConfig{"gemini-2.5-flash", map[string]any{"thinkingConfig": map[string]any{"thinkingBudget": 0.0}}}},
	Compression:   {"base", modelConfig{}},
}

// The scopes of requests, which are aliases too.
const (
	Chat          = "core"
	EditCorrector = "edit-corrector"
	Compression   = "chat-compression"
)

// Aliases returns the names that stand for a model and are none, and what they stand
// for.
func (s *Set) Aliases() map[string]string {
	out := map[string]string{}
	for name := range s.all() {
		if r, err := s.Resolve(name, Chat); err == nil && r.Model != name && r.Model != "" && !strings.HasSuffix(name, "-base") {
			out[name] = r.Model
		}
	}
	delete(out, EditCorrector)
	return out
}

func (s *Set) all() map[string]alias {
	if s == nil || s.aliases == nil {
		return builtin
	}
	return s.aliases
}

// Parse reads the settings key modelConfigs. Warnings name what has no meaning here.
func Parse(settings map[string]any) (set *Set, warnings []string, err error) {
	set = &Set{aliases: maps.Clone(builtin)}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		v := settings[key]
		switch key {
		case "aliases", "customAliases":
			var in map[string]alias
			if err := decode(v, &in); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", key, err)
			}
			for _, name := range slices.Sorted(maps.Keys(in)) {
				warnings = append(warnings, in[name].ModelConfig.clean(key+"."+name)...)
				if key == "aliases" && settings["customAliases"] != nil {
					if custom, ok := settings["customAliases"].(map[string]any); ok && custom[name] != nil {
						continue // the user's own wins
					}
				}
				set.aliases[name] = in[name]
			}
		case "overrides", "customOverrides":
			var in []override
			if err := decode(v, &in); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", key, err)
			}
			for i, o := range in {
				warnings = append(warnings, o.ModelConfig.clean(fmt.Sprintf("%s[%d]", key, i))...)
			}
			if key == "overrides" {
				in = append(in, set.overrides...)
				set.overrides = in
				continue
			}
			set.overrides = append(set.overrides, in...)
		case "modelDefinitions", "modelIdResolutions", "classifierIdResolutions", "modelChains":
			// Gemini CLI's own tables of models.
		default:
			warnings = append(warnings, fmt.Sprintf("modelConfigs.%s is not known", key))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set.aliases)) {
		r, err := set.Resolve(name, Chat)
		if err != nil {
			return nil, nil, err
		}
		if _, err := r.Config(); err != nil {
			return nil, nil, fmt.Errorf("alias %q: %w", name, err)
		}
	}
	for i, o := range set.overrides {
		if _, err := (Resolved{Params: o.ModelConfig.Config}).Config(); err != nil {
			return nil, nil, fmt.Errorf("override %d: %w", i+1, err)
		}
	}
	return set, warnings, nil
}

// clean takes out what settings may not give and says so.
func (c modelConfig) clean(where string) (warnings []string) {
	for _, key := range slices.Sorted(maps.Keys(c.Config)) {
		if !parameters[key] {
			delete(c.Config, key)
			warnings = append(warnings, fmt.Sprintf("modelConfigs.%s: %q cannot be set here", where, key))
		}
	}
	return warnings
}

func decode(v, out any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return sayType(dec.Decode(out))
}

// sayType words an error of encoding/json for who wrote the settings.
func sayType(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s must not be a %s", wrong.Field, wrong.Value)
	}
	return err
}

// Resolved is a model and the parameters to ask it with.
type Resolved struct {
	Model  string
	Params map[string]any // members of generateContentConfig
}

// Config returns the parameters as the SDK has them.
func (r Resolved) Config() (*genai.GenerateContentConfig, error) {
	data, err := json.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	var c genai.GenerateContentConfig
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, sayType(err)
	}
	return &c, nil
}

// Resolve returns what a request for scope to the model or alias name is made with.
// A model that is no alias gets the parameters of its kind.
//
// Overrides count in this order, the later ones winning: those that fit the model or
// everything, then those that fit an alias on the way, the root first; among them
// those that ask for less first.
func (s *Set) Resolve(name, scope string) (Resolved, error) {
	aliases := s.all()
	chain := []string{}
	base := name
	if _, ok := aliases[name]; !ok {
		switch m, _ := Lookup(name); {
		case m.Thinking == ThinkingBudget:
			base = "chat-base-2.5"
		case m.Thinking == ThinkingLevel:
			base = "chat-base-3"
		case speaks(name):
			base = "chat-base"
		default:
			base = ""
		}
	}
	for at := base; at != ""; at = aliases[at].Extends {
		if slices.Contains(chain, at) {
			return Resolved{}, fmt.Errorf("alias %q extends itself: %s", at, strings.Join(append(chain, at), " → "))
		}
		if _, ok := aliases[at]; !ok {
			return Resolved{}, fmt.Errorf("alias %q extends %q, which there is none of", chain[len(chain)-1], at)
		}
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	out := Resolved{Params: map[string]any{}}
	if base != name {
		out.Model = name
	}
	for _, at := range chain {
		c := aliases[at].ModelConfig
		if c.Model != "" {
			out.Model = c.Model
		}
		merge(out.Params, c.Config)
	}
	if base != name {
		out.Model = name
		chain = append(chain, name)
	}
	if s != nil {
		s.override(&out, chain, scope)
	}
	out.fit()
	return out, nil
}

// speaks reports whether a name is a Gemini model's that holds conversations and
// streams its thoughts: those from 2.5 on, whatever they will be called.
func speaks(name string) bool {
	version, ok := strings.CutPrefix(name, "gemini-")
	return ok && !strings.HasPrefix(version, "1") && !strings.HasPrefix(version, "2.0") && !strings.Contains(version, "embedding")
}

// fit takes out what the model refuses: it thinks by a budget or by a level, and the
// old ones do not.
func (r *Resolved) fit() {
	thinking, ok := r.Params["thinkingConfig"].(map[string]any)
	if !ok {
		return
	}
	thinking = maps.Clone(thinking)
	switch m, _ := Lookup(r.Model); {
	case m.Thinking == ThinkingBudget:
		delete(thinking, "thinkingLevel")
	case m.Thinking == ThinkingLevel:
		delete(thinking, "thinkingBudget")
	case r.Model != "" && !speaks(r.Model):
		delete(r.Params, "thinkingConfig")
		return
	}
	r.Params["thinkingConfig"] = thinking
}

// override applies the overrides that fit.
func (s *Set) override(out *Resolved, chain []string, scope string) {
	type fit struct{ level, keys int }
	model := out.Model
	var fits []fit
	var found []override
	for _, o := range s.overrides {
		m := o.Match
		f := fit{}
		if m.IsRetry != nil && *m.IsRetry {
			continue // a request is repeated as it was
		}
		if m.Model != nil {
			i := slices.Index(chain, *m.Model)
			if i < 0 && *m.Model != model {
				continue
			}
			f.keys++
			if *m.Model != model {
				f.level = i + 1
			}
		}
		if m.OverrideScope != nil {
			if *m.OverrideScope != scope {
				continue
			}
			f.keys++
		}
		// Stable insertion keeps the order of the settings among equals.
		at := len(found)
		for at > 0 && (fits[at-1].level > f.level || fits[at-1].level == f.level && fits[at-1].keys > f.keys) {
			at--
		}
		fits, found = slices.Insert(fits, at, f), slices.Insert(found, at, o)
	}
	for _, o := range found {
		if o.ModelConfig.Model != "" {
			out.Model = o.ModelConfig.Model
		}
		merge(out.Params, o.ModelConfig.Config)
	}
}

// merge puts the members of src into dst, objects member by member.
func merge(dst, src map[string]any) {
	for k, v := range src {
		from, ok := v.(map[string]any)
		if !ok {
			dst[k] = v
			continue
		}
		to, ok := dst[k].(map[string]any)
		if ok {
			to = maps.Clone(to)
		} else {
			to = map[string]any{}
		}
		merge(to, from)
		dst[k] = to
	}
}
