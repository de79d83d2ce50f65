//go:build unix

package testenv

import (
	"syscall"
	"time"
)

// CPU is how long this process has computed, on all cores together.
func CPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
