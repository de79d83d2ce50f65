package part

import (
	"errors"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// What ends a part that was not told to end.
var (
	// ErrAlone means that nobody has asked it anything for as long as [Config].Alone.
	ErrAlone = errors.New("nobody asks it anything any more")
	// ErrRefused means that the broker takes its credentials no more.
	ErrRefused = errors.New("its broker takes our credentials no more")
)

// ErrReplaced means that a request comes from a leader of a lower term than one that the part has heard.
var ErrReplaced = reply.Code{Name: "replaced", Text: "another leader has taken over since"}

// ErrRuns means that an agent is asked to host a part of a fabric of which it runs one already.
var ErrRuns = errors.New("a part of this fabric runs here already")
