package agent

import (
	"encoding/json"
	"time"

	"redline/tools"
	"redline/workspace"
)

// Event is something that happened in a session, in the order it happened.
type Event struct {
	SessionID string
	Seq       int64  // 1, 2, 3… in a session, without a gap
	TurnID    string // empty for what belongs to no turn
	Body      Body
}

// Body is what happened. The types of this file are all there are.
type Body interface{ body() }

type (
	// TurnStarted opens a turn.
	TurnStarted struct{}
	// TurnEnded closes a turn: the session is idle again.
	TurnEnded struct {
		Status Status
		Err    error // why it failed or was stopped; nil when completed
		Usage  Usage // of the turn
		// Finish is why the model's last answer ended, in the API's word; empty when
		// there was none, or it broke off.
		Finish string
	}
	// UserMessage is a prompt as it went to the model.
	UserMessage struct{ MessageID, Text string }
	// MessageDelta is a piece of the answer.
	MessageDelta struct{ MessageID, Text string }
	// ThoughtDelta is a piece of the model's reasoning; it is shown, never kept.
	ThoughtDelta struct{ MessageID, Text, Subject string }
	// ToolUpdated tells how far a call has come. Each one replaces the one before.
	ToolUpdated struct {
		CallID, Name, Title string
		Kind                tools.Kind
		Status              CallStatus
		Locations           []tools.Location
		Input               json.RawMessage // the arguments as the model gave them, long strings shortened
		Output              string          // what the model is told
		Display             string          // Markdown for the user
	}
	// ToolOutput is a piece of what a running command prints.
	ToolOutput struct{ CallID, Text string }
	// ProposalUpdated carries a copy of a proposal whenever it changed.
	ProposalUpdated struct{ Proposal *workspace.Proposal }
	// UsageUpdated carries the tokens used by the session so far.
	UsageUpdated struct {
		Usage Usage
		// Context is how many tokens the conversation has by now, of the Window that
		// the model can read; 0: not known.
		Context, Window int
	}
	// Retry says that a request failed and when it is tried again.
	Retry struct {
		Attempt int
		Delay   time.Duration
		Reason  string
	}
	// ModelChanged says that the session goes on with another model than was chosen.
	ModelChanged struct{ Model, Reason string }
	// LoopDetected says that the model went round in circles and was stopped.
	LoopDetected struct{ Kind string }
	// Compressed says that a summary took the place of the older part of the
	// conversation. Both counts are in tokens.
	Compressed struct {
		Before, After int
		Auto          bool // nobody asked for it
	}
	// PlanUpdated carries the model's plan; each one replaces the one before.
	PlanUpdated struct{ Entries []tools.PlanEntry }
	// Notice is something the user should know.
	Notice struct{ Level, Text string } // level: info, warning, error
)

func (TurnStarted) body()     {}
func (TurnEnded) body()       {}
func (UserMessage) body()     {}
func (MessageDelta) body()    {}
func (ThoughtDelta) body()    {}
func (ToolUpdated) body()     {}
func (ToolOutput) body()      {}
func (ProposalUpdated) body() {}
func (UsageUpdated) body()    {}
func (Retry) body()           {}
func (ModelChanged) body()    {}
func (LoopDetected) body()    {}
func (Compressed) body()      {}
func (PlanUpdated) body()     {}
func (Notice) body()          {}

// Status is how a turn ended.
type Status string

// The ways a turn ends.
const (
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	Failed    Status = "failed"
	Limit     Status = "limit" // the turn or session limit was reached
)

// CallStatus is how far a function call has come.
type CallStatus string

// The states of a function call.
const (
	CallPending    CallStatus = "pending"
	CallConfirming CallStatus = "confirming"
	CallRunning    CallStatus = "running"
	CallCompleted  CallStatus = "completed"
	CallFailed     CallStatus = "failed"
	CallRejected   CallStatus = "rejected"
	CallCancelled  CallStatus = "cancelled"
)
