//go:build !unix

package testenv

import "time"

var started = time.Now()

// CPU is the time since the start: what a process has computed is not known everywhere.
func CPU() time.Duration { return time.Since(started) }
