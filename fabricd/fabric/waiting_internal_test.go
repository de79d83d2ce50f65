package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

func TestWhatTheOldestPacketWaitsForIsSaidInWords(t *testing.T) {
	vcs := []switching.VCSnapshot{{Credits: 0}, {Credits: 1}}
	up, down := switching.PortSnapshot{State: linkend.Up, VCs: vcs}, switching.PortSnapshot{State: linkend.Init}
	ports := []switching.PortSnapshot{up, down, up, up}
	for want, o := range map[string]switching.Oldest{
		"an answer of its firmware":        {Asked: true},
		"room at a":                        {For: []switching.Output{{Port: 0}}},
		"a turn on the link to a":          {For: []switching.Output{{Port: 0, VC: 1}}, Queued: true},
		"the link to b, which is down":     {For: []switching.Output{{Port: 1}, {Port: 1, VC: 1}}},
		"room at c, or at another":         {For: []switching.Output{{Port: 1}, {Port: 2}}},
		"room at a, or at any of 3 others": {For: []switching.Output{{Port: 0}, {Port: 1}, {Port: 2}, {Port: 3}, {Port: 9}}},
	} {
		sn := switching.Snapshot{Ports: ports, Oldest: &o}
		require.Equal(t, want, oldestWaits(&sn, func(p weft.PortID) string { return string(rune('a' + p)) }))
	}
}
