//go:build !linux

package sim

import (
	"context"
	"errors"

	"github.com/weft-fabric/weft/fabricd/ib"
)

// Fabric is what programs talk to.
type Fabric any

// Server serves a fabric to programs, on Linux.
type Server struct{}

// Listen errs: the programs are those of Linux.
func Listen(string, Fabric, func(who, text string)) (*Server, error) {
	return nil, errors.New("programs of InfiniBand run on Linux alone: leave --ib out")
}

// Run does nothing.
func (*Server) Run(context.Context) {}

// Deliver does nothing.
func (*Server) Deliver(int, *ib.Datagram) error { return nil }
