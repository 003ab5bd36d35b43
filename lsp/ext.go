package lsp

import (
	"encoding/json"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/lsp/rpc"
)

// This file is redline's extension of LSP: the methods beyond the standard and
// the shapes they carry. The clients keep a mirror of it
// (editors/vscode/src/ext.ts and the like).

// The methods of the client's requests.
const (
	methodSessionNew       = "agent/session/new"
	methodSessionList      = "agent/session/list"
	methodSessionResume    = "agent/session/resume"
	methodSessionConfigure = "agent/session/configure"
	methodSessionClose     = "agent/session/close"
	methodSessionDelete    = "agent/session/delete"
	methodSessionFork      = "agent/session/fork"
	methodPrompt           = "agent/prompt"
	methodSteer            = "agent/steer"
	methodCancel           = "agent/cancel"
	methodProposalList     = "agent/proposal/list"
	methodProposalGet      = "agent/proposal/get"
	methodProposalResolve  = "agent/proposal/resolve"
	methodProposalRevert   = "agent/proposal/revert"
	methodModelList        = "agent/model/list"
	methodToolList         = "agent/tool/list"
	methodCommandList      = "agent/command/list"
	methodUsageGet         = "agent/usage/get"
)

// methodEvent is the server's notification of everything that happens.
const methodEvent = "agent/event"

// extVersion is the version of this extension.
const extVersion = 1

// serverExt is what the server declares under capabilities.experimental.redline.
type serverExt struct {
	Version    int      `json:"version"`
	MinVersion int      `json:"minVersion"`
	Methods    []string `json:"methods"`
}

// clientExt is what a client that knows us declares under
// capabilities.experimental.redline. Markers are objects; what is absent is not used.
type clientExt struct {
	Version   int              `json:"version"`
	Proposals *proposalsExt    `json:"proposals,omitempty"`
	Approve   *json.RawMessage `json:"approve,omitempty"`
	Ask       *json.RawMessage `json:"ask,omitempty"`
	// Trusted is the editor's own word on whether the user trusts the workspace, as
	// VS Code's workspace trust has it. Without it the user is asked where it matters.
	// When it changes, the editor calls agent/trust/set.
	Trusted *bool     `json:"trusted,omitempty"`
	Editor  editorExt `json:"editor,omitzero"`
}

// editorExt is what the client can tell of what the editor knows: each member is the
// marker for the request editor/NAME.
type editorExt struct {
	Save        *json.RawMessage `json:"save,omitempty"`
	Diagnostics *json.RawMessage `json:"diagnostics,omitempty"`
	Definition  *json.RawMessage `json:"definition,omitempty"`
	References  *json.RawMessage `json:"references,omitempty"`
	Symbols     *json.RawMessage `json:"symbols,omitempty"`
	Hover       *json.RawMessage `json:"hover,omitempty"`
	Rename      *json.RawMessage `json:"rename,omitempty"`
}

// Empty is a request or answer without content.
type Empty struct{}

// SessionNewParams starts a session.
type SessionNewParams struct {
	Folders []uri.URI `json:"folders,omitempty"`
	Mode    string    `json:"mode,omitempty"`
	Model   string    `json:"model,omitempty"`
	// ReviewAt is step or turn: when edits are reviewed. Default: redline.reviewAt.
	ReviewAt string `json:"reviewAt,omitempty"`
}

// SessionParams names a session.
type SessionParams struct {
	SessionID string `json:"sessionId"`
}

// Validate reports what is missing.
func (p *SessionParams) Validate() error { return need("sessionId", p.SessionID) }

// SessionResumeParams asks for the events of a session after a number.
type SessionResumeParams struct {
	SessionID string `json:"sessionId"`
	AfterSeq  int64  `json:"afterSeq,omitempty"`
}

// Validate reports what is missing.
func (p *SessionResumeParams) Validate() error { return need("sessionId", p.SessionID) }

// SessionForkParams copies a session up to a turn.
type SessionForkParams struct {
	SessionID    string `json:"sessionId"`
	BeforeTurnID string `json:"beforeTurnId,omitempty"` // default: all turns that have ended
}

// Validate reports what is missing.
func (p *SessionForkParams) Validate() error { return need("sessionId", p.SessionID) }

// SessionConfigureParams changes a session.
type SessionConfigureParams struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"mode,omitempty"`
	Model     string `json:"model,omitempty"`
	ReviewAt  string `json:"reviewAt,omitempty"` // step or turn
}

// Validate reports what is missing.
func (p *SessionConfigureParams) Validate() error { return need("sessionId", p.SessionID) }

// SessionInfo describes a session. Times are RFC 3339.
type SessionInfo struct {
	SessionID string    `json:"sessionId"`
	Title     string    `json:"title"`
	Folders   []uri.URI `json:"folders"`
	Mode      string    `json:"mode"`
	Model     string    `json:"model"`
	ReviewAt  string    `json:"reviewAt"`
	CreatedAt string    `json:"createdAt"`
	UpdatedAt string    `json:"updatedAt"`
	Turns     int       `json:"turns"`
	LastSeq   int64     `json:"lastSeq"`
	Running   bool      `json:"running"`
}

// SessionList is the answer to agent/session/list.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// PromptParams is a prompt.
type PromptParams struct {
	SessionID    string        `json:"sessionId"`
	Text         string        `json:"text"`
	Context      []ContextItem `json:"context,omitempty"`
	ClientTurnID string        `json:"clientTurnId,omitempty"`
}

// Validate reports what is missing.
func (p *PromptParams) Validate() error { return need("sessionId", p.SessionID) }

// ContextItem is something a prompt is about.
type ContextItem struct {
	Kind     string          `json:"kind"`
	URI      string          `json:"uri,omitempty"`
	Version  *int32          `json:"version,omitempty"`
	Range    *protocol.Range `json:"range,omitempty"`
	Text     string          `json:"text,omitempty"`
	MIMEType string          `json:"mimeType,omitempty"`
	Data     []byte          `json:"data,omitempty"` // base64
}

// SteerParams is a message into the running turn.
type SteerParams struct {
	SessionID string        `json:"sessionId"`
	Text      string        `json:"text"`
	Context   []ContextItem `json:"context,omitempty"`
}

// Validate reports what is missing.
func (p *SteerParams) Validate() error {
	if err := need("sessionId", p.SessionID); err != nil {
		return err
	}
	return need("text", p.Text)
}

// TurnResult names a turn.
type TurnResult struct {
	TurnID string `json:"turnId"`
}

// CancelParams stops a turn.
type CancelParams struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId,omitempty"`
}

// Validate reports what is missing.
func (p *CancelParams) Validate() error { return need("sessionId", p.SessionID) }

// ProposalParams names a proposal.
type ProposalParams struct {
	ProposalID string `json:"proposalId"`
}

// Validate reports what is missing.
func (p *ProposalParams) Validate() error { return need("proposalId", p.ProposalID) }

// ProposalResolveParams decides hunks of a proposal as it was at Rev.
type ProposalResolveParams struct {
	ProposalID string         `json:"proposalId"`
	Rev        int            `json:"rev"`
	Decisions  []HunkDecision `json:"decisions"`
	Brief      bool           `json:"brief,omitempty"` // the answer needs no files, edit and diff
}

// Validate reports what is missing.
func (p *ProposalResolveParams) Validate() error {
	if err := need("proposalId", p.ProposalID); err != nil {
		return err
	}
	if len(p.Decisions) == 0 {
		return rpc.BadParams("decisions", "is empty; give at least one")
	}
	return nil
}

// ProposalRevertParams takes back what stands of a proposal; all of it when Targets
// is empty.
type ProposalRevertParams struct {
	ProposalID string   `json:"proposalId"`
	Targets    []Target `json:"targets,omitempty"`
	Brief      bool     `json:"brief,omitempty"` // the answer needs no files, edit and diff
}

// Validate reports what is missing.
func (p *ProposalRevertParams) Validate() error { return need("proposalId", p.ProposalID) }

// HunkDecision is the user's word on the hunks of a target.
type HunkDecision struct {
	Target   Target  `json:"target"`
	Decision string  `json:"decision"` // accept, reject or amend
	NewText  *string `json:"newText,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// Target is "all", {"fileId": …} or {"hunkId": …}.
type Target struct {
	All    bool
	FileID string
	HunkID string
}

// UnmarshalJSON accepts the three forms.
func (t *Target) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		if word != "all" {
			return rpc.BadParams("target", "is %q; use \"all\", {\"fileId\":…} or {\"hunkId\":…}", word)
		}
		*t = Target{All: true}
		return nil
	}
	var ids struct {
		FileID string `json:"fileId"`
		HunkID string `json:"hunkId"`
	}
	if err := json.Unmarshal(data, &ids); err != nil || (ids.FileID == "") == (ids.HunkID == "") {
		return rpc.BadParams("target", "must be \"all\", {\"fileId\":…} or {\"hunkId\":…}")
	}
	*t = Target{FileID: ids.FileID, HunkID: ids.HunkID}
	return nil
}

// MarshalJSON is the inverse of UnmarshalJSON.
func (t Target) MarshalJSON() ([]byte, error) {
	switch {
	case t.All:
		return []byte(`"all"`), nil
	case t.FileID != "":
		return json.Marshal(map[string]string{"fileId": t.FileID})
	}
	return json.Marshal(map[string]string{"hunkId": t.HunkID})
}

// ProposalList is the answer to agent/proposal/list.
type ProposalList struct {
	Proposals []*Proposal `json:"proposals"`
}

// Proposal is a set of changes under review. In a brief answer it has no files, edit and
// diff; the events before the answer have told of them.
type Proposal struct {
	ProposalID string                  `json:"proposalId"`
	Rev        int                     `json:"rev"`
	SessionID  string                  `json:"sessionId"`
	TurnID     string                  `json:"turnId"`
	CallIDs    []string                `json:"callIds"`
	Title      string                  `json:"title"`
	State      string                  `json:"state"`
	Auto       bool                    `json:"auto,omitempty"` // applied without a question, as in mode autoEdit
	Files      []ProposalFile          `json:"files"`
	Edit       *protocol.WorkspaceEdit `json:"edit,omitempty"` // what is still undecided, ready to preview
	Diff       string                  `json:"diff"`           // the same, as a unified diff
}

// ProposalFile is one file of a proposal.
type ProposalFile struct {
	FileID string         `json:"fileId"`
	URI    uri.URI        `json:"uri"`
	Op     string         `json:"op"` // edit, create, delete or rename
	NewURI uri.URI        `json:"newUri,omitempty"`
	Base   ProposalBase   `json:"base"`
	Hunks  []ProposalHunk `json:"hunks"`
}

// ProposalBase is what a file's hunks refer to.
type ProposalBase struct {
	Version  *int32 `json:"version"` // null: not open, the file on disk
	Hash     string `json:"hash"`
	EOL      string `json:"eol"`
	BOM      bool   `json:"bom"`
	Encoding string `json:"encoding"`
}

// ProposalHunk is one run of whole lines.
type ProposalHunk struct {
	HunkID  string         `json:"hunkId"`
	Range   protocol.Range `json:"range"`
	OldText string         `json:"oldText"`
	NewText string         `json:"newText"`
	State   string         `json:"state"`
	Reason  string         `json:"reason,omitempty"`
	Final   *string        `json:"final,omitempty"` // what stands in the document when amended
	Whole   bool           `json:"whole,omitempty"` // it is the operation on the file itself
	// Closed says that a conflict was decided on and stays as it is.
	Closed bool `json:"closed,omitempty"`
	// Standing says that it came into the document and was not taken back since, as far
	// as is known: agent/proposal/revert is for these.
	Standing bool `json:"standing,omitempty"`
}

// EventParams wraps an event on the wire.
type EventParams struct {
	SessionID string `json:"sessionId"`
	Seq       int64  `json:"seq"`
	TurnID    string `json:"turnId,omitempty"`
	Event     any    `json:"event"`
}

// The events, by their type (WIRE.md §4).
type (
	evTurnStarted struct {
		Type string `json:"type"`
	}
	evTurnEnded struct {
		Type         string      `json:"type"`
		Status       string      `json:"status"`
		Error        *EventError `json:"error,omitempty"`
		Usage        *Usage      `json:"usage,omitempty"`
		FinishReason string      `json:"finishReason,omitempty"` // of the last answer, in the API's word
	}
	evText struct {
		Type      string `json:"type"`
		MessageID string `json:"messageId"`
		Text      string `json:"text"`
		Subject   string `json:"subject,omitempty"`
	}
	evTool struct {
		Type      string          `json:"type"`
		CallID    string          `json:"callId"`
		Name      string          `json:"name"`
		Title     string          `json:"title"`
		Kind      string          `json:"kind"`
		Status    string          `json:"status"`
		Locations []eventLocation `json:"locations,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		Output    string          `json:"output,omitempty"`
		Display   string          `json:"display,omitempty"`
	}
	evToolOutput struct {
		Type   string `json:"type"`
		CallID string `json:"callId"`
		Text   string `json:"text"`
	}
	evProposal struct {
		Type     string    `json:"type"`
		Proposal *Proposal `json:"proposal"`
	}
	evUsage struct {
		Type  string `json:"type"`
		Usage Usage  `json:"usage"`
	}
	evRetry struct {
		Type    string `json:"type"`
		Attempt int    `json:"attempt"`
		DelayMs int64  `json:"delayMs"`
		Reason  string `json:"reason"`
	}
	evCheckpoint struct {
		Type       string     `json:"type"`
		Checkpoint Checkpoint `json:"checkpoint"`
	}
	evPlan struct {
		Type    string      `json:"type"`
		Entries []PlanEntry `json:"entries"`
	}
	evNotice struct {
		Type  string `json:"type"`
		Level string `json:"level"`
		Text  string `json:"text"`
	}
	eventLocation struct {
		URI  uri.URI `json:"uri"`
		Line int     `json:"line,omitempty"` // 0-based
	}
)

// PlanEntry is one step of what the model means to do.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed or cancelled
}

// EventError says why a turn did not complete.
type EventError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"` // HTTP, where it is the service's answer
}

// CommandListParams asks for the custom prompts. A session that is named must be
// there; all sessions have the same.
type CommandListParams struct {
	SessionID string `json:"sessionId,omitempty"`
}

// CommandList is the answer to agent/command/list: what a prompt may begin with, as
// "/name args", in the order of the names.
type CommandList struct {
	Commands []CommandInfo `json:"commands"`
}

// CommandInfo describes a custom prompt.
type CommandInfo struct {
	Name        string       `json:"name"` // without the "/"
	Description string       `json:"description,omitempty"`
	Source      string       `json:"source"`         // builtin, user, project, or mcp:SERVER
	Args        []CommandArg `json:"args,omitempty"` // of an MCP prompt; others take any text
}

// CommandArg is an argument of an MCP prompt, given as --name=value or by its place.
type CommandArg struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// ToolList is the answer to agent/tool/list.
type ToolList struct {
	Tools []ToolInfo `json:"tools"`
}

// ToolInfo describes one tool.
type ToolInfo struct {
	Name        string          `json:"name"`
	DisplayName string          `json:"displayName"`
	Kind        string          `json:"kind"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func need(field, value string) error {
	if value == "" {
		return rpc.BadParams(field, "is missing")
	}
	return nil
}
