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

	"redline/agent/models"
	"redline/workspace"
)

//go:embed prompt.md
var systemPrompt string

// planPrompt is added to the system prompt in plan mode.
const planPrompt = `
# Plan mode
You cannot change anything now. Explore, then give the user a plan: what would change, where, and why.
`

// configs is what goes with the requests of one turn, by mode and model. They are
// made once, so that the beginning of the requests is the same from step to step, byte
// for byte, and the provider's cache of the prefix hits: tools that come or go
// meanwhile count from the next turn on.
type configs map[configKey]prepared

// prepared is the model that a name stands for and all of a request to it that is not
// the conversation.
type prepared struct {
	model  string
	config *genai.GenerateContentConfig
}

type configKey struct {
	mode  Mode
	model string
}

// prepared returns what goes with every request of a turn.
func (s *Session) prepared(t *turn, mode Mode, modelName string) prepared {
	key := configKey{mode, modelName}
	p, ok := t.configs[key]
	if !ok {
		if t.configs == nil {
			t.configs = configs{}
		}
		p = s.prepare(t, mode, modelName)
		t.configs[key] = p
	}
	return p
}

func (s *Session) prepare(t *turn, mode Mode, modelName string) prepared {
	text := systemPrompt
	if mode == ModePlan {
		text += planPrompt
	}
	text += t.instructions
	name, c := s.resolve(modelName, models.Chat)
	c.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: text}}}
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
	return prepared{name, c}
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
	if untitled := s.Untitled(); len(untitled) > 0 {
		fmt.Fprintf(&b, "Documents open in the editor that were never saved; read_file, replace and write_file take these names: %s\n", strings.Join(untitled[:min(len(untitled), 50)], ", "))
	}
	if outline := tree(ctx, s); outline != "" {
		fmt.Fprintf(&b, "The workspace, up to %d entries, ignored ones left out:\n%s", maxTree, outline)
	}
	return b.String()
}
