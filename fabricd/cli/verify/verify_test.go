package verify

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/verify"
)

func TestVerifyThatIsInterruptedGoesOnFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "checkpoint")
	v := verifyFlags{
		topology: "kary-ntree:2,3", routing: "deterministic-link", faults: "3", kind: "link", when: "before", registers: "shared", jobs: 1, noSymmetry: true,
		checkpoint: file, tellEvery: time.Nanosecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &rig.Signals{Word: ", about ", Cancel: cancel}
	var out rig.Output
	err := v.run(ctx, nil, &out, errs)
	require.Regexp(t, `^interrupted after \d+ of 697 fault sets: the same command goes on from `+file+`$`, err.Error())
	require.NotErrorIs(t, err, command.ErrFailed, "exit code 2")
	assert.Regexp(t, `^kary-ntree:2,3, deterministic-link, 2 virtual channels, faults before the first packet\n\n`, out.String())
	assert.Regexp(t, `^32 of 697 fault sets, 4.59%\n64 of 697 fault sets, 9.18%, about \S+ left\n`, errs.String())

	var again rig.Output
	v.json = true
	require.ErrorIs(t, v.run(t.Context(), nil, &again, &rig.Output{}), command.ErrFailed)
	var r verify.Result
	require.NoError(t, json.Unmarshal([]byte(again.String()), &r))
	assert.EqualValues(t, 697, r.FaultSets)

	v.checkpoint = ""
	var whole rig.Output
	require.ErrorIs(t, v.run(t.Context(), nil, &whole, &rig.Output{}), command.ErrFailed)
	var w verify.Result
	require.NoError(t, json.Unmarshal([]byte(whole.String()), &w))
	r.Seconds, w.Seconds, r.States, w.States = 0, 0, 0, 0
	assert.Equal(t, w, r, "as in one go")

	ended, stop := context.WithCancel(t.Context())
	stop()
	require.EqualError(t, v.run(ended, nil, &rig.Output{}, &rig.Output{}),
		"interrupted while all sets were explored at once: the next run begins anew")
	v.exhaustive = true
	require.EqualError(t, v.run(ended, nil, &rig.Output{}, &rig.Output{}),
		"interrupted after 0 fault sets: with --checkpoint FILE the next run could go on from here")
}
