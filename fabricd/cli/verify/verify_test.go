package verify

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/verify"
)

func TestVerifyTakesSetsFromStandardInput(t *testing.T) {
	t.Parallel()
	v := verifyFlags{topology: "kary-ntree:2,3", routing: "updown", when: "before", registers: "shared", setsFile: "-", json: true, tellEvery: time.Minute}
	var out, errs rig.Output
	require.ErrorIs(t, v.run(t.Context(), strings.NewReader("s1.00\ns1.01\n"), &out, &errs), command.ErrFailed)
	assert.Contains(t, out.String(), `"fault_sets":2,`)
}

func TestVerifySubfunctionNeedsATree(t *testing.T) {
	t.Parallel()
	v := verifyFlags{topology: "ring:4", routing: "", faults: "0", when: "before", registers: "shared", subfunction: "groups"}
	_, err := v.config(t.Context(), strings.NewReader(""), io.Discard)
	require.ErrorContains(t, err, "--subfunction knows trees only, and ring:4 is none")
}

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
	require.ErrorContains(t, err, " of 697 fault sets: the same command goes on from "+file)
	require.NotErrorIs(t, err, command.ErrFailed, "exit code 2")
	assert.Contains(t, out.String(), "faults before the first packet")
	assert.Contains(t, errs.String(), "32 of 697 fault sets, 4.59%\n64 of 697 fault sets, 9.18%, about ")

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
	require.ErrorContains(t, v.run(ended, nil, &rig.Output{}, &rig.Output{}),
		"with --checkpoint FILE the next run could go on")
}
