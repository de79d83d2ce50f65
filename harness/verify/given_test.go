package verify_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestElementsAreFoundByName(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	for name, want := range map[string]string{
		"s1.00": "s1.00", "s0.00-s1.10": "s0.00-s1.10",
		"s1.10-s0.00": "s0.00-s1.10",
	} {
		e, err := verify.ElementByName(g, name)
		require.NoError(t, err)
		assert.Equal(t, want, e.Name(g))
	}
	for name, want := range map[string]string{
		"s1.0":       `unknown switch "s1.0": did you mean "s1.00"?`,
		"s0.00-s1.1": `unknown link "s0.00-s1.1": did you mean "s0.00-s1.10"?`, "n000": "n000 is a NIC",
	} {
		_, err := verify.ElementByName(g, name)
		assert.ErrorContains(t, err, want, name)
	}
}

func TestGivenSetsAreChecked(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,2")
	nic, err := g.LinkByName("s1.0-n00")
	require.NoError(t, err)
	link := verify.Element{ID: 0}
	for want, list := range map[string][][]verify.Element{
		"set 2 has s0.0 twice":                       {{}, {{Switch: true}, {Switch: true}}},
		"set 1 has s1.0-n00, the only link of a NIC": {{{ID: uint32(nic.ID)}}},
		"ID:99}, which is not in kary-ntree:2,2":     {{{Switch: true, ID: 99}}},
		"ID:98}, which is not in kary-ntree:2,2":     {{link, {ID: 98}}},
	} {
		_, err := verify.Run(t.Context(), verify.Config{
			Graph: g, Firmware: firmware.UpDown{}.Firmware(), Sets: verify.Sets{List: list},
		})
		require.ErrorIs(t, err, verify.ErrConfig)
		require.ErrorContains(t, err, want)
	}
}

func TestSamplesAreBoundedToo(t *testing.T) {
	t.Parallel()
	sets := verify.Sets{Min: 1, Max: 2, Samples: 1e9}
	_, err := verify.Run(t.Context(), verify.Config{
		Graph:    topologytest.Parse(t, "kary-ntree:2,2"),
		Firmware: firmware.UpDown{}.Firmware(), Sets: sets,
	})
	require.ErrorIs(t, err, verify.ErrConfig)
	require.ErrorContains(t, err, "ask for fewer samples")
}

// A set of 63 and of 64 faults: as many as an integer has bits.
func TestSetsMayHaveAnyNumberOfFaults(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,5")
	for _, size := range []int{64, 128, 62, 63, 65}[:testenv.N(5, 2)] {
		r, err := verify.Run(t.Context(), verify.Config{
			Graph: g, Firmware: firmware.UpDown{}.Firmware(), Sets: verify.Sets{Min: size, Max: size, Samples: 1},
		})
		require.NoError(t, err)
		assert.EqualValues(t, 1, r.FaultSets)
		assert.Positive(t, r.Unconnected)
		if size == 128 {
			assert.EqualValues(t, 32*31, r.Unconnected+2*16, "all links are dead: only the two NICs of a leaf are left")
		}
	}
}

func TestCheckpointIsKnownByTheNameOfTheFirmware(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "checkpoint")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := func(name string) verify.Config {
		g := topologytest.Parse(t, "kary-ntree:2,2")
		return verify.Config{
			Graph: g, Name: name, Firmware: firmware.UpDown{}.Firmware(), Sets: verify.Sets{Max: 2},
			Checkpoint: file, Workers: 1,
		}
	}
	r, err := verify.Run(ended, c("mine"))
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Contains(t, r.String(), "interrupted, nothing wrong so far")
	_, err = verify.Run(t.Context(), c("another"))
	require.ErrorContains(t, err, "is of another run")
	r, err = verify.Run(t.Context(), c("mine"))
	require.NoError(t, err)
	assert.EqualValues(t, 1+4+6, r.FaultSets)
	assert.Equal(t, "mine", r.Routing)
}

func TestPortsThatComeUpOneByOneAreThoseOfSwitchesThatComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tree string
		when verify.When
		want string
	}{
		{"kary-ntree:2,2", verify.Arriving, "ask for flapping faults"},
		{"kary-ntree:9,2", verify.Flapping, "at most 16 a switch, not 18"},
	} {
		_, err := verify.Run(t.Context(),
			verify.Config{
				Graph: topologytest.Parse(t, c.tree), Firmware: firmware.UpDown{}.Firmware(), When: c.when,
				OneByOne: true,
			})
		require.ErrorIs(t, err, verify.ErrConfig)
		require.ErrorContains(t, err, c.want)
	}
}
