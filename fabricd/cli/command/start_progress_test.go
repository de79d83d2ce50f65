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
	var out rig.Output
	c := &StartProgress{Bar: NewProgress(&out, true, "", time.Hour)}
	c.OnProgress(fabric.StageNodes, 0, 100)
	c.Bar.began = c.Bar.began.Add(-time.Second)
	c.OnProgress(fabric.StageNodes, 64, 100)
	assert.Contains(t, out.String(), string(fabric.StageNodes))
	assert.Contains(t, out.String(), "(64/100)")
	c.OnProgress(fabric.StageUp, 0, 10)
	c.Bar.began = c.Bar.began.Add(-time.Second)
	c.OnProgress(fabric.StageUp, 8, 10)
	assert.Contains(t, out.String(), string(fabric.StageUp))
	assert.Contains(t, out.String(), "(8/10)", "each stage has pieces of its own")
	c.End()
	c.End()
	shown := out.String()
	c.OnProgress(fabric.StageUp, 9, 10)
	assert.Equal(t, shown, out.String(), "nothing is shown once it is up")
}

func TestNothingIsShownWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out rig.Output
	c := NewStartProgress(&out)
	c.OnProgress(fabric.StageNodes, 1, 100)
	c.End()
	assert.Empty(t, out.String())
}

func TestOnAgentsHostsAreCountedAndThenLinks(t *testing.T) {
	t.Parallel()
	var out rig.Output
	c := NewClusterProgress(&out)
	c.Bar.live = true
	c.OnProgress(fabric.StageNodes, 1, 100) // of the leader, which has none of its own
	assert.Empty(t, out.String())
	c.Bar.Told(0, 3)
	c.Bar.began = c.Bar.began.Add(-time.Second)
	c.Bar.Told(1, 3)
	assert.Contains(t, out.String(), "hosts")
	assert.Contains(t, out.String(), "(1/3)")
	c.OnProgress(fabric.StageUp, 0, 10)
	c.Bar.began = c.Bar.began.Add(-time.Second)
	c.OnProgress(fabric.StageUp, 8, 10)
	assert.Contains(t, out.String(), "(8/10)")
	c.End()
}
