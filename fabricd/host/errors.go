package host

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Errors of requests, as texts that travel.
var (
	ErrIncarnation = errors.New("another incarnation of this host runs here")
	errNot         = errors.New("not in this host")
)

func errNotHosted(n weft.Node) error { return fmt.Errorf("%v: %w", n, errNot) }

// ErrOvertaken means that the host has carried out another order since it said what was done to it.
var ErrOvertaken = reply.Code{Name: "overtaken", Text: "another order has come in between"}

// ErrReplaced means that the host has heard a leader of a higher term than the one that asks.
var ErrReplaced = reply.Code{Name: "replaced", Text: "another leader has taken over since"}

// ErrRuns means that the agent already runs a host of that fabric.
var ErrRuns = errors.New("a host of this fabric runs here already")
