package agent

import (
	"fmt"
	"strings"

	"google.golang.org/genai"

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
	Kind     string // selection, file, symbol, diagnostics, diff, terminal, url, image, text
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

// parts returns the message as the model gets it.
func (m Message) parts(s *workspace.Snapshot) []model.Part {
	parts := []model.Part{}
	if strings.TrimSpace(m.Text) != "" {
		parts = append(parts, model.Text(m.Text))
	}
	for _, c := range m.Context {
		if len(c.Data) > 0 && c.MIMEType != "" {
			parts = append(parts, model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: c.MIMEType, Data: c.Data}}))
			continue
		}
		where := c.URI
		if c.Path != "" {
			where = s.Rel(c.Path)
		}
		if c.FromLine > 0 {
			where += fmt.Sprintf(", lines %d-%d", c.FromLine, max(c.FromLine, c.ToLine))
		}
		text := fmt.Sprintf("[%s %s]", c.Kind, where)
		if c.Text != "" {
			fence := "```"
			for strings.Contains(c.Text, fence) {
				fence += "`"
			}
			text += "\n" + fence + "\n" + strings.TrimSuffix(c.Text, "\n") + "\n" + fence
		}
		parts = append(parts, model.Text(text))
	}
	return parts
}
