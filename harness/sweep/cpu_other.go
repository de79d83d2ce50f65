//go:build !unix

package sweep

import "time"

var started = time.Now()

// cpuTime is the time since the start: what a process has computed is not known everywhere.
func cpuTime() time.Duration { return time.Since(started) }
