package main

import (
	"io"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

// startProgress shows how far a fabric has come up, stage by stage: as a bar on a terminal, and not
// at all elsewhere, for nobody reads that line by line. A small one is up before there is anything
// to see.
type startProgress struct {
	bar   *progress // nil: it is not shown
	stage fabric.Stage
	hosts bool // counted first, in place of what comes before links
}

func newStartProgress(stderr io.Writer) *startProgress {
	if !cli.Terminal(stderr) {
		return &startProgress{}
	}
	return &startProgress{bar: newProgress(stderr, true, "", tellEvery)}
}

// newClusterProgress counts hosts, which the bar is told of, and then links, here and there.
func newClusterProgress(stderr io.Writer) *startProgress {
	return &startProgress{bar: newProgress(stderr, cli.Terminal(stderr), "hosts", tellEvery), hosts: true}
}

// onProgress is fabric.Options.Progress.
func (c *startProgress) onProgress(stage fabric.Stage, done, total int) {
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
func (c *startProgress) end() {
	if c.bar != nil {
		c.bar.end()
		c.bar = nil
	}
}
