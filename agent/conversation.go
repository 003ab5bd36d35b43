package agent

import (
	"time"

	"redline/agent/memory"
	"redline/agent/models"
)

// Conversation is the part of [Options] that the settings give about how a session
// talks to its model. The zero value is useful.
type Conversation struct {
	// Models are the aliases and parameters of models; nil: those that are built in.
	Models *models.Set
	// Memory says where instructions such as GEMINI.md are found.
	Memory memory.Options
	// CompressAt is the share of the model's window from which on the conversation
	// is compressed; 0: DefaultCompressAt, 1 and more: only when asked to.
	CompressAt float64
	// Window is how many tokens a model reads that redline does not know by its name;
	// 0: what the service says, else a guess.
	Window int
	// Stall is how long nothing may come from the service before a request has failed;
	// 0: DefaultStall.
	Stall time.Duration
	// AllowLoops lets the model go round in circles.
	AllowLoops bool
	// Fallback returns the model to go on with when the quota of the given one is used
	// up or it stays too busy; empty: none. Nil: there is never one.
	Fallback func(modelName string) string
	// Alone says that there is no user who could send the next prompt: after a
	// fallback the turn goes on with the other model.
	Alone bool
	// Free says that nobody pays for tokens, so that no cost is told. Nil: somebody does.
	Free func() bool
}

// The defaults of [Conversation].
const (
	DefaultCompressAt = 0.7
	DefaultStall      = 10 * time.Minute
)
