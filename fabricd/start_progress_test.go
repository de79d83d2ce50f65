package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestALargeFabricShowsHowFarItHasComeUp(t *testing.T) {
	t.Parallel()
	var out rig.Output
	c := &startProgress{bar: newProgress(&out, true, "", time.Hour)}
	c.onProgress(fabric.StageNodes, 0, 100)
	c.bar.began = c.bar.began.Add(-time.Second)
	c.onProgress(fabric.StageNodes, 64, 100)
	assert.Contains(t, out.String(), string(fabric.StageNodes))
	assert.Contains(t, out.String(), "(64/100)")
	c.onProgress(fabric.StageUp, 0, 10)
	c.bar.began = c.bar.began.Add(-time.Second)
	c.onProgress(fabric.StageUp, 8, 10)
	assert.Contains(t, out.String(), string(fabric.StageUp))
	assert.Contains(t, out.String(), "(8/10)", "each stage has pieces of its own")
	c.end()
	c.end()
	shown := out.String()
	c.onProgress(fabric.StageUp, 9, 10)
	assert.Equal(t, shown, out.String(), "nothing is shown once it is up")
}

func TestNothingIsShownWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out rig.Output
	c := newStartProgress(&out)
	c.onProgress(fabric.StageNodes, 1, 100)
	c.end()
	assert.Empty(t, out.String())
}

func TestOnAgentsHostsAreCountedAndThenLinks(t *testing.T) {
	t.Parallel()
	var out rig.Output
	c := newClusterProgress(&out)
	c.bar.live = true
	c.onProgress(fabric.StageNodes, 1, 100) // of the leader, which has none of its own
	assert.Empty(t, out.String())
	c.bar.told(0, 3)
	c.bar.began = c.bar.began.Add(-time.Second)
	c.bar.told(1, 3)
	assert.Contains(t, out.String(), "hosts")
	assert.Contains(t, out.String(), "(1/3)")
	c.onProgress(fabric.StageUp, 0, 10)
	c.bar.began = c.bar.began.Add(-time.Second)
	c.onProgress(fabric.StageUp, 8, 10)
	assert.Contains(t, out.String(), "(8/10)")
	c.end()
}
