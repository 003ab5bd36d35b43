package acp

import (
	"sync"

	"redline/agent"
	"redline/workspace"
)

// trustKeeper is [agent.TrustKeeper] for one session.
type trustKeeper struct {
	x    *session
	used workspace.Trust // what the session's options were made with; its turns' alone

	mu       sync.Mutex
	declined bool // the user was asked and did not say yes
}

var _ agent.TrustKeeper = (*trustKeeper)(nil)

func (x *session) trustKey() workspace.Trust {
	state, _ := x.s.trustOf(x.ws.Snapshot().Folders())
	return state
}

// Trust implements [agent.TrustKeeper].
func (k *trustKeeper) Trust() agent.TrustInfo {
	folders := k.x.ws.Snapshot().Folders()
	state, leftOut := k.x.s.trustOf(folders)
	k.mu.Lock()
	defer k.mu.Unlock()
	return agent.TrustInfo{State: state, LeftOut: leftOut, Ask: !k.declined, How: k.x.s.opt.Trust.How(folders)}
}

// Keep implements [agent.TrustKeeper].
func (k *trustKeeper) Keep(forever bool) error {
	folders := k.x.ws.Snapshot().Folders()
	k.x.s.opt.Trust.Say(folders, true)
	if !forever {
		return nil
	}
	return k.x.s.opt.Trust.Keep(folders)
}

// Declined implements [agent.TrustKeeper].
func (k *trustKeeper) Declined() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.declined = true
}

// Renew implements [agent.TrustKeeper].
func (k *trustKeeper) Renew() (func(*agent.Options), error) {
	now := k.x.trustKey()
	if now == k.used {
		return nil, nil
	}
	set, err := k.x.loadSettings()
	if err != nil {
		return nil, err
	}
	k.used = now
	k.x.use(set)
	return func(o *agent.Options) {
		o.Emit = k.x.emit // without what the settings before put around it
		set.Configure(o)
	}, nil
}
