package main

import (
	"io"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

// coming shows how far a fabric has come up, stage by stage: as a bar on a terminal, and not at all elsewhere, for nobody reads that line
// by line. A small one is up before there is anything to see.
type coming struct {
	bar   *progress // nil: it is not shown
	stage fabric.Stage
	hosts bool // counted first, in place of what comes before links
}

func comingUp(stderr io.Writer) *coming {
	if !cli.Terminal(stderr) {
		return &coming{}
	}
	return &coming{bar: newProgress(stderr, true, "", tellEvery)}
}

// comingOnAgents counts parts, which the bar is told of, and then links, here and there.
func comingOnAgents(stderr io.Writer) *coming {
	return &coming{bar: newProgress(stderr, cli.Terminal(stderr), "hosts", tellEvery), hosts: true}
}

// told is fabric.Options.Progress.
func (c *coming) told(stage fabric.Stage, done, total int) {
	if c.bar == nil || c.hosts && stage != fabric.StageUp {
		return
	}
	if stage != c.stage {
		c.stage = stage
		c.bar.begin(string(stage))
	}
	c.bar.told(uint64(done), uint64(total))
}

// end takes the bar away, however often it is called.
func (c *coming) end() {
	if c.bar != nil {
		c.bar.end()
		c.bar = nil
	}
}
