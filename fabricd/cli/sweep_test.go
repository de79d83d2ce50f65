package cli_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestAnInterruptedSweepSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := write(t, `
name: file
about: Two loads.
base: {topology: "kary-ntree:2,2", routing: adaptive-link, window: 500}
axes: [{axis: load, values: [0.1, 0.2]}]
samples: 2
quick: {samples: 1}
`)
	var out, errs rig.Output
	to := t.TempDir()
	code := run(ctx, &out, &errs, "sweep", path, "--out", to)
	assert.Equal(t, command.ExitUnusable, code)
	assert.Equal(t, "fabricd: interrupted after 0 of 4 runs: the same command goes on from "+to+"/runs.journal\n",
		errs.String())
}
