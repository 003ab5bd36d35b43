package main

import (
	"context"
	"fmt"

	"redline/agent"
)

// Approve implements [agent.Approver]: with nobody to ask, what needs consent is
// not done. In yolo mode only what a rule, or the list of sensitive files, says is asked.
func (r *headless) Approve(_ context.Context, a agent.Approval) (agent.Answer, error) {
	how := "run with --mode yolo, or in an editor,"
	if a.Unasked != "" {
		how = a.Unasked + ", or run in an editor,"
	}
	return agent.Answer{Reason: fmt.Sprintf("this was not done: it needs consent, this run has no user to ask, and its mode is %q; "+
		"go on without it, and tell the user to %s if it is needed", r.mode, how)}, nil
}
