package manage_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// mixed is a fabric in the midst of an upload: some of its switches have the new tables.
type mixed struct {
	g          *topology.Graph
	old, newer *layered.Routing
	has        []bool // per switch: the new ones
	gone       func(hold) bool
}

func (m *mixed) at(s weft.SwitchID) *layered.Routing {
	if m.has[s] {
		return m.newer
	}
	return m.old
}

// hold is a virtual channel between switches.
type hold struct {
	from  weft.SwitchID
	port  weft.PortID
	layer weft.VC
}

// follow adds the dependencies of every packet that travels from end to end in this mixture; false
// when one goes round.
func (m *mixed) follow(deps map[hold][]hold) bool {
	for src := range weft.NICID(len(m.g.NICs)) {
		for dst := range weft.NICID(len(m.g.NICs)) {
			if src == dst {
				continue
			}
			at, in := m.g.SwitchOf(src)
			for _, a := range m.at(at).Assignment.Addresses(at, dst) {
				if !m.walk(deps, at, in, dst, a) {
					return false
				}
			}
		}
	}
	return true
}

func (m *mixed) walk(deps map[hold][]hold, at weft.SwitchID, in weft.PortID, dst weft.NICID, a weft.Address) bool {
	var before *hold
	layer := a.VC
	for range 2 * len(m.g.Links) * weft.MaxVCs { // there are no more channels
		hops := m.at(at).Tables.Choices(at, dst, a.Path, in, layer)
		if len(hops) == 0 || hops[0].Port == weft.NoPort {
			return true // discarded
		}
		to, _, ok := m.g.Peer(weft.End{Node: at.Node(), Port: hops[0].Port})
		if !ok || !to.Node.IsSwitch() {
			return true
		}
		layer = hops[0].In(layer)
		h := hold{at, hops[0].Port, layer}
		if before != nil && !slices.Contains(deps[*before], h) {
			deps[*before] = append(deps[*before], h)
		}
		if m.gone(h) {
			return true
		}
		before = &h
		at, in = weft.SwitchID(to.Node.Index), to.Port
	}
	return false
}

// circle reports whether some channels wait for each other, with no packet on channels that are
// gone.
func circle(deps map[hold][]hold, gone func(hold) bool) bool {
	const begun, done = 1, 2
	state := map[hold]int{}
	var visit func(h hold) bool
	visit = func(h hold) bool {
		switch {
		case gone(h):
			return false
		case state[h] == begun:
			return true
		case state[h] == done:
			return false
		}
		state[h] = begun
		if slices.ContainsFunc(deps[h], visit) {
			return true
		}
		state[h] = done
		return false
	}
	for h := range deps {
		if visit(h) {
			return true
		}
	}
	return false
}

// goneBy tells which channels a plan is without.
func goneBy(plan *manage.Plan) func(hold) bool {
	g := plan.Routing.Graph
	return func(h hold) bool {
		_, id, _ := g.Peer(weft.End{Node: h.from.Node(), Port: h.port})
		return plan.Dead.Cuts(&g.Links[id])
	}
}

// mixtures goes through all sets of switches that may have what a round brings, round after round,
// and says whether the dependencies of all of them together, for packets of one stay while the next
// begins, have a cycle, and whether a packet goes round in any. The link is dead in the midst of
// all that: a packet that comes to it is discarded.
func mixtures(g *topology.Graph, old, plan *manage.Plan) (cyclic, loops bool, subsets int) {
	deps := map[hold][]hold{}
	before := old.Routing
	for _, round := range plan.Rounds {
		m := mixed{g, before, round.Routing, make([]bool, len(g.Switches)), goneBy(plan)}
		for set := range 1 << len(round.Patches) {
			for i, p := range round.Patches {
				m.has[p.Switch] = set>>i&1 > 0
			}
			loops = loops || !m.follow(deps)
		}
		subsets += 1 << len(round.Patches)
		before = round.Routing
	}
	return circle(deps, goneBy(plan)), loops, subsets
}

// What [manage.Plan] says of all mixtures at once holds of each, one by one, as packets meet them:
// a plan that may be uploaded while packets travel has no cycle and no loop in any of them. No plan
// of dqr with entries by channel needs an empty fabric.
func TestEveryMixtureOfAPlanThatMayBeUploadedInAnyOrderIsFreeOfCyclesAndLoops(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		topology, routing, method string
		vcs                       int
		always                    bool // no plan needs an empty fabric
	}{
		{"kary-ntree:2,2", "ftree", "ddrc", 1, true},
		{"kary-ntree:2,3", "ftree", "ddrc", 1, true},
		{"kary-ntree:2,3", "ftree", "dqr", 1, true},
		{"mesh:3x3", "xy", "dqr", 1, true},
		{"mesh:3x3", "xy", "dqr:plugin=mesh", 1, true},
		{"mesh:3x3", "xy", "dqr:entries=destination", 1, false},
		{"mesh:3x3", "xy", "dqr:entries=destination", 3, true},
		{"irregular:8,14,3", "lash", "dqr:entries=destination", 4, true},
		{"torus:3x3", "lash", "dqr:entries=destination", 4, true},
		{"irregular:8,14,3", "lash", "dqr", 4, true},
		{"irregular:10,16,5", "lash", "dqr", 4, true},
		{"torus:3x3", "e-cube", "dqr", 4, true},
		{"mport-tree:6,2", "ftree", "dqr", 1, true},
		{"ring:6", "updn", "engine", 1, false},
		{"irregular:8,14,3", "lash", "engine", 4, false},
		{"irregular:10,16,5", "lash", "dqr:entries=destination", 4, true},
		{"irregular:16,32,3", "lash", "dqr", 6, true},
		{"torus:5x5", "e-cube", "dqr", 4, true},
		{"mesh:6x6", "xy", "dqr", 1, true},
	}[:testenv.N(19, 15)] {
		t.Run(x.topology+" "+x.routing+" "+x.method, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, x.topology)
			p := planner(t, g, x.routing, x.method, x.vcs)
			p.Settled()
			plans, rounds, all := 0, 0, 0
			for _, l := range g.Links {
				var dead subnet.Dead
				dead.AddLink(l.ID)
				plan, err := p.Plan(t.Context(), &dead)
				require.NoError(t, err)
				require.True(t, plan.Acyclic || !x.always, l.Name)
				most := 0
				for _, r := range plan.Rounds {
					most = max(most, len(r.Patches))
				}
				if !plan.Acyclic || most == 0 || !l.BetweenSwitches() {
					continue
				}
				if plans++; len(plan.Rounds) > 1 {
					rounds++
				}
				if most > 10 || len(g.Switches) > 16 {
					continue
				}
				cyclic, loops, subsets := mixtures(g, p.Now(), plan)
				all += subsets
				require.False(t, cyclic, l.Name)
				require.False(t, loops, l.Name)
			}
			require.Positive(t, plans)
			t.Logf("%d plans, %d of two rounds, %d mixtures", plans, rounds, all)
		})
	}
}

// And the other way about: of a cycle that packets can make, the search that plans rely on knows.
func TestACycleInSomeMixtureIsFoundInAllOfThemAtOnce(t *testing.T) {
	t.Parallel()
	for _, x := range [][3]string{{"ring:6", "updn:root=s0", "updn:root=s3"}, {"ring:8", "updn:root=s0", "updn:root=s4"}} {
		g := topologytest.Parse(t, x[0])
		old, err := subnet.Routes(t.Context(), x[1], g)
		require.NoError(t, err)
		newer, err := subnet.Routes(t.Context(), x[2], g)
		require.NoError(t, err)
		none := func(hold) bool { return false }
		m := mixed{g, old, newer, make([]bool, len(g.Switches)), none}
		deps := map[hold][]hold{}
		for set := range 1 << len(g.Switches) {
			for s := range m.has {
				m.has[s] = set>>s&1 > 0
			}
			m.follow(deps)
		}
		require.True(t, circle(deps, none), "packets can make it")
		require.False(t, layered.Mixture(nil, nil, old, newer).Acyclic())
	}
}
