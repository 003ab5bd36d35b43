package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/tools"
	"redline/tools/shell"
	"redline/workspace"
)

// call is one function call of a step on its way to its response.
type call struct {
	id string // ours, unique in the session
	fc model.FunctionCall
	// input is fc.Args, fit to be shown.
	input json.RawMessage
	kind  tools.Kind

	title     string
	locations []tools.Location

	// The response: exactly one of output and err is given to the model.
	output  string
	err     error
	status  CallStatus
	media   []tools.Media
	display string
	ran     *shell.Result // how a command ended, when it ran

	change   *tools.Change // staged, waiting for the verdict
	reviewed bool          // the verdict is there
	maySave  bool          // of a command: the user agreed to saving what is unsaved
	guarded  guarded       // what the user's rules say of it
	answered bool          // the response said that it is staged; the verdict is told later
}

// runCalls runs the functions of one step and returns one response for each, in
// the order of the calls. Calls that only read run side by side; edits are staged
// one after the other, each on the one before, and reviewed together at the end, or
// before a call that needs them in place.
func (s *Session) runCalls(ctx context.Context, t *turn, fcs []model.FunctionCall) []model.Part {
	calls := s.newCalls(t, fcs)
	s.lookFor(ctx, calls)
	view := s.viewOf(t)
	for i := 0; i < len(calls); {
		j := i + 1
		if isReading(calls[i].kind) {
			for j < len(calls) && isReading(calls[j].kind) {
				j++
			}
		}
		effect := s.needsDisk(calls[i])
		if effect {
			s.review(ctx, t, view, calls[:i])
			s.refresh(ctx, nil)
			view = s.newView()
		}
		var wg sync.WaitGroup
		for _, c := range calls[i:j] {
			if err := s.guard(ctx, t, view, c); err != nil {
				s.finish(t, c, "", err)
				continue
			}
			wg.Go(func() { s.runCall(ctx, t, view, c) })
		}
		wg.Wait()
		if effect {
			s.review(ctx, t, view, calls[:j]) // an edit that is to be reviewed by itself
			s.lookFor(ctx, calls[j:])
			view = s.newView() // the command may have changed anything
		}
		i = j
	}
	s.closeOnce()
	if s.reviewsAtTurn() {
		s.keep(t, view, calls)
	} else {
		s.review(ctx, t, view, calls)
	}

	var parts []model.Part
	for _, c := range calls {
		parts = append(parts, response(c)...)
	}
	return append(parts, s.instructionsFor(t, placesOf(calls))...)
}

// newCalls takes note of the calls of a step and shows them.
func (s *Session) newCalls(t *turn, fcs []model.FunctionCall) []*call {
	calls := make([]*call, len(fcs))
	for i, fc := range fcs {
		s.calls++
		c := &call{id: fmt.Sprintf("%s.c%d", s.id, s.calls), fc: fc, input: shownInput(fc.Args), kind: tools.KindOther, title: fc.Name, status: CallPending}
		if tool, err := s.opt.Tools.Lookup(fc.Name); err == nil {
			c.kind = tool.Spec().Kind
		}
		calls[i] = c
		s.update(t, c)
	}
	return calls
}

func isReading(k tools.Kind) bool { return k == tools.KindRead || k == tools.KindSearch }

// inPlan reports whether a tool changes nothing, so that plan mode offers it.
func inPlan(k tools.Kind) bool { return isReading(k) || k == tools.KindFetch || k == tools.KindThink }

// needsDisk reports whether what the call does may depend on the edits before it
// being in place: commands and tools of others see no staged text.
func (s *Session) needsDisk(c *call) bool {
	_, err := s.opt.Tools.Lookup(c.fc.Name)
	return err == nil && (c.kind == tools.KindExecute || c.kind == tools.KindOther)
}

// runCall prepares and runs one call. An edit ends up staged; everything else has
// its response when runCall returns.
func (s *Session) runCall(ctx context.Context, t *turn, view *workspace.View, c *call) {
	defer func() {
		if r := recover(); r != nil {
			s.finish(t, c, "", fmt.Errorf("the tool crashed: %v", r))
			s.emit(t.id, Notice{"error", fmt.Sprintf("Tool %s crashed: %v\n%s", c.fc.Name, r, debug.Stack())})
		}
	}()
	if ctx.Err() != nil {
		s.finish(t, c, "", context.Cause(ctx))
		return
	}
	prepared, err := s.opt.Tools.Prepare(view, c.fc.Name, c.fc.Args)
	if err != nil {
		s.finish(t, c, "", err)
		return
	}
	c.title, c.locations = prepared.Title, prepared.Locations
	if mode, _ := s.settings(); mode == ModePlan && !inPlan(c.kind) {
		c.status = CallRejected
		s.finish(t, c, "", errPlan)
		return
	}
	permission := prepared.Permission
	if permission == nil && c.guarded.ask != "" && c.kind != tools.KindExecute && c.kind != tools.KindEdit {
		permission = &tools.Permission{Subject: "tool", Keys: []string{c.fc.Name}}
	}
	if permission != nil {
		if err := s.permit(ctx, t, c, permission); err != nil {
			s.finish(t, c, "", err)
			return
		}
	}
	if c.kind != tools.KindExecute { // a command runs once it is approved
		c.status = CallRunning
		s.update(t, c)
	}
	run := prepared.Run
	if prepared.RunCorrected != nil && s.opt.CorrectEdits {
		run = func(ctx context.Context) (*tools.Result, error) {
			return prepared.RunCorrected(ctx, corrector{s, t, view})
		}
	}
	if prepared.RunWeb != nil {
		run = func(ctx context.Context) (*tools.Result, error) { return prepared.RunWeb(ctx, grounder{s, t}) }
	}
	result, err := run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		s.finish(t, c, "", err)
		return
	}
	c.media, c.display = result.Media, result.Display
	if result.Plan != nil {
		s.emit(t.id, PlanUpdated{result.Plan})
	}
	if result.Command != nil {
		s.runCommand(ctx, t, c, result.Command)
		return
	}
	if result.Change == nil {
		s.finish(t, c, result.Text, nil)
		return
	}
	if err := result.Change.Stage(view, c.id); err != nil {
		s.finish(t, c, "", err)
		return
	}
	c.change, c.status = result.Change, CallConfirming
	s.update(t, c)
}

// finish gives a call its response and shows it.
func (s *Session) finish(t *turn, c *call, output string, err error) {
	c.output, c.err = s.shorten(output, maxResult, false), err
	if c.kind == tools.KindExecute && c.status == CallRunning {
		s.ranCommand(c.title)
	}
	if err != nil && len(err.Error()) > maxResult {
		c.err = errors.New(s.shorten(err.Error(), maxResult, false))
	}
	switch {
	case c.status == CallRejected || c.status == CallCancelled:
	case errors.Is(err, errCancelled) || errors.Is(err, context.Canceled):
		c.status = CallCancelled
	case err != nil:
		c.status = CallFailed
	default:
		c.status = CallCompleted
	}
	s.update(t, c)
}

// update shows how far c has come.
func (s *Session) update(t *turn, c *call) {
	out := c.output
	if c.err != nil {
		out = c.err.Error()
	}
	s.emit(t.id, ToolUpdated{
		CallID: c.id, Name: c.fc.Name, Title: c.title, Kind: c.kind, Status: c.status,
		Locations: c.locations, Input: c.input, Output: out, Display: c.display,
	})
}

// response returns the parts that answer c: the function response, and beside it
// the media, which the API takes only as parts of their own.
func response(c *call) []model.Part {
	body := map[string]any{"output": c.output}
	if c.err != nil {
		body = map[string]any{"error": c.err.Error()}
	}
	parts := []model.Part{model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.fc.ID, Name: c.fc.Name, Response: body}})}
	if c.err != nil {
		return parts
	}
	for _, m := range c.media {
		if strings.HasPrefix(m.MIMEType, "image/svg") {
			// The API refuses the whole request for an image type it does not know.
			parts = append(parts, model.Text(string(m.Data)))
			continue
		}
		parts = append(parts, model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: m.MIMEType, Data: m.Data}}))
	}
	return parts
}
