package agent

import (
	"strings"

	"redline/agent/model"
	"redline/workspace"
)

// Message is what the user sends: text, and what it is about.
type Message struct {
	Text    string
	Context []ContextItem
}

// ContextItem is something the user attached to a prompt.
type ContextItem struct {
	Kind     string // one of ContextKinds
	Path     string // absolute, when it is about a file
	URI      string // when it is about something that is no file
	FromLine int    // 1-based; 0 when it is not about lines
	ToLine   int
	Text     string
	MIMEType string
	Data     []byte
}

func (m Message) empty() bool {
	return strings.TrimSpace(m.Text) == "" && len(m.Context) == 0
}

// places returns the files that the message is about.
func (m Message) places(v *workspace.View) []string {
	out, _ := mentioned(v, m.Text, func(string) (string, bool) { return "", false })
	for _, c := range m.Context {
		out = append(out, c.Path)
	}
	return out
}

// parts returns the message as the model gets it.
func (m Message) parts(s *workspace.Snapshot) []model.Part {
	parts := []model.Part{}
	if strings.TrimSpace(m.Text) != "" {
		parts = append(parts, model.Text(m.Text))
	}
	for _, c := range m.Context {
		parts = append(parts, c.part(s))
	}
	return parts
}
