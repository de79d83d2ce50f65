//go:build unix

package sweep

import (
	"syscall"
	"time"
)

// cpuTime is how long this process has computed, on all cores together.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
