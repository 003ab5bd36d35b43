package rpc

import "sync"

// phase is where a connection is in the LSP lifecycle.
type phase int

const (
	phaseNew phase = iota
	phaseInitializing
	phaseRunning
	phaseShutdown
)

const (
	methodInitialize = "initialize"
	methodShutdown   = "shutdown"
	methodExit       = "exit"
	methodCancel     = "$/cancelRequest"
	methodCancelACP  = "$/cancel_request"
)

// lifecycle admits what LSP 3.18 allows in each phase.
type lifecycle struct {
	mu    sync.Mutex
	phase phase
}

// request admits a request or says why not.
func (l *lifecycle) request(method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.phase == phaseShutdown:
		return Errorf(CodeInvalidRequest, KindInvalidRequest, "%s after shutdown", method)
	case method == methodInitialize && l.phase != phaseNew:
		return Errorf(CodeInvalidRequest, KindInvalidRequest, "initialize may be sent only once")
	case method == methodInitialize:
		l.phase = phaseInitializing
	case l.phase != phaseRunning:
		return Errorf(CodeNotInitialized, KindNotInitialized, "%s before initialize", method)
	case method == methodShutdown:
		l.phase = phaseShutdown
	}
	return nil
}

// initialized ends initialize; when it failed the client may try again.
func (l *lifecycle) initialized(ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != phaseInitializing {
		return
	}
	l.phase = phaseNew
	if ok {
		l.phase = phaseRunning
	}
}

// notification reports whether a notification may be handled.
func (l *lifecycle) notification() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == phaseRunning
}

// exitCode is the process' exit code should exit come now: 0 after shutdown, else 1.
func (l *lifecycle) exitCode() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == phaseShutdown {
		return 0
	}
	return 1
}
