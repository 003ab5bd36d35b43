package main

import (
	"redline/agent"
	"redline/agent/memory"
	"redline/agent/models"
	"redline/cmd/internal/config"
	"redline/workspace"
)

// conversation returns what the settings say about how sessions talk to the model.
// method tells how the user has signed in (settings key security.auth.selectedType).
func conversation(getenv func(string) string, cfg *config.Config, trusted *folderTrust, method func() string) agent.Conversation {
	return agent.Conversation{
		Models: cfg.Models, CompressAt: cfg.CompressAt, Window: cfg.Window, Stall: cfg.Retry.Stall, AllowLoops: cfg.AllowLoops,
		Memory: memory.Options{
			Home: config.Home(getenv), Names: cfg.ContextNames,
			// As in Gemini CLI: a folder that the user said no to is not read from.
			// Text alone runs nothing, so that silence is no obstacle.
			Trusted: func(folder string) bool {
				if cfg.Trust == workspace.Trusted {
					return true
				}
				state, _ := trusted.store.State(folder)
				return state != workspace.Untrusted
			},
		},
		Fallback: func(modelName string) string {
			if method() != "oauth-personal" { // with a key it is the user's own quota, and choice
				return ""
			}
			return models.Flash(modelName)
		},
		Free: func() bool { return method() == "oauth-personal" || method() == "cloud-shell" },
	}
}
