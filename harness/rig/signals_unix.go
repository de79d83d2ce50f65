//go:build unix

package rig

import "syscall"

// Signals that stop a process where it is, and let it go on.
const (
	Freeze = syscall.SIGSTOP
	Thaw   = syscall.SIGCONT
)

func (p *Process) needsSignals() {}

// MakePipe makes a named pipe that its user alone can open.
func MakePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
