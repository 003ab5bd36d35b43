package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"redline/workspace"
)

// A TrustKeeper knows whether the user trusts the workspace's folders. It is called
// by the turn that runs, and may read files.
type TrustKeeper interface {
	Trust() TrustInfo
	// Keep notes that the user trusts the folders: forever, or until the process ends.
	Keep(forever bool) error
	// Declined notes that the user was asked and did not say yes: they are not asked
	// again by themselves.
	Declined()
	// Renew returns what to change in the session's options so that they are what
	// the trust of this moment allows; nil when they are that already.
	Renew() (func(*Options), error)
}

// TrustInfo is what a [TrustKeeper] knows at a moment.
type TrustInfo struct {
	State workspace.Trust
	// LeftOut names, for the user, what the folders bring along that does not count
	// as long as they are not trusted.
	LeftOut []string
	// Ask says that the user may be asked about LeftOut.
	Ask bool
	// How tells the user how to trust the folders, as an imperative sentence.
	How string
}

// trustWait is how long a turn waits to be told whether the folders are trusted,
// before it goes on without.
const trustWait = 2 * time.Minute

// The options of the questions about trust.
const (
	trustOnce    = "once"
	trustSession = "session"
	trustAlways  = "always"
)

// beginTrust runs at the start of a turn. It asks once whether folders are trusted
// that bring something along for which that matters, brings the session's options
// up to date with the answer, and says what is left out.
func (s *Session) beginTrust(ctx context.Context, t *turn) {
	keeper := s.opt.Trust
	if keeper == nil {
		return
	}
	info := keeper.Trust()
	if info.State == workspace.TrustUnknown && info.Ask && len(info.LeftOut) > 0 && s.opt.Approver != nil {
		if err := s.askTrust(ctx, t, keeper, info); err != nil && ctx.Err() == nil {
			s.emit(t.id, Notice{"warning", err.Error()})
		}
		info = keeper.Trust()
	}
	renew, err := keeper.Renew()
	if err != nil {
		s.emit(t.id, Notice{"error", "The settings cannot be used: " + err.Error()})
	}
	if renew != nil {
		s.mu.Lock()
		renew(&s.opt)
		s.mu.Unlock()
		s.awaited = false
	}
	if info.State != workspace.Trusted && len(info.LeftOut) > 0 && !s.toldTrust {
		s.toldTrust = true
		s.emit(t.id, Notice{"warning", fmt.Sprintf("This folder is %s, so this is left out: %s. %s", info.State, strings.Join(info.LeftOut, "; "), info.How)})
	}
}

// askTrust puts the question of the start of a session. Silence is no.
func (s *Session) askTrust(ctx context.Context, t *turn, keeper TrustKeeper, info TrustInfo) error {
	wait, cancel := context.WithTimeout(ctx, trustWait)
	defer cancel()
	folders := s.opt.Workspace.Snapshot().Folders()
	ans, err := s.opt.Approver.Approve(wait, Approval{
		SessionID: s.id, TurnID: t.id, CallID: t.id + ".trust",
		Subject: Subject{Type: "path", Paths: folders},
		Title:   "Do you trust " + strings.Join(folders, ", ") + "?",
		Detail: "It brings along: " + strings.Join(info.LeftOut, "; ") + ". That can run programs as you. " +
			"If you do not trust it, it is left out; reading and editing work all the same.",
		Options: []Option{
			{trustSession, "Trust it until the editor is closed", OptionSession},
			{trustAlways, "Always trust it", OptionAlways},
			{"reject", "Leave it out", OptionReject},
		},
	})
	if err == nil && (ans.OptionID == trustSession || ans.OptionID == trustAlways) {
		return keeper.Keep(ans.OptionID == trustAlways)
	}
	if ctx.Err() == nil {
		keeper.Declined()
	}
	return nil
}

// trustCommand returns nil when the folders are trusted enough for a command to run.
// consented is set when the user was asked and saw the command: it needs no second
// question then. a is how the command would be asked for otherwise.
func (s *Session) trustCommand(ctx context.Context, t *turn, c *call, a Approval) (consented bool, err error) {
	keeper := s.opt.Trust
	if keeper == nil {
		return false, nil
	}
	info := keeper.Trust()
	switch info.State {
	case workspace.Trusted:
		return false, nil
	case workspace.Untrusted:
		c.status = CallRejected
		return false, errors.New("the user does not trust this folder, and commands run only in trusted ones; this one was not run. Go on without commands. If one is needed, tell the user: " + info.How)
	}
	a.Subject.Type, a.Subject.Paths = "path", s.opt.Workspace.Snapshot().Folders()
	a.Detail += "\n\nYou have not said yet that you trust this folder. What runs in it can be the work of whoever made it."
	a.Options = []Option{
		{trustOnce, "Run once, without trusting the folder", OptionOnce},
		{trustSession, "Run, and trust the folder until the editor is closed", OptionSession},
		{trustAlways, "Run, and always trust the folder", OptionAlways},
		{"reject", "Reject", OptionReject},
	}
	kind, err := s.ask(ctx, t, c, a)
	if err != nil {
		return false, err
	}
	if kind == OptionSession || kind == OptionAlways {
		if err := keeper.Keep(kind == OptionAlways); err != nil {
			s.emit(t.id, Notice{"warning", err.Error()})
		}
	}
	return true, nil
}
