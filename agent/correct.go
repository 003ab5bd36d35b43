package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"redline/agent/model"
	"redline/tools"
	"redline/workspace"
)

// correctTime is how long the correction of an edit may take, retries included: a
// refusal costs one step, so waiting longer is no gain.
const correctTime = 40 * time.Second

//go:embed correct.md
var correctPrompt string

var correctSchema = json.RawMessage(`{"type":"object","properties":{"found":{"type":"boolean"},"old_string":{"type":"string"},"new_string":{"type":"string"},"reason":{"type":"string"}},"required":["found","old_string","new_string","reason"]}`)

// corrector has a small model correct an edit of the running turn.
type corrector struct {
	s    *Session
	t    *turn
	view *workspace.View
}

// Correct implements [tools.Corrector]. When it returns, the view shows what the
// user has typed meanwhile.
func (c corrector) Correct(ctx context.Context, r tools.Refused) (tools.Corrected, error) {
	if r.Purpose == "" {
		r.Purpose = c.s.history.lastSaid()
	}
	ctx, cancel := context.WithTimeout(ctx, correctTime)
	defer cancel()
	var ans struct {
		Found  bool   `json:"found"`
		Old    string `json:"old_string"`
		New    string `json:"new_string"`
		Reason string `json:"reason"`
	}
	err := c.s.utility(ctx, c.t, correctPrompt, correctQuestion(r), correctSchema, &ans)
	c.view.Move(c.s.opt.Workspace.Snapshot())
	if err != nil {
		return tools.Corrected{}, fmt.Errorf("correct the edit of %s: %w", r.Path, err)
	}
	return tools.Corrected(ans), nil
}

// correctQuestion words the question. It depends on nothing but r, so that the same
// question is the same text.
func correctQuestion(r tools.Refused) string {
	var b strings.Builder
	part := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "<%s>\n%s\n</%[1]s>\n\n", title, text)
		}
	}
	fmt.Fprintf(&b, "The file is %s. old_string must occur in it %d times.\n\n", r.Path, r.Expected)
	part("purpose_of_the_edit", r.Purpose)
	part("old_string", r.Old)
	part("new_string", r.New)
	part("why_it_was_refused", r.Problem)
	part("text_of_the_file", r.Text)
	return strings.TrimSuffix(b.String(), "\n")
}

// lastSaid returns the text of the model's last message, shortened: what it says
// before it calls a function is why.
func (h *History) lastSaid() string {
	const limit = 2000
	for i := len(h.contents) - 1; i >= 0; i-- {
		if h.contents[i].Role != model.RoleModel {
			continue
		}
		text := h.contents[i].Text()
		if len(text) > limit {
			text = strings.ToValidUTF8(text[len(text)-limit:], "")
		}
		return text
	}
	return ""
}
