package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"redline/agent"
	"redline/agent/journal"
	"redline/lsp/rpc"
	"redline/workspace"
)

// This file lets clients without a plugin go on with a conversation of an earlier process:
// by the commands redline.resume and redline.sessions, by sending from a chat document of
// then, and, with the setting redline.restoreSession, by itself.

// unfinishedFor is how long after its last turn the user is told of a conversation that
// has changes left to decide on.
const unfinishedFor = 7 * 24 * time.Hour

// welcome is what a client without a plugin gets after it has initialized: its last
// conversation, if it is set so, else a word about changes that wait in it.
func (s *Server) welcome(ctx context.Context) {
	if s.client.knowsUs || s.opt.Journal == nil || s.opt.Settings == nil {
		return
	}
	saved, err := s.savedHere()
	if err != nil || len(saved) == 0 {
		return // what is wrong is told when the user asks for something
	}
	set, err := s.loadSettings()
	if err != nil {
		return
	}
	if set.RestoreSession {
		x, err := s.resumeNewest(ctx, saved)
		if err != nil {
			s.log.Info("the last session is not restored", zap.Error(err))
			return
		}
		s.wentOn(ctx, x)
		return
	}
	last := saved[0]
	if n := s.leftOpen(last.ID); n > 0 && time.Since(last.Updated) < unfinishedFor && len(s.allSessions()) == 0 {
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: "+counted(n, "change", "changes")+" of last time undecided; "+
			s.commandWord("redline.resume")+" goes on there")
	}
}

// commandWord is how the user runs a command here.
func (s *Server) commandWord(name string) string {
	if s.client.name == editorHelix {
		return ":lsp-workspace-command " + name
	}
	return name
}

// leftOpen counts what is undecided in a saved session that no process has open.
func (s *Server) leftOpen(id string) int {
	log, _, err := s.opt.Journal.Load(id)
	if err != nil {
		return 0 // somebody works with it
	}
	_ = log.Close() // nothing was written
	_, events, err := agent.SavedEvents(s.opt.Journal, id)
	if err != nil {
		return 0
	}
	newest := map[string]*workspace.Proposal{}
	for _, ev := range events {
		if b, ok := ev.Body.(agent.ProposalUpdated); ok {
			newest[b.Proposal.ID] = b.Proposal
		}
	}
	n := 0
	for _, p := range newest {
		if p.State != workspace.Open && p.State != workspace.Applying {
			continue
		}
		for h := range p.Hunks() {
			if h.State == workspace.Pending {
				n++
			}
		}
	}
	return n
}

// resumeNewest goes on with the first of the saved sessions that nobody has open.
func (s *Server) resumeNewest(ctx context.Context, saved []agent.Info) (*session, error) {
	var first error
	for _, info := range saved {
		x, err := s.load(ctx, info.ID, s.client.knowsUs)
		if err == nil {
			return x, nil
		}
		if !errors.Is(err, journal.ErrInUse) {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// commandResume goes on with a conversation: the one that is named by its ID or by words of
// its title, else the last one that is not open here. Its open changes can be decided again.
func (s *Server) commandResume(ctx context.Context, a commandArgs) (any, error) {
	x, err := s.resumable(ctx, strings.TrimSpace(a.SessionID), strings.TrimSpace(a.Text))
	if err != nil {
		return nil, err
	}
	s.background(func(ctx context.Context) { s.wentOn(ctx, x) })
	return wireInfo(x.Info()), nil
}

// resumable returns the session that the user means.
func (s *Server) resumable(ctx context.Context, id, words string) (*session, error) {
	live := s.allSessions()
	if i := slices.IndexFunc(live, func(x *session) bool { return x.Info().ID == id || x.Info().ID == words }); i >= 0 {
		s.makeCurrent(live[i])
		return live[i], nil
	}
	if id != "" {
		if s.opt.Hub.session(id) != nil {
			return nil, rpc.Failed("that conversation is open in another window; close it there first")
		}
		return s.load(ctx, strings.Clone(id), s.client.knowsUs)
	}
	saved, err := s.savedHere()
	if err != nil {
		return nil, rpc.Failed("%v", err)
	}
	saved = slices.DeleteFunc(saved, func(i agent.Info) bool {
		return slices.ContainsFunc(live, func(x *session) bool { return x.Info().ID == i.ID })
	})
	if words != "" {
		has := func(i agent.Info) bool {
			return i.ID == words || strings.Contains(strings.ToLower(i.Title), strings.ToLower(words))
		}
		for _, x := range slices.Backward(live) {
			if has(x.Info()) {
				s.makeCurrent(x)
				return x, nil
			}
		}
		saved = slices.DeleteFunc(saved, func(i agent.Info) bool { return !has(i) })
		if len(saved) == 0 {
			return nil, rpc.Failed("no conversation of this folder has %q in its title; redline.sessions lists them", words)
		}
	}
	if len(saved) == 0 {
		return nil, rpc.Failed("there is no earlier conversation of this folder to go on with")
	}
	return s.resumeNewest(ctx, saved)
}

// makeCurrent has what the user asks from now on go to x.
func (s *Server) makeCurrent(x *session) {
	id := x.Info().ID
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = append(slices.DeleteFunc(s.order, func(o string) bool { return o == id }), id)
}

// wentOn opens what is left to decide in x, and tells the user which conversation goes on.
func (s *Server) wentOn(ctx context.Context, x *session) {
	info := x.Info()
	text := fmt.Sprintf("Redline: goes on with “%s” (%s)", shortened(info.Title, 50), counted(info.Turns, "prompt", "prompts"))
	if !x.direct {
		text += ", shown by " + s.commandWord("redline.openChat")
	}
	// Before what asks about the changes: that is what the user should see last.
	s.showMessage(ctx, protocol.MessageTypeInfo, text)
	if d, ok := s.openChatOf(x); ok && !x.direct {
		s.goOnInChat(x, d)
	}
	x.ReopenSaved(s.root)
}

// retell puts together what was said in a session that was read from the disk.
func (x *session) retell(s *Server, events []agent.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var answer agent.Transcript
	for _, ev := range events {
		x.talk.said(s, ev.Body)
		switch b := ev.Body.(type) {
		case agent.TurnStarted:
			answer = agent.Transcript{}
		case agent.MessageDelta:
			x.talk.add(answer.Add(b))
		}
	}
}

// sessionsPrefix begins the names of lists of conversations.
const sessionsPrefix = "conversations-"

// maxListed is how many conversations a list has, and maxLooked of how many it is told
// what is left to decide: those files are read as a whole.
const (
	maxListed = 100
	maxLooked = 10
)

// commandSessions shows the conversations of the folder as a document. Its lines have a
// code action that goes on with them.
func (s *Server) commandSessions(ctx context.Context, _ commandArgs) (any, error) {
	list, err := s.sessionList(ctx, nil)
	if err != nil {
		return nil, err
	}
	if s.client.knowsUs {
		return list, nil
	}
	// The current one first; one in which nothing was said yet is none for the user.
	infos := slices.DeleteFunc(slices.Clone(list.Sessions), func(i SessionInfo) bool { return i.Turns == 0 })
	if len(infos) == 0 {
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: there is no conversation in this folder yet")
		return list, nil
	}
	slices.SortStableFunc(infos, func(a, b SessionInfo) int { return strings.Compare(b.UpdatedAt, a.UpdatedAt) })
	if !s.client.showDoc || s.client.name == editorEglot { // eglot has no code actions outside of the project
		s.showMessage(ctx, protocol.MessageTypeInfo, s.sessionsText(infos[:min(len(infos), 10)], false))
		return list, nil
	}
	dir, err := s.folder()
	if err != nil {
		return nil, rpc.Failed("%v", err)
	}
	// A name of its own each time: an editor that has one open does not read it again.
	f, err := os.CreateTemp(dir, sessionsPrefix+"*.md")
	if err == nil {
		_, err = f.WriteString(s.sessionsText(infos[:min(len(infos), maxListed)], true))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, rpc.Failed("list the conversations: %v", err)
	}
	s.docs.mu.Lock()
	s.docs.lists = append(s.docs.lists, f.Name())
	s.docs.mu.Unlock()
	s.background(func(ctx context.Context) { _ = s.show(ctx, f.Name(), true, sessionsHeadLines) })
	return list, nil
}

// sessionsHead is above the list; its lines are counted for the place of the cursor.
const (
	sessionsHead      = "# Conversations of this folder\n\nOn a line, the code action “Redline: go on with this conversation”.\n\n"
	sessionsHeadLines = 4
)

// sessionsText is the list of conversations, with their IDs at the ends of the lines.
func (s *Server) sessionsText(infos []SessionInfo, document bool) string {
	var b strings.Builder
	if document {
		b.WriteString(sessionsHead)
	} else {
		b.WriteString("Redline: conversations of this folder; redline.resume {\"text\": \"…\"} goes on with one\n")
	}
	current := ""
	if all := s.allSessions(); len(all) > 0 {
		current = all[len(all)-1].Info().ID
	}
	for n, i := range infos {
		fmt.Fprintf(&b, "- %s · %s · %s", shortened(strings.Join(strings.Fields(i.Title), " "), 60), ago(i.UpdatedAt), counted(i.Turns, "prompt", "prompts"))
		switch {
		case i.SessionID == current:
			b.WriteString(" · the current one")
		case n < maxLooked:
			if left := s.leftOpen(i.SessionID); left > 0 {
				b.WriteString(" · " + counted(left, "change", "changes") + " to decide")
			}
		}
		if document {
			b.WriteString(" · `" + i.SessionID + "`")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ago says how long a time, as the wire has it, is past.
func ago(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return at
	}
	switch d := time.Since(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return counted(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 24*time.Hour:
		return counted(int(d/time.Hour), "hour", "hours") + " ago"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// sessionAt returns the conversation that a line of a list is about.
func (s *Server) sessionAt(u string, line int) (id string, ok bool) {
	path, isFile := pathOf(u)
	base := filepath.Base(path)
	if !isFile || !strings.HasPrefix(base, sessionsPrefix) {
		return "", false
	}
	if dir, err := s.folder(); err != nil || filepath.Dir(workspace.Key(path)) != dir {
		return "", false
	}
	lines := strings.Split(s.textOf(u), "\n")
	if line >= len(lines) {
		return "", false
	}
	text := strings.TrimSpace(lines[line])
	_, id, ok = strings.Cut(strings.TrimSuffix(text, "`"), "· `")
	return id, ok && strings.HasSuffix(text, "`")
}
