package lsp

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/agent"
	"redline/workspace"
	"redline/workspace/text"
)

// encoder turns the agent's data into what goes over the wire.
type encoder struct {
	lines    *lineCache
	snapshot *workspace.Snapshot
	encoding protocol.PositionEncodingKind
	// annotate gives every edit its hunk's change annotation.
	annotate bool
	// confirm marks those annotations as needing the user's consent.
	confirm bool
	// create, rename and remove say that the client can do that to files, and keep
	// that it must be told to leave one alone that is there.
	create, rename, remove, keep bool
	// lineEnd says that a new document of the client's has a line end already: Vim.
	lineEnd bool
}

// uriOf returns the name the editor uses for the file at path.
func (e *encoder) uriOf(path string) uri.URI {
	if d, ok := e.snapshot.Document(path); ok {
		return uri.URI(d.URI)
	}
	if workspace.Untitled(path) {
		return uri.URI(path)
	}
	return uri.File(path)
}

// live returns the text of the file that f changes as the snapshot has it, and its
// version when it is open. The hunks of f may still refer to an older one.
func (e *encoder) live(f *workspace.FileChange) (string, *int32) {
	if d, ok := e.snapshot.Document(f.At()); ok {
		v := d.Version
		return d.Text, &v
	}
	if f.Op != workspace.OpCreate && f.Base == nil {
		return "", nil
	}
	if file, err := e.snapshot.Read(f.At()); err == nil {
		return file.Text, nil
	}
	if f.Op == workspace.OpCreate {
		return "", nil
	}
	return f.Text(), nil // unreadable now: hunks refer to what it was
}

func (e *encoder) proposal(p *workspace.Proposal) *Proposal {
	out := e.files(p)
	e.preview(out, p)
	return out
}

// files returns the wire form of p without what can be made of it.
func (e *encoder) files(p *workspace.Proposal) *Proposal {
	out := &Proposal{
		ProposalID: p.ID, Rev: p.Rev, SessionID: p.SessionID, TurnID: p.TurnID, CallIDs: p.CallIDs,
		Title: p.Title, State: string(p.State), Auto: p.Auto, Files: []ProposalFile{},
	}
	if out.CallIDs == nil {
		out.CallIDs = []string{}
	}
	for _, f := range p.Files {
		now, version := f.Current()
		m := e.lines.mapper(now, e.encoding)
		file := ProposalFile{FileID: f.ID, URI: e.uriOf(f.Path), Op: string(f.Op), Hunks: []ProposalHunk{}}
		if f.NewPath != "" {
			file.NewURI = e.uriOf(f.NewPath)
		}
		file.Base = ProposalBase{Version: version, Hash: m.facts().hash, EOL: string(m.facts().eol), Encoding: string(text.UTF8)}
		if f.Base != nil {
			file.Base.BOM, file.Base.Encoding = f.Base.Format.BOM, string(f.Base.Format.Encoding)
		}
		for _, h := range f.Hunks {
			wire := ProposalHunk{
				HunkID: h.ID, Range: m.rng(h.Start, h.End), OldText: h.Old, NewText: h.New,
				State: h.State.String(), Reason: h.Reason, Whole: h.Whole,
				Closed: h.State == workspace.Conflicted && h.Closed, Standing: h.Standing(),
			}
			if h.State == workspace.Amended {
				wire.Final = &h.Final
			}
			file.Hunks = append(file.Hunks, wire)
		}
		out.Files = append(out.Files, file)
	}
	return out
}

// preview adds to the wire form of p what is undecided, as an edit and as a diff.
func (e *encoder) preview(out *Proposal, p *workspace.Proposal) {
	pending := func(h *workspace.Hunk) bool { return h.State == workspace.Pending }
	edit := e.edit(p, pending)
	out.Edit = &edit
	out.Diff = e.unified(p, pending)
}

// unified returns the hunks that keep allows as a unified diff on the current texts.
func (e *encoder) unified(p *workspace.Proposal, keep func(*workspace.Hunk) bool) string {
	return p.Unified(
		func(path string) string { return strings.TrimPrefix(e.snapshot.Rel(path), "/") },
		keep)
}

// event returns the wire form of an agent's event.
func (e *encoder) event(ev agent.Event) EventParams {
	out := EventParams{SessionID: ev.SessionID, Seq: ev.Seq, TurnID: ev.TurnID}
	switch b := ev.Body.(type) {
	case agent.TurnStarted:
		out.Event = evTurnStarted{"turn/started"}
	case agent.TurnEnded:
		w := evTurnEnded{Type: "turn/ended", Status: string(b.Status), FinishReason: b.Finish}
		if b.Err != nil {
			w.Error = WireError(b)
		}
		u := WireUsage(b.Usage)
		w.Usage = &u
		out.Event = w
	case agent.UserMessage:
		out.Event = evText{Type: "message/user", MessageID: b.MessageID, Text: b.Text}
	case agent.MessageDelta:
		out.Event = evText{Type: "message/delta", MessageID: b.MessageID, Text: b.Text}
	case agent.ThoughtDelta:
		out.Event = evText{Type: "thought/delta", MessageID: b.MessageID, Text: b.Text, Subject: b.Subject}
	case agent.ToolUpdated:
		w := evTool{
			Type: "tool/updated", CallID: b.CallID, Name: b.Name, Title: b.Title, Kind: string(b.Kind),
			Status: string(b.Status), Input: b.Input, Output: cut(b.Output), Display: b.Display,
		}
		for _, l := range b.Locations {
			w.Locations = append(w.Locations, eventLocation{e.uriOf(l.Path), max(0, l.Line-1)})
		}
		out.Event = w
	case agent.ToolOutput:
		out.Event = evToolOutput{"tool/output", b.CallID, b.Text}
	case agent.ProposalUpdated:
		out.Event = evProposal{"proposal/updated", e.proposal(b.Proposal)}
	case agent.UsageUpdated:
		out.Event = evUsage{"usage/updated", WireUsage(b.Usage)}
	case agent.Retry:
		out.Event = evRetry{"retry", b.Attempt, b.Delay.Milliseconds(), b.Reason}
	case agent.CheckpointCreated:
		out.Event = evCheckpoint{"checkpoint/created", e.checkpoint(ev.SessionID, b.Checkpoint)}
	case agent.PlanUpdated:
		w := evPlan{"plan/updated", []PlanEntry{}}
		for _, p := range b.Entries {
			w.Entries = append(w.Entries, PlanEntry(p))
		}
		out.Event = w
	case agent.Notice:
		out.Event = evNotice{"notice", b.Level, b.Text}
	default:
		out.Event = conversationEvent(b)
	}
	return out
}

// EncodeEvent returns the wire form of an event for a reader that is no editor;
// positions are in UTF-16 units.
func EncodeEvent(s *workspace.Snapshot, ev agent.Event) EventParams {
	e := &encoder{snapshot: s, encoding: protocol.PositionEncodingKindUTF16, create: true, rename: true, remove: true}
	return e.event(ev)
}

// maxOutput is how much of a tool's output the editor is sent, in bytes; it is
// there to be looked at, and the model has all of it.
const maxOutput = 16 << 10

func cut(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	return strings.ToValidUTF8(s[:maxOutput], "") + "\n…"
}

// WireError returns why a turn did not complete, in its wire form.
func WireError(b agent.TurnEnded) *EventError {
	return &EventError{Kind: ErrorKind(b), Message: b.Err.Error(), Status: b.HTTPStatus()}
}

// ErrorKind sorts the end of a turn for clients that react to it.
func ErrorKind(b agent.TurnEnded) string { return b.Kind() }

func wireInfo(i agent.Info) SessionInfo {
	out := SessionInfo{
		SessionID: i.ID, Title: i.Title, Mode: string(i.Mode), Model: i.Model, ReviewAt: string(i.ReviewAt), Folders: []uri.URI{},
		CreatedAt: i.Created.UTC().Format(time.RFC3339), UpdatedAt: i.Updated.UTC().Format(time.RFC3339),
		Turns: i.Turns, LastSeq: i.LastSeq, Running: i.Running,
	}
	for _, f := range i.Folders {
		out.Folders = append(out.Folders, uri.File(f))
	}
	return out
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
