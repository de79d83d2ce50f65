package part

import "errors"

// ErrRuns means that an agent is asked to host a part of a fabric of which it runs one already.
var ErrRuns = errors.New("a part of this fabric runs here already")
