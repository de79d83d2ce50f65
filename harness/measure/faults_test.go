package measure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func draw(t *testing.T, c Config) []death {
	c = c.Filled()
	all, err := drawFaults(&c)
	require.NoError(t, err)
	return all
}

func TestFaultsOfASmallerCountAreAmongThoseOfALarger(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:4,3", "updown", 0.1)
	c.FaultSpacing = 70
	for _, kind := range []string{LinkFaults, SwitchFaults} {
		c.FaultKind, c.FaultCount = kind, 10
		ten := draw(t, c)
		require.Len(t, ten, 10)
		seen := map[death]bool{}
		for i, d := range ten {
			require.EqualValues(t, i*70, d.at)
			d.at = 0
			require.False(t, seen[d], "drawn twice")
			seen[d] = true
			require.Equal(t, kind == SwitchFaults, d.Switch)
			if d.Switch {
				require.Less(t, int(c.Topology.Switches[d.ID].Tier), 2, "not a leaf")
			} else {
				require.True(t, c.Topology.Links[d.ID].BetweenSwitches())
			}
		}
		c.FaultCount = 4
		require.Equal(t, ten[:4], draw(t, c))
		c.Routing = DDRC
		require.Equal(t, ten[:4], draw(t, c), "whatever the routing")
		c.Seed++
		require.NotEqual(t, ten[:4], draw(t, c))
		c.Seed--
	}
}

func TestFaultsComeInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,3", "updown", 0.1)
	c.Faults = []Fault{
		{Link: "s0.00-s1.10", At: 30}, {Switch: "s1.01", At: 10}, {Link: "s1.00-s0.00", Before: true, At: 99},
	}
	all := draw(t, c)
	require.True(t, all[0].before)
	require.Equal(t, "s0.00-s1.00", c.Topology.Links[all[0].ID].Name)
	require.True(t, all[1].Switch)
	require.EqualValues(t, 30, all[2].at)
}

// All faults are there in the end, and the checker agrees with what the packets met.
func TestWhatFaultsDisconnectIsSaid(t *testing.T) {
	t.Parallel()
	for _, routing := range []string{"deterministic-link", DDRC} {
		c := config(t, "kary-ntree:2,2", routing, 0.2)
		c.Faults = []Fault{{Link: "s0.0-s1.0"}}
		r := measured(t, c)
		require.True(t, r.Connected, routing)
		c.Faults = append(c.Faults, Fault{Link: "s0.1-s1.0", At: 200})
		r = measured(t, c)
		require.False(t, r.Connected, routing)
		require.Positive(t, r.Discarded, routing)
		require.Less(t, r.Accepted, r.Offered*0.9, routing)
	}
	c := config(t, "kary-ntree:2,2", "updown", 0.2)
	c.Faults = []Fault{{Link: "s1.0-n00"}}
	require.False(t, measured(t, c).Connected)
}

func TestWithoutFaultsTablesDecideAsUpDownDoes(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,3", DDRC, 0.4)
	det := c
	det.Routing = "updown"
	require.Equal(t, measured(t, c), measured(t, det), "up/down tables and up/down arithmetic go the same ways")
}
