package main

import (
	"context"
	"os"
	"strings"
	"sync"

	"go.uber.org/zap"

	"redline/cmd/internal/config"
	"redline/tools"
	"redline/tools/discovery"
	"redline/tools/shell"
)

// discovered returns the command of the settings that brings tools into reg once it
// has run; nil when there is none.
func discovered(cfg *config.Config, folders []string, reg *tools.Registry, log *zap.Logger) *discovery.Command {
	if strings.TrimSpace(cfg.DiscoveryCommand) == "" {
		return nil
	}
	dir := ""
	if len(folders) > 0 {
		dir = folders[0]
	}
	return discovery.New(reg, discovery.Options{
		Discover: cfg.DiscoveryCommand, Call: cfg.CallCommand, Dir: dir, Env: shell.Environ(cfg.CommandEnv.Clean(os.Environ())),
		Offer: func(t *tools.Spec) bool { return !tools.Excluded(t, cfg.ExcludedTools) },
		Log:   func(text string) { log.Warn(text) },
	})
}

// A bringer brings tools into a registry, beside the sessions.
type bringer interface {
	Run(ctx context.Context)
	Ready(ctx context.Context)
}

// together runs several as one; both functions are nil when there is nothing to run.
func together(all []bringer) (run, ready func(ctx context.Context)) {
	if len(all) == 0 {
		return nil, nil
	}
	each := func(f func(bringer, context.Context)) func(context.Context) {
		return func(ctx context.Context) {
			var wg sync.WaitGroup
			for _, b := range all {
				wg.Go(func() { f(b, ctx) })
			}
			wg.Wait()
		}
	}
	return each(bringer.Run), each(bringer.Ready)
}
