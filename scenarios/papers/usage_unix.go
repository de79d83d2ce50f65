//go:build unix

package main

import "syscall"

// usage is what the system has counted for this process.
func usage() *syscall.Rusage {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return &u
}

// cpuSeconds is the processor time that this process has had.
func cpuSeconds() float64 {
	u := usage()
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak is the most memory that a process has had, in megabytes; 0 where that is not told.
func peak(usage any) float64 {
	if u, ok := usage.(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}
