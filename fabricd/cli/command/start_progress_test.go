package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestALargeFabricShowsHowFarItHasComeUp(t *testing.T) {
	t.Parallel()
	for _, first := range []fabric.Stage{fabric.StageNodes, fabric.StageHosts} {
		var out rig.Output
		c := &StartProgress{bar: NewProgress(&out, true, "", time.Hour)}
		c.OnProgress(first, 0, 100)
		c.bar.began = c.bar.began.Add(-time.Second)
		c.OnProgress(first, 64, 100)
		assert.Contains(t, out.String(), string(first))
		assert.Contains(t, out.String(), "(64/100)")
		c.OnProgress(fabric.StageUp, 0, 10)
		c.bar.began = c.bar.began.Add(-time.Second)
		c.OnProgress(fabric.StageUp, 8, 10)
		assert.Contains(t, out.String(), string(fabric.StageUp))
		assert.Contains(t, out.String(), "(8/10)", "each stage has pieces of its own")
		c.OnProgress("", 0, 0)
		c.OnProgress("", 0, 0)
	}
}

func TestWithoutATerminalOnlyHostsAndWhatFollowsThemAreCounted(t *testing.T) {
	t.Parallel()
	var out rig.Output
	c := &StartProgress{Stderr: &out}
	c.OnProgress(fabric.StageNodes, 1, 100)
	c.OnProgress("", 0, 0)
	assert.Empty(t, out.String())
	c.OnProgress(fabric.StageHosts, 0, 3)
	c.bar.spoke = c.bar.spoke.Add(-2 * TellEvery)
	c.OnProgress(fabric.StageHosts, 1, 3)
	assert.Contains(t, out.String(), "1 of 3 hosts")
	c.OnProgress(fabric.StageUp, 0, 10)
	c.bar.spoke = c.bar.spoke.Add(-2 * TellEvery)
	c.OnProgress(fabric.StageUp, 8, 10)
	assert.Contains(t, out.String(), "8 of 10 links up")
}
