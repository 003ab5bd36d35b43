package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// This file asks the user with a form, where the client shows any: for a text, which the
// protocol's questions for permission have no place for, or for one of several answers.

// forms reports whether the client shows forms.
func (c *clientCapabilities) forms() bool { return c.Elicitation.Form != nil }

// form has the user fill in a text, or choose one of several, the last of which is what
// saying no means. ok is false when they do not want to answer.
func (x *session) form(ctx context.Context, message, title string, choices []string) (answer string, ok bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, x.s.timing.Review, errNoAnswer)
	defer cancel()
	field := formField{Type: "string", Title: title}
	for _, c := range choices {
		field.OneOf = append(field.OneOf, formChoice{c, c})
	}
	var res formResult
	err = x.s.conn.Call(ctx, methodElicit, formParams{
		SessionID: x.id, Mode: "form", Message: message,
		Schema: formSchema{"object", map[string]formField{"answer": field}, []string{"answer"}},
	}, &res)
	switch {
	case err != nil:
		return "", false, err
	case res.Action == "decline" && len(choices) > 0:
		return choices[len(choices)-1], true, nil
	case res.Action == "decline", res.Action == "cancel":
		return "", false, nil
	case res.Action != "accept":
		return "", false, fmt.Errorf("the editor answered %q to a form", res.Action)
	}
	answer, isText := res.Content["answer"].(string)
	if !isText || len(choices) > 0 && !slices.Contains(choices, answer) {
		return "", false, errors.New("the editor answered what the form does not allow")
	}
	answer = strings.TrimSpace(answer)
	return answer, answer != "", nil
}

// The request for a form; the answer is in one field.
type (
	formParams struct {
		SessionID string     `json:"sessionId"`
		Mode      string     `json:"mode"`
		Message   string     `json:"message"`
		Schema    formSchema `json:"requestedSchema"`
	}
	formSchema struct {
		Type       string               `json:"type"`
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required"`
	}
	formField struct {
		Type  string       `json:"type"`
		Title string       `json:"title,omitempty"`
		OneOf []formChoice `json:"oneOf,omitempty"`
	}
	formChoice struct {
		Const string `json:"const"`
		Title string `json:"title"`
	}
	formResult struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
)
