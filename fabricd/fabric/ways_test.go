package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// waysWithout are the ways of a routing with these links dead.
func waysWithout(t *testing.T, g *topology.Graph, routing string, links ...topology.Link) tables.Program {
	t.Helper()
	e, err := subnet.ByName(routing)
	require.NoError(t, err)
	var dead subnet.Dead
	for _, l := range links {
		dead.AddLink(l.ID)
	}
	fw, _, err := e.Around(t.Context(), g, &dead)
	require.NoError(t, err)
	return *fw.Program
}

// Packets meet a dead link until the NICs write other ways, switch by switch, while others travel;
// then none does any more.
func TestNewWaysGoRoundDeadLinksUnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	const routing = "duato:mechanisms=I+D"
	for name, in := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, "torus:4x4", in, harness.FirmwareByName(routing), loaded())
			more(h, 100)
			var dead []topology.Link
			for _, link := range []string{"s0.0-s1.0", "s1.1-s1.2"} {
				l := cutUntilDiscarded(t, h, link)
				dead = append(dead, l)
				require.Positive(t, load(t, h.Fabric(), 5, waysWithout(t, h.Topology(), routing, dead...)))
				require.NoError(t, h.Fabric().StopTraffic())
				allPairs(t, h)
				before := discarded(h)
				h.SetTraffic("uniform:0.2")
				more(h, 300)
				require.Equal(t, before, discarded(h))
			}
			for _, l := range dead {
				restore(h, l)
			}
			require.Equal(t, 16, load(t, h.Fabric(), 7, waysWithout(t, h.Topology(), routing)))
			require.NoError(t, h.Fabric().StopTraffic())
			allPairs(t, h)
			h.Quiesce()
		})
	}
}
