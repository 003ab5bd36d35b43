package acp

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/agent"
	"redline/agent/slash"
	"redline/tools"
)

// presenter turns what happens in a session into updates for the client. Its event is
// called in the session's order; the rest from anywhere.
type presenter struct {
	x *session

	mu        sync.Mutex
	calls     map[string]*shown         // by the call's name
	proposals map[string]*shownProposal // by the proposal's name
	of        map[string]*shownProposal // by the names of the calls that made it
	content   map[string][]toolContent  // as it was last sent, by the call's name
	set       *slash.Set
	listed    []availableCommand // as they were last sent
	closed    bool
}

// shown is a function call as the client knows it.
type shown struct {
	last     agent.ToolUpdated
	terminal string // the client's name of the terminal it runs in
	output   string // the end of what the command printed so far
	sent     bool   // the client knows it
	pause    *time.Timer
	dirty    bool // output grew during the pause
}

func newPresenter(x *session) *presenter {
	return &presenter{x: x, calls: map[string]*shown{}, proposals: map[string]*shownProposal{}, of: map[string]*shownProposal{}, content: map[string][]toolContent{}}
}

// liveTail is how much of a command's output is shown while it runs, in bytes, and
// livePause how long after one update of it the next may come: each repeats what the
// one before had.
const (
	liveTail  = 16 << 10
	livePause = 200 * time.Millisecond
)

// close ends what waits.
func (v *presenter) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for _, c := range v.calls {
		if c.pause != nil {
			c.pause.Stop()
		}
	}
}

func (v *presenter) send(update any) { v.x.s.notify(v.x.id, update) }

func (v *presenter) chunk(kind, messageID, text string) {
	if text != "" {
		v.send(chunkUpdate{kind, textOf(text), messageID})
	}
}

// replay shows the events of a saved session.
func (v *presenter) replay(events []agent.Event) {
	for _, ev := range events {
		v.event(ev, true)
	}
}

// learn takes note of the events of a saved session without showing them.
func (v *presenter) learn(events []agent.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case agent.ToolUpdated:
			v.call(b.CallID).last, v.call(b.CallID).sent = b, true
		case agent.ProposalUpdated:
			v.note(b.Proposal)
		}
	}
}

// event shows one event. Of a saved session the user's messages are shown too, and what
// was only of its moment is not.
func (v *presenter) event(ev agent.Event, saved bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch b := ev.Body.(type) {
	case agent.UserMessage:
		if saved {
			v.chunk("user_message_chunk", b.MessageID, b.Text)
		}
	case agent.MessageDelta:
		v.chunk("agent_message_chunk", b.MessageID, b.Text)
	case agent.ThoughtDelta:
		text := b.Text
		if b.Subject != "" {
			text = "**" + b.Subject + "** " + text + "\n\n"
		}
		v.chunk("agent_thought_chunk", b.MessageID+".thought", text) // to the client it is a message of its own
	case agent.ToolUpdated:
		v.tool(b)
	case agent.ToolOutput:
		if !saved {
			v.output(b)
		}
	case agent.ProposalUpdated:
		v.proposal(b.Proposal)
	case agent.UsageUpdated:
		v.usage(b)
	case agent.Retry:
		if !saved {
			v.chunk("agent_thought_chunk", "", fmt.Sprintf("%s. Trying again in %s (attempt %d).\n\n", strings.TrimSuffix(b.Reason, "."), b.Delay.Round(100*time.Millisecond), b.Attempt))
		}
	case agent.ModelChanged:
		if !saved {
			v.later(func() { v.send(configUpdate{"config_option_update", v.x.configOptions()}) })
		}
	case agent.LoopDetected:
	case agent.Compressed:
		v.compressed(ev, b)
	case agent.PlanUpdated:
		v.plan(b.Entries)
	case agent.Notice:
		if !saved {
			v.notice(b.Level, b.Text)
		}
	case agent.TurnEnded:
		// What a stop reason cannot say.
		if result, _ := promptEnd(b); b.Err != nil && (saved || result != nil && b.Status != agent.Cancelled) {
			v.chunk("agent_message_chunk", "", "\n\n*"+b.Err.Error()+"*")
		}
	}
}

// later runs f beside the session's events, which may not wait for the session.
func (v *presenter) later(f func()) { v.x.bg.Go(f) }

// notify is notice for what does not come with an event.
func (v *presenter) notify(level, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notice(level, text)
}

// notice tells the user something. A client that has no place for it shows it among what
// the model thinks or, when it matters, says.
func (v *presenter) notice(level, text string) {
	switch {
	case v.x.s.client.Session.Notices != nil:
		v.send(noticeUpdate{"notice", level, text})
	case level == "info":
		v.chunk("agent_thought_chunk", "", text+"\n\n")
	default:
		v.chunk("agent_message_chunk", "", "\n\n*"+text+"*\n\n")
	}
}

func (v *presenter) compressed(ev agent.Event, b agent.Compressed) {
	if v.x.s.client.Session.Compaction != nil {
		v.send(compactionUpdate{"compaction_update", fmt.Sprintf("%s.%d", ev.SessionID, ev.Seq), "completed"})
		return
	}
	v.chunk("agent_thought_chunk", "", fmt.Sprintf("The conversation was compressed from %d to %d tokens.\n\n", b.Before, b.After))
}

func (v *presenter) usage(b agent.UsageUpdated) {
	if b.Window == 0 {
		return
	}
	u := usageUpdate{SessionUpdate: "usage_update", Used: b.Context, Size: b.Window}
	if b.Usage.Unpriced == 0 && b.Usage.Cost > 0 {
		u.Cost = &cost{b.Usage.Cost, "USD"}
	}
	v.send(u)
}

// info tells the session's title, and when it was last at work.
func (v *presenter) info(i agent.Info) {
	v.send(infoUpdate{"session_info_update", i.Title, i.Updated.UTC().Format(time.RFC3339)})
}

// slash notes which commands there are.
func (v *presenter) slash(set *slash.Set) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.set = set
}

// commands tells which commands there are, when they have changed.
func (v *presenter) commands() {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := []availableCommand{{Name: "compress", Description: "Put a summary in the place of the older part of the conversation"}}
	if v.set != nil {
		for _, c := range v.set.List() {
			list = append(list, availableCommand{c.Name, cmp.Or(c.Description, "Custom prompt ("+c.Source+")"), &commandInput{argsHint(c)}})
		}
	}
	same := func(a, b availableCommand) bool { return a.Name == b.Name && a.Description == b.Description }
	if slices.EqualFunc(list, v.listed, same) {
		return
	}
	v.listed = list
	v.send(commandsUpdate{"available_commands_update", list})
}

// argsHint says what may follow a command.
func argsHint(c slash.Command) string {
	var parts []string
	for _, a := range c.Args {
		part := "--" + a.Name + "=…"
		if !a.Required {
			part = "[" + part + "]"
		}
		parts = append(parts, part)
	}
	return cmp.Or(strings.Join(parts, " "), "words")
}

func (v *presenter) call(id string) *shown {
	c := v.calls[id]
	if c == nil {
		c = &shown{}
		v.calls[id] = c
	}
	return c
}

// tool shows how far a call has come.
func (v *presenter) tool(b agent.ToolUpdated) {
	c := v.call(b.CallID)
	c.last = b
	u := toolUpdate{"tool_call_update", toolCall{ToolCallID: b.CallID, Title: b.Title, Kind: kindOf(b), Status: statusOf(b.Status), Content: v.contentOf(c)}}
	for _, l := range b.Locations {
		u.Locations = append(u.Locations, toolLocation{l.Path, l.Line})
	}
	if !c.sent {
		u.SessionUpdate, u.Name, u.RawInput = "tool_call", b.Name, b.Input
		c.sent = true
	}
	v.sendCall(u)
}

// sendCall sends an update of a call, without content that the client has already.
func (v *presenter) sendCall(u toolUpdate) {
	if reflect.DeepEqual(u.Content, v.content[u.ToolCallID]) {
		u.Content = nil
	} else if u.Content != nil {
		v.content[u.ToolCallID] = u.Content
	}
	if u.Content == nil && u.Status == "" && u.SessionUpdate == "tool_call_update" {
		return // nothing is new
	}
	v.send(u)
}

// contentOf is what the client shows of a call: a terminal, its diffs, then words.
func (v *presenter) contentOf(c *shown) []toolContent {
	var out []toolContent
	if c.terminal != "" {
		out = append(out, toolContent{Type: "terminal", TerminalID: c.terminal})
	}
	if p := v.of[c.last.CallID]; p != nil && p.alone() {
		out = append(out, p.diffs...)
	}
	if text := words(c); text != "" {
		out = append(out, textItem(text))
	}
	return out
}

// maxWords is how much of a tool's output the client is sent, in bytes: it is there to
// be looked at, and the model has all of it.
const maxWords = 8 << 10

// allAccepted is what is said of an edit of which everything was taken.
var allAccepted = regexp.MustCompile(`^\d+ accepted$`)

// words returns what is said of a call beside its diffs.
func words(c *shown) string {
	b := c.last
	failed := b.Status == agent.CallFailed || b.Status == agent.CallRejected || b.Status == agent.CallCancelled
	switch {
	case b.Kind == tools.KindExecute && c.terminal == "":
		text := c.output
		if b.Output != "" {
			text = b.Output
		}
		if text == "" {
			return ""
		}
		return fence(cut(text))
	case failed:
		return cut(b.Output)
	case b.Kind == tools.KindEdit && b.Status == agent.CallCompleted && allAccepted.MatchString(b.Display):
		return "" // the status and the diffs say it
	case b.Display != "":
		return cut(b.Display)
	case b.Kind == tools.KindEdit, b.Output == "":
		return ""
	}
	return fence(cut(b.Output))
}

func cut(s string) string {
	if len(s) <= maxWords {
		return s
	}
	return strings.ToValidUTF8(s[:maxWords], "") + "\n…"
}

// fence shows text as it is, whatever is in it.
func fence(text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark
}

// output shows what a command prints, while no terminal of the client's does.
func (v *presenter) output(b agent.ToolOutput) {
	c := v.call(b.CallID)
	if c.terminal != "" {
		return
	}
	c.output += b.Text
	if over := len(c.output) - liveTail; over > 0 {
		c.output = strings.ToValidUTF8(c.output[over:], "")
	}
	if c.pause != nil {
		c.dirty = true
		return
	}
	v.showOutput(c)
}

// showOutput sends the output so far and starts the pause; v.mu is held.
func (v *presenter) showOutput(c *shown) {
	if v.closed || !c.sent {
		return
	}
	c.dirty = false
	if c.last.Status == agent.CallRunning {
		v.sendCall(toolUpdate{"tool_call_update", toolCall{ToolCallID: c.last.CallID, Content: v.contentOf(c)}})
	}
	c.pause = time.AfterFunc(livePause, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		c.pause = nil
		if c.dirty {
			v.showOutput(c)
		}
	})
}

// inTerminal shows that a call runs in a terminal of the client's.
func (v *presenter) inTerminal(callID, terminalID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.call(callID)
	c.terminal = terminalID
	v.sendCall(toolUpdate{"tool_call_update", toolCall{ToolCallID: callID, Content: v.contentOf(c)}})
}

// plan shows what the model plans to do. The protocol knows no step that was given up.
func (v *presenter) plan(entries []tools.PlanEntry) {
	u := planUpdate{"plan", []planEntry{}}
	for _, e := range entries {
		if e.Status != "cancelled" {
			u.Entries = append(u.Entries, planEntry{e.Content, "medium", e.Status})
		}
	}
	v.send(u)
}

func kindOf(b agent.ToolUpdated) string {
	switch b.Name {
	case "delete_file":
		return "delete"
	case "rename_file":
		return "move"
	}
	return string(b.Kind) // the protocol has all of ours
}

func statusOf(s agent.CallStatus) string {
	switch s {
	case agent.CallPending, agent.CallConfirming:
		return "pending"
	case agent.CallRunning:
		return "in_progress"
	case agent.CallCompleted:
		return "completed"
	}
	return "failed"
}
