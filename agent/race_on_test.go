//go:build race

package agent_test

import "time"

// cancelLimit is 100 ms, and what the race detector costs.
const cancelLimit = 500 * time.Millisecond
