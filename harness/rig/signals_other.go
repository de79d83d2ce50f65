//go:build !unix

package rig

import (
	"errors"
	"syscall"
)

// Freeze and Thaw are no signals here.
const (
	Freeze = syscall.Signal(-1)
	Thaw   = syscall.Signal(-2)
)

func (p *Process) needsSignals() {
	p.Skip("needs signals to processes, which this system does not have")
}

// MakePipe makes no pipe.
func MakePipe(string) error { return errors.ErrUnsupported }
