package command

import (
	"io"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

// StartProgress shows how far a fabric has come up, stage by stage: as a bar on a terminal, and not
// at all elsewhere, for nobody reads that line by line. A small one is up before there is anything
// to see.
type StartProgress struct {
	Bar   *Progress // nil: it is not shown
	stage fabric.Stage
	hosts bool // counted first, in place of what comes before links
}

// NewStartProgress shows the stages of a fabric in this process on a terminal.
func NewStartProgress(stderr io.Writer) *StartProgress {
	if !Terminal(stderr) {
		return &StartProgress{}
	}
	return &StartProgress{Bar: NewProgress(stderr, true, "", TellEvery)}
}

// NewClusterProgress counts hosts, which the bar is told of, and then links, here and there.
func NewClusterProgress(stderr io.Writer) *StartProgress {
	return &StartProgress{Bar: NewProgress(stderr, Terminal(stderr), "hosts", TellEvery), hosts: true}
}

// OnProgress is fabric.Options.Progress.
func (c *StartProgress) OnProgress(stage fabric.Stage, done, total int) {
	if c.Bar == nil || c.hosts && stage != fabric.StageUp {
		return
	}
	if stage != c.stage {
		c.stage = stage
		c.Bar.Begin(string(stage))
	}
	c.Bar.Told(uint64(done), uint64(total))
}

// End takes the bar away, however often it is called.
func (c *StartProgress) End() {
	if c.Bar != nil {
		c.Bar.End()
		c.Bar = nil
	}
}
