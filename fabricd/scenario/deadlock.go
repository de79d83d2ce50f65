package scenario

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Chosen by us: how many pairs send for each dependency of the cycle, and how many packets each.
// Together they fill the buffers of any cycle many times over.
const (
	deadlockPairs   = 4
	deadlockPackets = 1000
)

// Deadlock is a scenario in which the pairs of a cycle send as fast as they can, by the routing of
// that name, so that they wait for one another. The error says that there is no cycle.
func Deadlock(routing string, g *topology.Graph, v survey.CheckResult) (format.File, error) {
	if v.Acyclic {
		return format.File{}, fmt.Errorf("%s has no cycle of channel dependencies in %s, so there is no deadlock to run into",
			v.Engine, v.Topology)
	}
	var names []string
	for _, d := range v.Cycle {
		names = append(names, d.Name)
	}
	f := format.File{
		Name: strings.NewReplacer(":", "-", ",", "-", "=", "-", "/", "-", ".", "-").Replace(routing) + "-deadlock",
		About: fmt.Sprintf("The channel dependencies of %s have a cycle: %s.\n"+
			"For each of them pairs send whose packets hold one channel and wait for the next, all at once. "+
			"When the cycle is full they wait for ever, and not all arrive.\n",
			v.Engine, strings.Join(names, ", ")),
		Settings: settings.Settings{
			Topology: g.Spec, Routing: routing, Traffic: "none",
			Liveness: settings.Liveness{Interval: "off"}, // a busy machine takes no neighbour for dead
			Link:     settings.Link{Rate: 2_560_000, Paced: true},
		},
		Duration: "5s",
	}
	sent := map[[2]string]bool{}
	expected := 0
	for _, d := range v.Cycle {
		for i, left := 0, deadlockPairs; i < len(d.Users) && left > 0; i++ {
			src, ok := firstNIC(g, d.Users[i].Src)
			pair := [2]string{src, g.NICs[d.Users[i].Dst].Name}
			if !ok || sent[pair] {
				continue
			}
			sent[pair] = true
			left--
			expected += deadlockPackets
			send := &format.Send{From: pair[0], To: pair[1], Count: deadlockPackets}
			f.Timeline = append(f.Timeline, format.Step{At: "100ms", Send: send})
		}
	}
	f.Expect.DeliveredAtLeast = uint64(expected)
	return f, nil
}

func firstNIC(g *topology.Graph, s weft.SwitchID) (string, bool) {
	for p, role := range g.Place(s).Roles {
		if role == weft.RoleNIC {
			e, _, ok := g.Peer(weft.End{Node: s.Node(), Port: weft.PortID(p)})
			return g.Name(e.Node), ok
		}
	}
	return "", false
}
