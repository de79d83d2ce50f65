package tolerate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
)

// What was counted when somebody pressed Ctrl-C is printed.
func TestTolerateIsInterruptedCleanly(t *testing.T) {
	t.Parallel()
	for _, u := range []tolerateFlags{
		{topology: "torus:3x3x3", mechanisms: []string{"I+D", "I"}, faults: "9"},
		{topology: "torus:3x3x3", mechanisms: []string{"I+D", "I"}, faults: "9", samples: 100_000_000},
		{topology: "torus:3x3x3", mechanisms: []string{"I+M", "I"}, faults: "1", limit: true},
	} {
		u.region, u.json, u.tellEvery = "all", true, time.Nanosecond
		ctx, interrupt := context.WithCancel(t.Context())
		var out rig.Output
		err := u.run(ctx, nil, &out, whenWritten(interrupt)) // its first line of progress
		require.Regexp(t, `^interrupted( after \S+ of \S+ fault sets: what was counted until then is|: I\+M may tolerate more than is said) above$`, err.Error())
		assert.Equal(t, 1, strings.Count(out.String(), `"complete":false`), "%+v: %s", u, out.String())
		assert.Equal(t, 1, strings.Count(out.String(), "\n"), "the others were not begun: %s", out.String())
	}
}

// whenWritten calls itself when something is written to it.
type whenWritten func()

func (f whenWritten) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}
