//go:build !race

package agent_test

import "time"

// cancelLimit is within how long a cancel takes effect.
const cancelLimit = 100 * time.Millisecond
