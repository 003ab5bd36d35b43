package lsp

import (
	"context"
	"slices"
	"sync"
	"time"

	"redline/lsp/rpc"
)

// maxBehind is how long a question waits for the answer to a command at the most: long
// enough for any answer, and no deadlock should a command ever wait for a question.
const maxBehind = 2 * time.Second

// unanswered are the commands whose answers are not on their way yet. An editor that waits
// for one may leave its wait, and with it whatever it shows its user meanwhile: eglot drops a
// question that it has been sent before the answer, and never answers it. So what may have
// the editor ask is sent behind the answers to the commands before it.
type unanswered struct {
	mu   sync.Mutex
	open []<-chan struct{}
}

// note adds the command that ctx is of.
func (u *unanswered) note(ctx context.Context) {
	answered := rpc.Answered(ctx)
	if answered == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = append(u.left(), answered)
}

// left returns those that are not answered; mu is held.
func (u *unanswered) left() []<-chan struct{} {
	return slices.DeleteFunc(u.open, func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	})
}

// wait returns when the commands noted so far are answered, after maxBehind, or with ctx.
func (u *unanswered) wait(ctx context.Context) {
	u.mu.Lock()
	u.open = u.left()
	open := slices.Clone(u.open)
	u.mu.Unlock()
	if len(open) == 0 {
		return
	}
	limit := time.NewTimer(maxBehind)
	defer limit.Stop()
	for _, c := range open {
		select {
		case <-c:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
