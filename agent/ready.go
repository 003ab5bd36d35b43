package agent

import (
	"context"
	"time"
)

// toolsWait is how long a first turn waits for tools that come by themselves. Who
// needs longer is there for a later step: a turn asks for the tools with each one.
const toolsWait = 2 * time.Second

// awaitTools gives tools that come by themselves time to come, once.
func (s *Session) awaitTools(ctx context.Context) {
	if s.opt.Ready == nil || s.awaited {
		return
	}
	s.awaited = true
	ctx, cancel := context.WithTimeout(ctx, toolsWait)
	defer cancel()
	s.opt.Ready(ctx)
}
