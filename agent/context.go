package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"google.golang.org/genai"

	"redline/workspace"
)

//go:embed prompt.md
var systemPrompt string

// planPrompt is added to the system prompt in plan mode.
const planPrompt = `
# Plan mode
You cannot change anything now. Explore, then give the user a plan: what would change, where, and why.
`

// configs are what goes with the requests of one turn, by mode and model. They are
// made once, so that the beginning of the requests is the same from step to step, byte
// for byte, and the provider's cache of the prefix hits: tools that come or go
// meanwhile count from the next turn on.
type configs map[configKey]*genai.GenerateContentConfig

type configKey struct {
	mode  Mode
	model string
}

// config returns what goes with every request of a turn.
func (s *Session) config(t *turn, mode Mode, modelName string) *genai.GenerateContentConfig {
	key := configKey{mode, modelName}
	if t.configs[key] == nil {
		if t.configs == nil {
			t.configs = configs{}
		}
		t.configs[key] = s.newConfig(t, mode, modelName)
	}
	return t.configs[key]
}

func (s *Session) newConfig(t *turn, mode Mode, modelName string) *genai.GenerateContentConfig {
	text := systemPrompt
	if mode == ModePlan {
		text += planPrompt
	}
	text += t.instructions
	c := &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: text}}},
	}
	var decls []*genai.FunctionDeclaration
	for _, t := range s.opt.Tools.All() {
		spec := t.Spec()
		if mode == ModePlan && !inPlan(spec.Kind) {
			continue
		}
		decls = append(decls, &genai.FunctionDeclaration{
			Name: spec.Name, Description: spec.Description, ParametersJsonSchema: json.RawMessage(spec.Schema),
		})
	}
	if len(decls) > 0 {
		c.Tools = []*genai.Tool{{FunctionDeclarations: decls}}
	}
	if hasThinking(modelName) {
		c.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true}
	}
	return c
}

// hasThinking reports whether a model streams its thoughts: Gemini from 2.5 on.
func hasThinking(name string) bool {
	for _, old := range []string{"gemini-1", "gemini-2.0"} {
		if strings.HasPrefix(name, old) {
			return false
		}
	}
	return strings.HasPrefix(name, "gemini-") && !strings.Contains(name, "embedding")
}

// environment returns what the model is told once, at the start of a session.
func environment(ctx context.Context, s *workspace.Snapshot, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Environment of this session:\nToday's date: %s. Operating system: %s.\n", now.Format("Monday, 2 January 2006"), runtime.GOOS)
	if folders := s.Folders(); len(folders) == 0 {
		b.WriteString("No folder is open.\n")
	} else {
		fmt.Fprintf(&b, "Workspace root: %s\n", strings.Join(folders, ", "))
	}
	var open []string
	for _, d := range s.Documents() {
		if d.Path != "" {
			open = append(open, s.Rel(d.Path))
		}
	}
	if len(open) > 0 {
		fmt.Fprintf(&b, "Files open in the editor: %s\n", strings.Join(open[:min(len(open), 50)], ", "))
	}
	if outline := tree(ctx, s); outline != "" {
		fmt.Fprintf(&b, "The workspace, up to %d entries, ignored ones left out:\n%s", maxTree, outline)
	}
	return b.String()
}
