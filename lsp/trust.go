package lsp

import (
	"context"
	"strings"
	"sync"

	"go.uber.org/zap"

	"redline/agent"
	"redline/workspace"
)

// methodTrustSet tells that the editor's own trust of the workspace has changed.
const methodTrustSet = "agent/trust/set"

// TrustSetParams is what the editor says of the workspace's folders.
type TrustSetParams struct {
	Trusted bool `json:"trusted"`
}

// TrustStatus is whether the workspace's folders are trusted.
type TrustStatus struct {
	Trusted bool     `json:"trusted"`
	LeftOut []string `json:"leftOut,omitempty"` // what therefore does not count, for the user
	Message string   `json:"message,omitempty"` // how to trust them
}

// Trust keeps which folders the user trusts.
type Trust interface {
	// Check returns what is known of the folders, and names what they bring along
	// that does not count as long as they are not trusted. It may read files.
	Check(folders []string) (state workspace.Trust, leftOut []string, err error)
	// Say notes what the editor or the user said, until the process ends.
	Say(folders []string, trusted bool)
	// Keep writes down that the folders are trusted.
	Keep(folders []string) error
	// How tells the user how to trust the folders, as a sentence.
	How(folders []string) string
}

// trustState is what a server knows about trust beside [Options.Trust].
type trustState struct {
	mu       sync.Mutex
	editor   *bool // what the editor says; nil when it says nothing
	declined bool  // the user was asked and did not say yes
}

// trustSays notes what the editor says of its workspace.
func (s *Server) trustSays(trusted bool) {
	s.trust.mu.Lock()
	defer s.trust.mu.Unlock()
	s.trust.editor = &trusted
}

// checkTrust returns what is known of the folders that are open now.
func (s *Server) checkTrust() (state workspace.Trust, leftOut []string) {
	if s.opt.Trust == nil {
		return workspace.Trusted, nil
	}
	folders := s.ws.Snapshot().Folders()
	s.trust.mu.Lock()
	editor := s.trust.editor
	s.trust.mu.Unlock()
	if editor != nil {
		s.opt.Trust.Say(folders, *editor)
	}
	state, leftOut, err := s.opt.Trust.Check(folders)
	if err != nil {
		s.log.Warn("trusted folders", zap.Error(err))
	}
	return state, leftOut
}

// trustSet is the editor's word that its trust of the workspace changed.
func (s *Server) trustSet(_ context.Context, p *TrustSetParams) (TrustStatus, error) {
	s.trustSays(p.Trusted)
	state, leftOut := s.checkTrust()
	status := TrustStatus{Trusted: state == workspace.Trusted, LeftOut: leftOut}
	if !status.Trusted {
		status.Message = s.howToTrust()
	}
	return status, nil
}

// howToTrust tells the user how to trust the folders.
func (s *Server) howToTrust() string {
	s.trust.mu.Lock()
	editor := s.trust.editor
	s.trust.mu.Unlock()
	if editor != nil && !*editor {
		return "To trust it, trust the workspace in the editor."
	}
	return s.opt.Trust.How(s.ws.Snapshot().Folders())
}

// trustKeeper is [agent.TrustKeeper] for one session.
type trustKeeper struct {
	s    *Server
	used *loaded           // what the session's options were made of; its turn's alone
	emit func(agent.Event) // to the client, without what settings put around it
}

var _ agent.TrustKeeper = (*trustKeeper)(nil)

// Trust implements [agent.TrustKeeper].
func (k *trustKeeper) Trust() agent.TrustInfo {
	state, leftOut := k.s.checkTrust()
	k.s.trust.mu.Lock()
	ask := !k.s.trust.declined && k.s.trust.editor == nil
	k.s.trust.mu.Unlock()
	return agent.TrustInfo{State: state, LeftOut: leftOut, Ask: ask, How: k.s.howToTrust()}
}

// Keep implements [agent.TrustKeeper].
func (k *trustKeeper) Keep(forever bool) error {
	folders := k.s.ws.Snapshot().Folders()
	k.s.opt.Trust.Say(folders, true)
	if !forever {
		return nil
	}
	return k.s.opt.Trust.Keep(folders)
}

// Declined implements [agent.TrustKeeper].
func (k *trustKeeper) Declined() {
	k.s.trust.mu.Lock()
	defer k.s.trust.mu.Unlock()
	k.s.trust.declined = true
}

// Renew implements [agent.TrustKeeper].
func (k *trustKeeper) Renew() (func(*agent.Options), error) {
	l, err := k.s.loadSettings()
	if err != nil || l == k.used {
		return nil, err
	}
	k.used = l
	k.s.runBackground(l)
	return func(o *agent.Options) {
		o.Emit = k.emit
		l.Configure(o)
	}, nil
}

// loaded are settings as they were read while the folders were, or were not, trusted.
type loaded struct {
	Settings
	trusted bool
	folders string // they were read for

	begin sync.Once
}

// loadSettings returns the settings, read again when the folders, or whether they
// are trusted, have changed.
func (s *Server) loadSettings() (*loaded, error) {
	state, _ := s.checkTrust()
	folders := s.ws.Snapshot().Folders()
	now := &loaded{trusted: state == workspace.Trusted, folders: strings.Join(folders, "\x00")}
	s.mu.Lock()
	got := s.settings
	s.mu.Unlock()
	if got != nil && got.trusted == now.trusted && got.folders == now.folders {
		return got, nil
	}
	set, err := s.opt.Settings(folders)
	if err != nil {
		return nil, err
	}
	if set.Tools == nil {
		set.Tools = s.opt.Tools
	}
	s.offerTools(set.Tools)
	now.Settings = set
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings == got { // else another was faster
		s.settings = now
	}
	return s.settings, nil
}

// runBackground starts what the settings want run, once, in the place of what
// earlier ones did.
func (s *Server) runBackground(l *loaded) {
	l.begin.Do(func() {
		ctx, cancel := context.WithCancel(s.root)
		s.mu.Lock()
		before := s.stopBackground
		s.stopBackground = cancel
		s.mu.Unlock()
		if before != nil {
			before()
		}
		if l.Background != nil {
			s.background(func(context.Context) { l.Background(ctx) })
		}
	})
}
