package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"redline/tools"
	"redline/tools/shell"
	"redline/workspace"
)

// maxName is the longest name of a function that the API takes.
const maxName = 63

// maxDescription bounds what a command may put into every request, in bytes.
const maxDescription = 2000

// tool is a discovered tool.
type tool struct {
	spec tools.Spec
	name string // as the command calls it
	opt  Options
}

// newTool makes a tool of a declaration. A name that is taken gets a prefix: what
// was there before is never replaced.
func newTool(c *Command, d declaration, taken map[string]bool) *tool {
	name := functionName(d.Name)
	if taken[name] {
		name = functionName("discovered_tool_" + d.Name)
	}
	for n := 2; taken[name]; n++ {
		name = functionName(fmt.Sprintf("discovered_tool_%s_%d", d.Name, n))
	}
	description := strings.ToValidUTF8(d.Description, "")
	if len(description) > maxDescription {
		description = strings.ToValidUTF8(description[:maxDescription], "") + "…"
	}
	if description == "" {
		description = "A tool of this project."
	}
	return &tool{
		spec: tools.Spec{
			Name: name, DisplayName: d.Name, Kind: tools.KindOther, Description: description, Schema: schema(d), Lenient: true,
		},
		name: d.Name, opt: c.opt,
	}
}

// functionName returns what the model calls a tool: letters, digits, "_", "." and
// "-", with a hash in place of what is too long.
func functionName(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, s)
	if c := name[0]; c >= '0' && c <= '9' || c == '-' || c == '.' {
		name = "_" + name
	}
	if len(name) > maxName {
		h := fnv.New32a()
		_, _ = h.Write([]byte(s)) // never fails
		name = fmt.Sprintf("%s_%08x", name[:maxName-9], h.Sum32())
	}
	return name
}

// schema returns the parameters as a JSON schema of an object, whatever was said.
func schema(d declaration) json.RawMessage {
	const none = `{"type":"object","properties":{}}`
	raw := d.JSONSchema
	if len(raw) == 0 {
		raw = d.Parameters
	}
	var v map[string]any
	if json.Unmarshal(raw, &v) != nil {
		return json.RawMessage(none)
	}
	lowerTypes(v)
	if t, ok := v["type"]; ok && t != "object" {
		return json.RawMessage(none)
	}
	v["type"] = "object"
	if _, ok := v["properties"].(map[string]any); !ok {
		v["properties"] = map[string]any{}
	}
	delete(v, "$schema")
	delete(v, "$id")
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(none)
	}
	return out
}

// lowerTypes writes the types of a schema as JSON schema does: the API's own kind
// has them in capitals.
func lowerTypes(v any) {
	switch v := v.(type) {
	case map[string]any:
		if t, ok := v["type"].(string); ok {
			v["type"] = strings.ToLower(t)
		}
		for k, x := range v {
			if k != "enum" && k != "default" && k != "example" {
				lowerTypes(x)
			}
		}
	case []any:
		for _, x := range v {
			lowerTypes(x)
		}
	}
}

// Spec implements [tools.Tool].
func (t *tool) Spec() *tools.Spec { return &t.spec }

// Prepare implements [tools.Tool].
func (t *tool) Prepare(_ *workspace.View, args json.RawMessage) (*tools.Call, error) {
	var compact bytes.Buffer
	if json.Compact(&compact, args) != nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	title := t.name + " " + compact.String()
	if len(title) > 200 {
		title = strings.ToValidUTF8(title[:200], "") + "…"
	}
	return &tools.Call{
		Title: title,
		Permission: &tools.Permission{
			Subject: "tool", Keys: []string{t.spec.Name},
			Detail: fmt.Sprintf("Tool `%s`, run with\n\n```sh\n%s\n```\n\n```json\n%s\n```", t.name, t.line(), compact.String()),
		},
		Run: func(ctx context.Context) (*tools.Result, error) { return t.call(ctx, compact.Bytes()) },
	}, nil
}

// line is the call command with the tool's name behind it, quoted for bash.
func (t *tool) line() string {
	return t.opt.Call + " '" + strings.ReplaceAll(strings.ReplaceAll(t.name, "\x00", ""), "'", `'\''`) + "'"
}

func (t *tool) call(ctx context.Context, args []byte) (*tools.Result, error) {
	limited, cancel := context.WithTimeout(ctx, t.opt.CallTimeout)
	defer cancel()
	r, err := shell.Run(limited, shell.Command{
		Line: t.line(), Dir: t.opt.Dir, Env: t.opt.Env, Input: args, Apart: true, MaxOutput: maxResult,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, errors.New(report(r, err.Error()))
	case r.Canceled:
		return nil, errors.New(report(r, fmt.Sprintf("ended after %v", t.opt.CallTimeout)))
	case r.ExitCode != 0:
		return nil, errors.New(report(r, ""))
	}
	out := r.Output
	if r.Errors != "" {
		out += "\nStderr: " + r.Errors
	}
	if out == "" {
		out = "(no output)"
	}
	return &tools.Result{Text: out, Display: "exit code 0"}, nil
}

// report tells all there is to tell of a call that failed, in the form that Gemini
// CLI's users and models know.
func report(r shell.Result, problem string) string {
	or := func(s, empty string) string {
		if s = strings.TrimRight(s, "\n"); s == "" {
			return empty
		}
		return s
	}
	code := fmt.Sprint(r.ExitCode)
	if r.ExitCode < 0 {
		code = "(none)"
	}
	return fmt.Sprintf("Stdout: %s\nStderr: %s\nError: %s\nExit Code: %s\nSignal: %s",
		or(r.Output, "(empty)"), or(r.Errors, "(empty)"), or(problem, "(none)"), code, or(r.Signal, "(none)"))
}
