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
		topology: "kary-ntree:2,3", routing: "deterministic-link", faults: "3", kind: "link", when: "before",
		registers: "shared", jobs: 1, noSymmetry: true,
		exhaustive: true, checkpoint: file, tellEvery: time.Nanosecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &rig.Signals{Word: ", about ", Cancel: cancel}
	var out rig.Output
	err := v.run(ctx, nil, &out, errs)
	require.Regexp(t, `^interrupted after \d+ of 697 fault sets: the same command goes on from `+file+`$`, err.Error())
	require.NotErrorIs(t, err, command.ErrFailed, "exit code 2")
	assert.Regexp(t, `^kary-ntree:2,3, deterministic-link, 2 virtual channels, faults before the first packet\n\n`,
		out.String())
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
		"interrupted after 0 fault sets: with --checkpoint FILE the next run could go on from here")
}

func TestVerifyOfAllSetsAtOnceGoesOnFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	v := verifyFlags{
		topology: "kary-ntree:3,3", routing: "deterministic-link", faults: "2", kind: "link", when: "before",
		registers: "shared",
		jobs:      1, noSymmetry: true, tellEvery: time.Nanosecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.EqualError(t, v.run(ctx, nil, &rig.Output{}, &rig.Signals{Word: ", about ", Cancel: cancel}),
		"interrupted while all sets were explored at once: with --checkpoint FILE the next run could go on from here")

	v.checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	var out rig.Output
	errs := &rig.Signals{Word: ", about ", Cancel: cancel}
	require.EqualError(t, v.run(ctx, nil, &out, errs),
		"interrupted while all sets were explored at once: the same command goes on from "+v.checkpoint)
	assert.Regexp(t, `note: \d+ of 27 destinations explored\n`, out.String())
	assert.Regexp(t, `^1 of 27 destinations, 3.70%\n2 of 27 destinations, 7.41%, about \S+ left\n`, errs.String())

	var again rig.Output
	more := &rig.Output{}
	require.NoError(t, v.run(t.Context(), nil, &again, more))
	assert.Regexp(t, `^([3-9]|1\d) of 27 destinations, `, more.String())
	assert.Contains(t, again.String(), "holds: 1486 fault sets")
}
