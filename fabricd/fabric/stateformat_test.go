package fabric_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/rig"
)

// The next leader reads all that the one before has written down, but for the tables, which are
// written apart.
func TestAStateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var full fabric.State
	rig.Fill(&full, 1)
	full.Faults[0].Spec = fault.Spec{
		Do: fault.VerbImpair, A: "s0-s1", Direction: fault.To, For: fault.Duration(3 * time.Second),
		Impair: &fault.Impair{Loss: new(fault.Percent(12.5)), Rate: new(fault.Rate(1e6))},
	}
	full.Faults[0].Suffer[1] = fault.Impairment{Loss: 12.5, Delay: 3, Rate: 1e6}
	full.Faults[1].Spec = fault.Spec{
		Do: fault.VerbFlap, A: "s0", B: "s1",
		Flap: &fault.Flap{Period: fault.Duration(time.Second), Count: 5},
	}
	for _, s := range []fabric.State{{}, full} {
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		s.Tables, s.Traffic.Sources = nil, nil
		got := fabric.State{Events: 7}
		require.NoError(t, got.UnmarshalBinary(data))
		require.Equal(t, s, got)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var read fabric.State
		require.NoError(t, json.Unmarshal(text, &read), "people read it as JSON")
	}
}

func TestAStateOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	data, err := msgpack.Marshal(uint8(9))
	require.NoError(t, err)
	var s fabric.State
	err = s.UnmarshalBinary(append(data, 0xc1))
	require.ErrorIs(t, err, fabric.ErrStateVersion)
	require.ErrorContains(t, err, "it is version 9, and this fabricd reads version 2: run the fabricd that wrote it")
	for _, bad := range [][]byte{nil, {0xc1}, {2}, {2, 7}} {
		require.ErrorContains(t, s.UnmarshalBinary(bad), "read the state: ")
	}
}
