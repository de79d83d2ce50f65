package command

import (
	"io"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

// StartProgress shows how far a fabric has come up, stage by stage: as a bar on a terminal.
// Elsewhere it is shown only where hosts are counted, and not at all of one in this process, for
// nobody reads that line by line. A small one is up before there is anything to see.
type StartProgress struct {
	Stderr io.Writer
	bar    *Progress // nil: it is not shown
	stage  fabric.Stage
}

// OnProgress hears how far the fabric has come; stage "": that is over.
func (c *StartProgress) OnProgress(stage fabric.Stage, done, total int) {
	switch live := Terminal(c.Stderr); {
	case stage == "":
		if c.bar != nil {
			c.bar.End()
		}
		c.bar = nil
		return
	case c.bar == nil && !live && stage != fabric.StageHosts:
		return
	case c.bar == nil:
		c.bar = NewProgress(c.Stderr, live, string(stage), TellEvery)
	case stage != c.stage:
		c.bar.Begin(string(stage))
	}
	c.stage = stage
	c.bar.Told(uint64(done), uint64(total))
}
