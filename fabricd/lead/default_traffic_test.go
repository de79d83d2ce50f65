package lead

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/nic"
)

// What two cores were measured to carry before packets pile up: docs/results/hosts.csv. Of the
// largest fabric it is what they carried in nine tenths of one: docs/results/live.csv.
func TestTheDefaultTrafficIsOneThatTwoCoresCarryWithAThirdToSpare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		most float64 // packets a second; 0: it was not measured
		want string
	}{
		{"ring:3", 0, "uniform:0.2"},
		{"kary-ntree:2,2", 0, "uniform:0.2"},
		{"kary-ntree:4,3", 2 * 35_548, "uniform:0.2"},
		{"mport-tree:8,3", 2 * 20_803, "uniform:0.1"},
		{"torus:8x8", 63_279, "uniform:0.19"},
		{"mport-tree:36,2", 48_000, "uniform:0.024"},
		{"mport-tree:16,3", 0, "uniform:0.0077"},
		{"mport-tree:36,3", 3014 / 0.91 * 2, "uniform:0.00037"},
	} {
		g := topologytest.Parse(t, c.spec)
		text := defaultTraffic(g, fabric.DefaultRate, 2)
		assert.Equal(t, c.want, text, c.spec)
		traffic, err := settings.ParseTraffic(text)
		require.NoError(t, err)
		offered := traffic.Load * float64(len(g.NICs)) * fabric.DefaultRate / nic.DefaultPacketBytes
		if c.most > 0 {
			assert.Less(t, offered, c.most*2/3, c.spec)
		}
		assert.LessOrEqual(t, defaultLoad(g, fabric.DefaultRate, 1), defaultLoad(g, fabric.DefaultRate, 2), c.spec)
		fast := defaultLoad(g, 1000*fabric.DefaultRate,
			2) * float64(len(g.NICs)) * 1000 * fabric.DefaultRate / nic.DefaultPacketBytes
		assert.LessOrEqual(t, fast, carried(g, 2)*1.001, "no more packets over faster links: %s", c.spec)
	}
}
