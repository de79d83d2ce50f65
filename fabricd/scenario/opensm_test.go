package scenario_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual/world"
)

const failing = "../../scenarios/opensm/failures.yaml"

// few is the scenario of a hundred failures with a few.
func few(t *testing.T) *scenario.Scenario {
	t.Helper()
	text, err := os.ReadFile(failing)
	require.NoError(t, err)
	short := strings.NewReplacer("count: 100,", "count: 3,", "605s", "20s").Replace(string(text))
	require.NotEqual(t, string(text), short)
	s, err := scenario.Load(t.Context(), failing, []byte(short))
	require.NoError(t, err)
	return s
}

// OpenSM manages a fabric while links fail, and has ended with the scenario.
func TestOpenSMManagesAScenario(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	testenv.Need(t, "opensm", "packages opensm and libumad2sim0")
	r, err := run(t, t.Context(), few(t), nil)
	require.NoError(t, err)
	assert.True(t, r.Pass, r.Failed)
	require.Len(t, r.Faults, 3)
	for _, f := range r.Faults {
		require.NotNil(t, f.Reconfiguration, f.What)
		assert.Equal(t, "opensm", f.Reconfiguration.Method)
	}
}

// Wrong arguments of OpenSM are named, and virtual time is refused.
func TestOpenSMThatDoesNotBeginIsNamed(t *testing.T) {
	testenv.Need(t, "opensm", "packages opensm and libumad2sim0")
	s := few(t)
	s.Args = []string{"--nonsense"}
	_, err := run(t, t.Context(), s, nil)
	require.ErrorContains(t, err, "nonsense")
	_, err = scenario.Runner{Runtime: func() fabric.Runtime { return world.New() }}.Run(t.Context(), few(t))
	require.ErrorContains(t, err, "without --virtual")
}

// The same seed draws the same cuts, and another one others.
func TestFailuresAreDrawnByTheSeed(t *testing.T) {
	t.Parallel()
	cuts := func(s *scenario.Scenario) (list []string) {
		for _, a := range s.Timeline {
			list = append(list, a.At.String()+" "+a.Text)
		}
		return list
	}
	s := read(t, failing)
	require.Len(t, s.Timeline, 100)
	again, err := s.Seeded(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, cuts(s), cuts(again))
	other, err := s.Seeded(t.Context(), 2)
	require.NoError(t, err)
	require.NotEqual(t, cuts(s), cuts(other))
	require.Equal(t, s.Timeline[99].At, other.Timeline[99].At)
}
