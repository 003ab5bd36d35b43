package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"redline/tools/web"
	"redline/workspace"
)

// Registry holds the tools a session offers. It is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	tools map[string]*entry
	order []string

	core, exclude []string // see Filter; set before the registry is shared
}

type entry struct {
	Tool
	compile func() (*schema, error) // once: most tools are never called
}

// schema is a tool's parameter schema, ready to check arguments.
type schema struct {
	resolved *jsonschema.Resolved
	types    map[string]string // type of each parameter, "" when it has several
	least    map[string]*float64
	required []string
}

// NewRegistry returns a registry of the given tools.
func NewRegistry(ts ...Tool) *Registry {
	r := &Registry{tools: map[string]*entry{}}
	for _, t := range ts {
		r.Add(t)
	}
	return r
}

// Builtin returns the built-in tools in the order the model sees them.
func Builtin() []Tool {
	return []Tool{ListDirectory, ReadFile, ReadManyFiles, Glob, GrepSearch, Replace, WriteFile, RunShellCommand, WebFetch(web.Options{}), GoogleWebSearch, WriteTodos}
}

// Add registers t; a tool of the same name is replaced.
func (r *Registry) Add(t Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := t.Spec().Name
	if _, ok := r.tools[name]; !ok {
		r.order = append(r.order, name)
	}
	r.tools[name] = &entry{t, sync.OnceValues(func() (*schema, error) { return compile(t.Spec()) })}
}

// Remove takes tools out; names that are not there are ignored.
func (r *Registry) Remove(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		delete(r.tools, n)
		r.order = slices.DeleteFunc(r.order, func(o string) bool { return o == n })
	}
}

// All returns the tools in the order they were added.
func (r *Registry) All() []Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]Tool, len(r.order))
	for i, n := range r.order {
		out[i] = r.tools[n].Tool
	}
	return out
}

// Lookup returns the tool with the given name; the error names those there are.
func (r *Registry) Lookup(name string) (Tool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.tools[name]; ok {
		return e.Tool, nil
	}
	return nil, fmt.Errorf("tool %q does not exist; the tools are: %s", name, strings.Join(r.order, ", "))
}

// Prepare checks the arguments of a call and prepares it. Aliases are replaced and
// values that are plainly meant (such as "10" for an integer) are converted first.
func (r *Registry) Prepare(v *workspace.View, name string, args json.RawMessage) (*Call, error) {
	t, err := r.Lookup(name)
	if err != nil {
		return nil, err
	}
	r.mu.RLock()
	e := r.tools[name]
	r.mu.RUnlock()
	if e == nil {
		return nil, fmt.Errorf("tool %q has just gone", name)
	}
	s, err := e.compile()
	if err != nil && t.Spec().Lenient {
		return t.Prepare(v, args)
	}
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", name, err)
	}
	args, err = s.check(t.Spec(), args)
	if err != nil {
		return nil, fmt.Errorf("invalid parameters for %s: %w", name, err)
	}
	return t.Prepare(v, args)
}

func compile(spec *Spec) (*schema, error) {
	var js jsonschema.Schema
	if err := json.Unmarshal(spec.Schema, &js); err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	resolved, err := js.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	s := &schema{resolved: resolved, types: map[string]string{}, least: map[string]*float64{}, required: js.Required}
	for name, p := range js.Properties {
		s.types[name], s.least[name] = p.Type, p.Minimum
	}
	return s, nil
}

// check returns the arguments as the schema names and types them. Numbers keep
// their digits. The first problem of each parameter is reported, all together.
func (s *schema) check(spec *Spec, args json.RawMessage) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	out := make(map[string]json.RawMessage, len(in))
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value, target := in[name], name
		if _, known := s.types[name]; !known {
			alias, ok := spec.Aliases[name]
			if !ok && spec.Lenient {
				out[name] = value
				continue
			}
			if !ok {
				problems = append(problems, fmt.Sprintf("there is no parameter %q (the parameters are: %s)", name, strings.Join(slices.Sorted(maps.Keys(s.types)), ", ")))
				continue
			}
			if target = alias; target == "" {
				continue
			}
			if _, both := in[target]; both {
				continue // the real name wins
			}
		}
		if string(value) == "null" && !slices.Contains(s.required, target) {
			continue // models write null for "left out"
		}
		out[target] = convert(value, s.types[target])
	}
	for _, name := range s.required {
		if _, ok := out[name]; !ok {
			problems = append(problems, fmt.Sprintf("parameter %q is missing", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if want := s.types[name]; want != "" && !isType(out[name], want) {
			problems = append(problems, fmt.Sprintf("parameter %q must be %s %s, not %s", name, article(want), want, short(out[name])))
			continue
		}
		if least := s.least[name]; least != nil {
			if f, err := strconv.ParseFloat(string(out[name]), 64); err == nil && f < *least {
				problems = append(problems, fmt.Sprintf("parameter %q must be at least %v, not %s", name, *least, short(out[name])))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	var instance any
	if err := json.Unmarshal(data, &instance); err != nil {
		return nil, err
	}
	if err := s.resolved.Validate(instance); err != nil {
		return nil, err
	}
	return data, nil
}

// convert turns a value that models commonly mistype into the wanted type; other
// values are returned as they are.
func convert(v json.RawMessage, want string) json.RawMessage {
	var str string
	isString := len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &str) == nil
	switch want {
	case "integer":
		t := string(v)
		if isString {
			t = strings.TrimSpace(str)
		}
		if _, err := strconv.ParseInt(t, 10, 64); err == nil {
			return json.RawMessage(t)
		}
		if f, err := strconv.ParseFloat(t, 64); err == nil && f == float64(int64(f)) {
			return json.RawMessage(strconv.FormatInt(int64(f), 10))
		}
	case "boolean":
		if isString {
			switch strings.ToLower(strings.TrimSpace(str)) {
			case "true":
				return json.RawMessage("true")
			case "false":
				return json.RawMessage("false")
			}
		}
	case "array":
		if isString {
			b, _ := json.Marshal([]string{str})
			return b
		}
	}
	return v
}

func isType(v json.RawMessage, want string) bool {
	if len(v) == 0 {
		return false
	}
	switch want {
	case "string":
		return v[0] == '"'
	case "boolean":
		return v[0] == 't' || v[0] == 'f'
	case "array":
		return v[0] == '['
	case "object":
		return v[0] == '{'
	case "integer":
		_, err := strconv.ParseInt(string(v), 10, 64)
		return err == nil
	case "number":
		_, err := strconv.ParseFloat(string(v), 64)
		return err == nil
	}
	return true
}

func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an"
	}
	return "a"
}

// short returns a JSON value for an error message.
func short(v json.RawMessage) string {
	s := string(v)
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}
