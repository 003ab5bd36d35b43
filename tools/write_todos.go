package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redline/workspace"
)

// PlanEntry is one step of what the model means to do.
type PlanEntry struct {
	Content string
	Status  string // pending, in_progress, completed or cancelled
}

// Bounds of a plan: it is there to be taken in at a glance.
const (
	maxPlan      = 50
	maxPlanEntry = 300 // bytes
)

// WriteTodos is the tool write_todos: it shows the user the model's plan, and where it
// stands. Name, parameters and states are Gemini CLI's.
var WriteTodos = define(Spec{
	Name:        "write_todos",
	DisplayName: "Plan",
	Kind:        KindThink,
	Description: `Shows the user your plan for a task of several steps and how far it has come. Give the whole list each time; at most one entry is in_progress. ` +
		`Update it when a step begins or ends. Not for tasks of one or two steps.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"todos":{"type":"array","items":{"type":"object","properties":{
"description":{"type":"string"},
"status":{"type":"string","enum":["pending","in_progress","completed","cancelled"]}},
"required":["description","status"]}}},
"required":["todos"]}`),
}, func(_ *workspace.View, p writeTodosParams) (*Call, error) {
	if len(p.Todos) > maxPlan {
		return nil, fmt.Errorf("the plan has %d entries; at most %d are shown, so join those that belong together", len(p.Todos), maxPlan)
	}
	plan := make([]PlanEntry, 0, len(p.Todos))
	now, done := "", 0
	for i, t := range p.Todos {
		text := strings.Join(strings.Fields(t.Description), " ")
		switch {
		case text == "":
			return nil, fmt.Errorf("the description of entry %d is empty", i+1)
		case len(text) > maxPlanEntry:
			return nil, fmt.Errorf("the description of entry %d has more than %d bytes; say it in a line", i+1, maxPlanEntry)
		case t.Status == "in_progress" && now != "":
			return nil, errors.New("more than one entry is in_progress; one at a time")
		case t.Status == "in_progress":
			now = text
		case t.Status == "completed" || t.Status == "cancelled":
			done++
		}
		plan = append(plan, PlanEntry{text, t.Status})
	}
	title := fmt.Sprintf("Plan: %d of %d done", done, len(plan))
	if len(plan) == 0 {
		title = "Plan: cleared"
	} else if now != "" {
		title += ", now: " + now
	}
	return &Call{
		Title: title,
		Run: func(context.Context) (*Result, error) {
			return &Result{Text: "The user sees the plan.", Display: title, Plan: plan}, nil
		},
	}, nil
})

type writeTodosParams struct {
	Todos []struct {
		Description string `json:"description"`
		Status      string `json:"status"`
	} `json:"todos"`
}
