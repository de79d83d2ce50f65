package command

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
)

// timeLeft is what was printed, with a "?" for the time that is left.
func timeLeft(out *rig.Output) string {
	return regexp.MustCompile(`about \S+ left`).ReplaceAllString(out.String(), "about ? left")
}

func TestALargeFabricShowsHowFarItHasComeUp(t *testing.T) {
	t.Parallel()
	for first, want := range map[fabric.Stage]string{
		fabric.StageNodes: "switches and NICs made",
		fabric.StageHosts: "hosts",
	} {
		var out rig.Output
		c := &StartProgress{bar: NewProgress(&out, true, "", time.Hour)}
		c.OnProgress(first, 0, 100)
		c.bar.began = c.bar.began.Add(-time.Second)
		c.OnProgress(first, 64, 100)
		c.OnProgress(fabric.StageUp, 0, 10) // each stage has pieces of its own
		c.bar.began = c.bar.began.Add(-time.Second)
		c.OnProgress(fabric.StageUp, 8, 10)
		c.OnProgress("", 0, 0)
		c.OnProgress("", 0, 0)
		assert.Equal(t, "\r\x1b[K"+want+", about ? left  ███████████████████░░░░░░░░░░░  64%  (64/100)\r\x1b[K"+
			"\r\x1b[Klinks up, about ? left  ████████████████████████░░░░░░  80%  (8/10)\r\x1b[K", timeLeft(&out))
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
	c.OnProgress(fabric.StageUp, 0, 10)
	c.bar.spoke = c.bar.spoke.Add(-2 * TellEvery)
	c.OnProgress(fabric.StageUp, 8, 10)
	assert.Equal(t, "1 of 3 hosts, 33.33%, about ? left\n8 of 10 links up, 80.00%, about ? left\n", timeLeft(&out))
}
