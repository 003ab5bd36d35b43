package telemetry

import (
	"redline/agent"
	"redline/agent/record"
	"redline/workspace"
)

// Exchange tells of an exchange with the model.
func (l *Log) Exchange(x record.Line) {
	if l == nil {
		return
	}
	a := map[string]any{"auth_type": l.opt.AuthType, "method": x.Method, "exchange": x.N}
	switch {
	case x.Kind == record.KindRequest:
		if x.Request != nil {
			a["model"], a["prompt_id"], a["contents"] = x.Request.Model, x.Request.PromptID, len(x.Request.Contents)
			if n := len(x.Request.Contents); l.opt.LogPrompts && n > 0 {
				a["request_text"] = x.Request.Contents[n-1].Text()
			}
		}
		l.Add("api_request", a)
	case x.Error != nil:
		a["duration_ms"], a["error_type"] = x.DurationMS, x.Error.Kind
		if x.Error.Status != 0 {
			a["status_code"] = x.Error.Status
		}
		// The service's text can quote the prompt.
		if l.opt.LogPrompts {
			a["error"] = x.Error.Message
		}
		l.Add("api_error", a)
	default:
		a["duration_ms"], a["status_code"] = x.DurationMS, 200
		text := ""
		for _, c := range x.Chunks {
			if c.FinishReason != "" {
				a["finish_reason"] = string(c.FinishReason)
			}
			if c.ModelVersion != "" {
				a["model"] = c.ModelVersion
			}
			if u := c.Usage; u != nil {
				a["input_token_count"], a["output_token_count"] = int(u.PromptTokenCount), int(u.CandidatesTokenCount)
				a["cached_content_token_count"], a["thoughts_token_count"], a["total_token_count"] = int(u.CachedContentTokenCount), int(u.ThoughtsTokenCount), int(u.TotalTokenCount)
			}
			for _, p := range c.Parts {
				if v := p.Value(); !v.Thought {
					text += v.Text
				}
			}
		}
		if l.opt.LogPrompts {
			a["response_text"] = text
		}
		l.Add("api_response", a)
	}
}

// Session tells of what happens in sessions: prompts, tool calls, edits proposed and
// settled, turns.
func (l *Log) Session(ev agent.Event) {
	if l == nil {
		return
	}
	a := map[string]any{"session.id": ev.SessionID, "prompt_id": ev.TurnID}
	switch b := ev.Body.(type) {
	case agent.UserMessage:
		a["prompt_length"] = len(b.Text)
		if l.opt.LogPrompts {
			a["prompt"] = b.Text
		}
		l.Add("user_prompt", a)
	case agent.ToolUpdated:
		switch b.Status {
		case agent.CallCompleted, agent.CallFailed, agent.CallRejected, agent.CallCancelled:
		default:
			return
		}
		a["function_name"], a["kind"], a["status"], a["success"] = b.Name, string(b.Kind), string(b.Status), b.Status == agent.CallCompleted
		a["output_length"] = len(b.Output)
		if l.opt.LogPrompts {
			a["function_args"], a["output"] = string(b.Input), b.Output
		}
		l.Add("tool_call", a)
	case agent.ProposalUpdated:
		l.proposal(a, b.Proposal)
	case agent.TurnEnded:
		a["status"], a["total_token_count"], a["requests"] = string(b.Status), b.Usage.Total, b.Usage.Requests
		l.Add("turn_ended", a)
	}
}

// proposal tells of an edit twice: when it is proposed, and when it is settled.
func (l *Log) proposal(a map[string]any, p *workspace.Proposal) {
	name := ""
	switch p.State {
	case workspace.Open:
		name = "edit_proposed"
	case workspace.Settled, workspace.Conflict, workspace.Withdrawn, workspace.Reverted:
		name = "edit_settled"
	default:
		return
	}
	if !l.first(p.ID + "/" + name + "/" + string(p.State)) {
		return
	}
	states := map[workspace.HunkState]int{}
	for h := range p.Hunks() {
		states[h.State]++
	}
	a["proposal_id"], a["state"], a["files"] = p.ID, string(p.State), len(p.Files)
	for s, n := range states {
		a["hunks_"+s.String()] = n
	}
	l.Add(name, a)
}
