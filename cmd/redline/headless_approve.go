package main

import (
	"context"
	"fmt"

	"redline/agent"
)

// Approve implements [agent.Approver]: with nobody to ask, what needs consent is
// not done. In yolo mode nothing is asked.
func (r *headless) Approve(context.Context, agent.Approval) (agent.Answer, error) {
	return agent.Answer{Reason: fmt.Sprintf("this was not done: it needs consent, this run has no user to ask, and its mode is %q; "+
		"go on without it, and tell the user to run with --mode yolo, or in an editor, if it is needed", r.mode)}, nil
}
