package manage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/tables"
)

func planner(t testing.TB, g *topology.Graph, routing, method string, vcs int) *manage.Planner {
	t.Helper()
	m, err := manage.Parse(method)
	require.NoError(t, err)
	p, err := manage.New(t.Context(), g, routing, m, vcs)
	require.NoError(t, err)
	return p
}

func TestMethodsAreReadBackAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"ddrc", "dqr", "dqr:path=end-to-end", "dqr:path=local,turns=all,layers=all,plugin=mesh,entries=destination", "engine",
		"engine:updn:root=centre", "direct", "direct:mode=dynamic", "none",
	} {
		m, err := manage.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, text, m.String())
	}
	for text, want := range map[string]string{
		"ddcr": `did you mean "ddrc"`, "dqr:pth=local": `did you mean "path"`, "dqr:path=locl": `did you mean "local"`,
		"dqr:path=local,path=local": "given twice", "engine:lsh": `did you mean "lash"`, "ddrc:x": "takes no options",
		"auto": "unknown",
	} {
		_, err := manage.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// follow checks that every pair whose switches live links join has a path that uses no dead link,
// and counts those that have none.
func follow(t testing.TB, plan *manage.Plan, dead *subnet.Dead) (without int) {
	t.Helper()
	r := plan.Routing
	parts := subnet.NewComponents(r.Graph)
	parts.Compute(dead)
	for src := range weft.NICID(len(r.Graph.NICs)) {
		for dst := range weft.NICID(len(r.Graph.NICs)) {
			if src == dst {
				continue
			}
			if arrives(plan, dead, src, dst) {
				require.True(t, parts.Joined(src, dst))
			} else {
				without++
			}
		}
	}
	return without
}

func arrives(plan *manage.Plan, dead *subnet.Dead, src, dst weft.NICID) bool {
	r, g := plan.Routing, plan.Routing.Graph
	at, in := g.SwitchOf(src)
	if _, id, _ := g.Peer(weft.End{Node: src.Node()}); dead.Cuts(&g.Links[id]) {
		return false
	}
	list := r.Assignment.Addresses(at, dst)
	if len(list) == 0 {
		return false
	}
	layer := list[0].VC
	for range 2 * len(g.Switches) {
		hops := r.Tables.Choices(at, dst, list[0].Path, in, layer)
		if len(hops) == 0 || hops[0].Port == weft.NoPort {
			return false
		}
		to, id, ok := g.Peer(weft.End{Node: at.Node(), Port: hops[0].Port})
		if !ok || dead.Cuts(&g.Links[id]) {
			return false
		}
		if !to.Node.IsSwitch() {
			return to.Node == dst.Node()
		}
		at, in, layer = weft.SwitchID(to.Node.Index), to.Port, hops[0].In(layer)
	}
	return false
}

// patched are the tables of all switches after the patches of a plan, which must be those of the
// plan.
func requirePatches(t testing.TB, before, plan *manage.Plan) {
	t.Helper()
	g := plan.Routing.Graph
	changed := map[weft.SwitchID]bool{}
	for _, p := range plan.Patches() {
		changed[p.Switch] = true
		q := *p
		q.From, q.To = 1, 2
		if p.From == 0 {
			q.From = 0
		}
		got, err := before.Program.Patched(g.Place(p.Switch), &q)
		require.NoError(t, err)
		require.True(t, tables.Diff(p.Switch, got, plan.Program, 1, 2).Empty())
	}
	for _, s := range g.Switches {
		if !changed[s.ID] {
			require.True(t, tables.Diff(s.ID, before.Program, plan.Program, 1, 2).Empty())
		}
	}
}

func TestEveryMethodRoutesRoundEachSingleFaultAndComesBack(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		topology, routing, method string
		vcs                       int
		acyclic                   bool // always
	}{
		{"kary-ntree:2,3", "updown", "ddrc", 1, true},
		{"mport-tree:4,2", "ftree", "ddrc", 1, true},
		{"kary-ntree:2,3", "hybrid", "ddrc", 2, true},
		{"kary-ntree:2,3", "hybrid-adaptive", "ddrc", 1, true},
		{"kary-ntree:2,3", "ddrc-source", "ddrc", 1, true},
		{"mesh:4x4", "xy", "dqr", 1, true},
		{"irregular:10,20,3", "lash", "dqr", 6, true},
		{"irregular:10,20,3", "lash", "engine", 6, false},
		{"irregular:10,20,3", "updn", "engine", 1, false},
		{"mesh:3x3", "xy", "engine:updn", 1, false},
		{"irregular:10,20,3", "a-lash", "engine", 6, false},
	} {
		t.Run(x.topology+" "+x.routing+" "+x.method, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, x.topology)
			for _, l := range g.Links {
				p := planner(t, g, x.routing, x.method, x.vcs)
				first := p.Now()
				p.Settled() // the tables of the routing itself are gone
				require.Zero(t, follow(t, first, nil))
				var dead subnet.Dead
				dead.AddLink(l.ID)
				plan, err := p.Plan(t.Context(), &dead)
				require.NoError(t, err, l.Name)
				require.Equal(t, plan.Unroutable, follow(t, plan, &dead), l.Name)
				require.Equal(t, plan.Unconnected, plan.Unroutable, l.Name)
				require.True(t, plan.Acyclic || !x.acyclic, l.Name)
				require.Equal(t, plan.Acyclic, plan.Cycle() == nil)
				requirePatches(t, first, plan)
				if l.BetweenSwitches() && x.routing != "a-lash" && x.method != "dqr" {
					require.Positive(t, plan.FlowsRerouted, l.Name)
				}
				p.Adopt(plan)
				p.Settled()

				back, err := p.Plan(t.Context(), &subnet.Dead{})
				require.NoError(t, err)
				requirePatches(t, plan, back)
				require.Zero(t, back.Unroutable)
				for _, s := range g.Switches {
					if x.method == "dqr" {
						break // it goes back as far as the lists allow
					}
					assert.True(t, tables.Diff(s.ID, first.Program, back.Program, 1, 2).Empty(), "after the repair it is as it was")
				}
			}
		})
	}
}

func TestADeadSwitchTakesItsNICsAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, x := range [][3]string{
		{"kary-ntree:2,3", "ftree", "ddrc"},
		{"irregular:10,20,3", "lash", "engine"},
		{"mesh:3x3", "xy", "engine:updn"},
	} {
		g := topologytest.Parse(t, x[0])
		for _, s := range g.Switches {
			p := planner(t, g, x[1], x[2], 6)
			var dead subnet.Dead
			dead.AddSwitch(s.ID)
			plan, err := p.Plan(t.Context(), &dead)
			require.NoError(t, err, s.Name)
			require.Equal(t, plan.Unconnected, plan.Unroutable)
			require.Equal(t, plan.Unroutable, follow(t, plan, &dead), "%v %s", x, s.Name)
		}
	}
}

func TestPartsThatNoLinkJoinsAreRoutedEachByItself(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	p := planner(t, g, "lash", "engine", 4)
	var dead subnet.Dead
	for _, name := range []string{"s0-s1", "s3-s4"} {
		l, err := g.LinkByName(name)
		require.NoError(t, err)
		dead.AddLink(l.ID)
	}
	plan, err := p.Plan(t.Context(), &dead)
	require.NoError(t, err)
	require.Equal(t, 2*3*3, plan.Unroutable)
	require.Equal(t, plan.Unroutable, follow(t, plan, &dead))
}

// LASH packs paths into layers anew, and old and new ones in one layer may make a circle.
func TestAPlanWhoseMixtureHasACycleSaysSo(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:16,32,3")
	p := planner(t, g, "lash", "engine", 6)
	p.Settled()
	var dead subnet.Dead
	plan, err := p.Plan(t.Context(), &dead)
	require.NoError(t, err)
	require.Empty(t, plan.Patches(), "it begins with the tables of the method")
	cyclic := 0
	for _, l := range g.Links {
		dead = subnet.Dead{}
		dead.AddLink(l.ID)
		plan, err = p.Plan(t.Context(), &dead)
		require.NoError(t, err)
		if require.Equal(t, plan.Acyclic, plan.Cycle() == nil); !plan.Acyclic {
			cyclic++
			require.Len(t, plan.Rounds, 1)
			require.Equal(t, plan.Patches(), plan.Rounds[0].Patches)
		}
		for _, c := range plan.Cycle() {
			_, id, _ := g.Peer(c.From)
			require.NotEqual(t, l.ID, id, "nobody waits before a dead link")
		}
	}
	require.Positive(t, cyclic)
}

func TestTablesThatMayStillBeInForceCountUntilTheyAreSettled(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	p := planner(t, g, "updn", "engine", 1)
	cut := func(name string) *manage.Plan {
		l, err := g.LinkByName(name)
		require.NoError(t, err)
		var dead subnet.Dead
		dead.AddLink(l.ID)
		plan, err := p.Plan(t.Context(), &dead)
		require.NoError(t, err)
		p.Adopt(plan)
		return plan
	}
	cut("s0-s1")
	cut("s2-s3")
	third := cut("s4-s5")
	require.False(t, third.Acyclic, "of three ways round a ring two may be in force still")
	p.Settled()
	p.Settled()
	again, err := p.Plan(t.Context(), &third.Dead)
	require.NoError(t, err)
	require.True(t, again.Acyclic)
	require.Empty(t, again.Patches())
}

func TestAMethodThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	for _, x := range [][4]string{
		{"kary-ntree:2,3", "adaptive-link", "ddrc", "decides by rules"},
		{"mesh:3x3", "xy", "ddrc", "tree"},
		{"irregular:10,20,3", "a-lash", "dqr", "adaptive"},
		{"torus:5x5", "lash", "engine", "virtual channels"},
	} {
		m, err := manage.Parse(x[2])
		require.NoError(t, err)
		_, err = manage.New(t.Context(), topologytest.Parse(t, x[0]), x[1], m, 1)
		require.ErrorContains(t, err, x[3], x)
	}
}

func TestTheMethodOfARoutingUnlessOneIsNamed(t *testing.T) {
	t.Parallel()
	for _, x := range [][3]string{
		{"kary-ntree:2,3", "adaptive-link", "none"},
		{"kary-ntree:2,3", "ftree", "ddrc"},
		{"irregular:10,20,3", "lash", "dqr"},
		{"mesh:3x3", "xy", "dqr"},
		{"irregular:10,20,3", "a-lash", "engine"},
		{"kary-ntree:2,3", "deterministic-table", "none"},
		{"kary-ntree:2,3", "hybrid", "ddrc"},
		{"kary-ntree:2,3", "hybrid-adaptive", "ddrc"},
		{"kary-ntree:2,3", "ddrc-source", "ddrc"},
	} {
		m, why := manage.For(t.Context(), x[1], topologytest.Parse(t, x[0]))
		require.NoError(t, why)
		require.Equal(t, x[2], m.String(), x)
	}
}

func TestNoMethodIsChosenOnceItsContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for routing, spec := range map[string]string{"ftree": "kary-ntree:2,3", "lash": "ring:4"} {
		_, why := manage.For(ctx, routing, topologytest.Parse(t, spec))
		require.ErrorIs(t, why, context.Canceled, routing)
		require.ErrorContains(t, why, "no method is chosen", routing)
	}
}

// The first patches are made for what the switches have: they would meet other rows.
func TestTreesBeginWithTheTablesThatDDRCPlansFrom(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:4,3")
	for _, routing := range []string{"ftree", "hybrid", "hybrid-adaptive", "ddrc-source"} {
		fw, vcs, err := subnet.Firmware(t.Context(), routing, g)
		require.NoError(t, err)
		p := planner(t, g, routing, "ddrc", max(vcs, 1))
		require.Empty(t, p.Now().Patches(), routing)
		for _, s := range g.Switches {
			require.True(t, tables.Diff(s.ID, *fw.Program, p.Now().Program, 1, 2).Empty(), "%s: %s", routing, s.Name)
		}
	}
}

// Whatever the method would compute: there is nothing to tell the switches before something is
// dead, and when nothing is any more they have again what they began with.
func TestNoTableIsLoadedWhileNothingIsDead(t *testing.T) {
	t.Parallel()
	for _, x := range [][3]string{
		{"irregular:16,32,3", "lash", "dqr"},
		{"irregular:16,32,3", "lash", "dqr:entries=destination"},
		{"irregular:16,32,3", "lash", "engine"},
		{"irregular:16,32,3", "lash", "engine:updn"},
		{"irregular:16,32,3", "updn", "dqr"},
		{"mesh:4x4", "xy", "dqr"},
		{"mesh:4x4", "xy", "engine:lash"},
		{"torus:4x4", "e-cube", "dqr"},
		{"kary-ntree:2,3", "ftree", "ddrc"},
		{"kary-ntree:2,3", "ftree", "dqr"},
		{"kary-ntree:2,3", "lash", "ddrc"},
		{"kary-ntree:2,3", "hybrid", "ddrc"},
	} {
		g := topologytest.Parse(t, x[0])
		p := planner(t, g, x[1], x[2], weft.MaxVCs)
		fw, _, err := subnet.Firmware(t.Context(), x[1], g)
		require.NoError(t, err)
		began := *fw.Program
		same := func() {
			now := p.Now().Program
			for _, s := range g.Switches {
				for d := range weft.NICID(len(g.NICs)) {
					for layer := range weft.VC(began.Tables.VCs()) {
						for port := range weft.PortID(s.Ports) {
							require.Equal(t, way(began, s.ID, d, port, layer), way(now, s.ID, d, port, layer), "%v: %s", x, s.Name)
						}
					}
					if began.Assignment != nil {
						require.Equal(t, began.Assignment.Addresses(s.ID, d), now.Assignment.Addresses(s.ID, d), "%v: %s", x, s.Name)
					}
				}
			}
		}
		require.Empty(t, p.Now().Patches(), x)
		same()
		p.Settled()
		var dead subnet.Dead
		require.Empty(t, plan(t, p, &dead).Patches(), x)
		dead.AddLink(between(g)[1])
		cut := plan(t, p, &dead)
		require.NotEmpty(t, cut.Patches(), x)
		p.Adopt(cut)
		p.Settled()
		dead = subnet.Dead{}
		for {
			back := plan(t, p, &dead)
			p.Adopt(back)
			p.Settled()
			if len(back.Patches()) == 0 || !p.More() {
				break
			}
		}
		same()
	}
}

// way is how a switch forwards packets; one that does not has no entry, or one that leads to no
// port.
func way(p tables.Program, s weft.SwitchID, d weft.NICID, in weft.PortID, layer weft.VC) tables.Hop {
	if hop, ok := p.Tables.Lookup(s, d, in, layer); ok && hop.Port != weft.NoPort {
		return tables.Hop{Port: hop.Port, VC: hop.In(layer)}
	}
	return tables.Hop{Port: weft.NoPort}
}

// After each fault, and with several links dead, flows leave the paths of the engine; when all
// links are back, all return, if not all at once.
func TestWhenAllLinksAreBackTablesAreThoseOfTheEngineAgain(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		topology, routing, method string
		vcs                       int
	}{
		{"mesh:5x5", "xy", "dqr", 1},
		{"mesh:5x5", "xy", "dqr:entries=destination", 1},
		{"irregular:16,32,3", "lash", "dqr", 6},
		{"torus:4x4", "e-cube", "dqr", 4},
		{"irregular:10,20,3", "lash", "dqr:layers=same", 6},
	} {
		g := topologytest.Parse(t, x.topology)
		p := planner(t, g, x.routing, x.method, x.vcs)
		p.Settled()
		began := p.Now()
		var links []weft.LinkID
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				links = append(links, l.ID)
			}
		}
		further := 0
		for i := range 8 {
			var dead subnet.Dead
			for j := range 4 { // cut one after the other, settled in between or not, then healed all at once
				dead.AddLink(links[(7*i+5*j)%len(links)])
				plan, err := p.Plan(t.Context(), &dead)
				require.NoError(t, err)
				p.Adopt(plan)
				if p.Acknowledged(); (i+j)%2 == 0 {
					p.Settled()
				}
			}
			dead = subnet.Dead{}
			plan, err := p.Plan(t.Context(), &dead)
			require.NoError(t, err)
			p.Adopt(plan)
			p.Settled()
			for rounds := 0; p.More(); rounds++ {
				require.Less(t, rounds, 10)
				plan, err := p.Plan(t.Context(), &dead)
				require.NoError(t, err)
				if len(plan.Patches()) == 0 {
					break
				}
				further++
				p.Adopt(plan)
				p.Settled()
			}
			for _, s := range g.Switches {
				require.True(t, tables.Diff(s.ID, began.Program, p.Now().Program, 1, 2).Empty(), "%v: %s", x, s.Name)
			}
		}
		t.Logf("%v: %d further rounds", x, further)
	}
}
