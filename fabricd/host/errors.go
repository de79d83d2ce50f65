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

// ErrReplaced means that a request comes from a leader of a lower term than one that the host has
// heard.
var ErrReplaced = reply.Code{Name: "replaced", Text: "another leader has taken over since"}

// ErrRuns means that an agent is asked for a host of a fabric of which it runs one already.
var ErrRuns = errors.New("a host of this fabric runs here already")
