package harness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// packetTime is how long a link of the fabrics below takes for a packet.
const packetTime = time.Second * 256 / fabric.DefaultRate

// order is one in which the switches get their new tables, and how long passes between two of them.
type order struct {
	name  string
	sort  func(g *topology.Graph, cut *topology.Link, patches []*tables.Patch)
	pause func(r *rand.Rand) time.Duration
}

func orders(seed uint64) (list []order) {
	at := func(d time.Duration) func(*rand.Rand) time.Duration {
		return func(*rand.Rand) time.Duration { return d }
	}
	away := func(g *topology.Graph, cut *topology.Link, p *tables.Patch) int {
		return min(g.SwitchDistance(weft.SwitchID(cut.A.Node.Index), p.Switch),
			g.SwitchDistance(weft.SwitchID(cut.B.Node.Index), p.Switch))
	}
	number := func(_ *topology.Graph, _ *topology.Link, patches []*tables.Patch) {
		slices.SortFunc(patches, func(a, b *tables.Patch) int { return int(a.Switch) - int(b.Switch) })
	}
	backwards := func(g *topology.Graph, cut *topology.Link, patches []*tables.Patch) {
		number(g, cut, patches)
		slices.Reverse(patches)
	}
	outwards := func(g *topology.Graph, cut *topology.Link, patches []*tables.Patch) {
		slices.SortStableFunc(patches, func(a, b *tables.Patch) int { return away(g, cut, a) - away(g, cut, b) })
	}
	inwards := func(g *topology.Graph, cut *topology.Link, patches []*tables.Patch) {
		outwards(g, cut, patches)
		slices.Reverse(patches)
	}
	list = append(list,
		order{"at once", number, at(0)},
		order{"by number, with long pauses", number, at(40 * packetTime)},
		order{"backwards, with long pauses", backwards, at(40 * packetTime)},
		order{"from the cut outwards, with pauses", outwards, at(5 * packetTime)},
		order{"towards the cut, with pauses", inwards, at(5 * packetTime)},
	)
	for i := range 3 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		list = append(list, order{
			fmt.Sprintf("shuffled %d", i),
			func(_ *topology.Graph, _ *topology.Link, patches []*tables.Patch) {
				r.Shuffle(len(patches), func(i, j int) { patches[i], patches[j] = patches[j], patches[i] })
			},
			func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(20 * packetTime))) },
		})
	}
	return list
}

// saturated is a fabric whose NICs offer all that their links carry.
func saturated(t testing.TB, p *manage.Planner, spec, routing string, vcs int) *harness.Harness {
	forwards := harness.FirmwareByName(routing) // which has what NICs write, if it has no tables
	if r := p.Now().Routing; r != nil {
		forwards = harness.Firmware(subnet.FirmwareOf(r))
	}
	h := harness.New(t, spec, forwards, harness.VCs(vcs), harness.Virtual(), harness.Seed(1), harness.Traffic("uniform:1"),
		harness.Links(settings.Link{Paced: true}), harness.NoLiveness(), harness.NICs(settings.NIC{QueueBytes: 4096}),
		harness.Patience(5*time.Minute))
	h.Pause(100 * packetTime)
	return h
}

// settle stops the traffic and waits for every packet: any two that waited for each other would be
// left.
func settle(t testing.TB, h *harness.Harness) fabric.Ledger {
	require.NoError(t, h.Fabric().StopTraffic())
	ledger := h.RequireLedger()
	require.Zero(t, ledger.InFlight)
	require.Zero(t, ledger.DiscardedBy[switching.RuleLooping], "no packet goes round")
	require.NoError(t, h.Fabric().LossesReported())
	return ledger
}

// Sem-Jacobsen, Lysne: Topology Agnostic Dynamic Quick Reconfiguration for Large-Scale
// Interconnection Networks, section IV: new paths are compatible with the old ones, so tables may
// come into force in any order while packets travel: in any order within each round of a plan. And
// what NICs write into packets may be replaced in any order, for switches decide by the packet
// alone.
func TestNewTablesMayComeIntoForceInAnyOrderAtSaturation(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, x := range []struct {
		spec, routing, method string
		vcs                   int
	}{
		{"kary-ntree:2,3", "ftree", "ddrc", 1},
		{"kary-ntree:3,2", "ftree", "dqr", 1},
		{"mesh:4x4", "xy", "dqr", 1},
		{"mesh:4x4", "xy", "dqr:plugin=mesh", 1},
		{"irregular:12,24,3", "lash", "dqr", 4},
		{"irregular:16,32,3", "lash", "dqr", 6},
		{"torus:4x4", "e-cube", "dqr", 4},
		{"irregular:16,32,3", "lash", "dqr:entries=destination", 6},
		{"mesh:4x4", "xy", "dqr:entries=destination", 3},
		{"torus:4x4", "duato:mechanisms=I+D+M", "direct:mode=dynamic", 3},
		{"torus:5x3", "duato:mechanisms=Ix2+D,ring=dateline", "direct:mode=dynamic", 7},
	} {
		t.Run(x.spec+" "+x.routing+" "+x.method, func(t *testing.T) {
			t.Parallel()
			m, err := manage.Parse(x.method)
			require.NoError(t, err)
			uploads := 0
			list := orders(7)
			for i := 0; i < len(list); i += testenv.Levels(1, 3, 3) {
				uploads += upload(t, x.spec, x.routing, m, x.vcs, list[i], uint64(i))
			}
			require.Positive(t, uploads)
		})
	}
}

// upload cuts two links of a saturated fabric, one after the other, and uploads what the planner
// says to each of it.
func upload(t *testing.T, spec, routing string, m manage.Method, vcs int, o order, seed uint64) (uploads int) {
	g := topologytest.Parse(t, spec)
	p, err := manage.New(t.Context(), g, routing, m, vcs)
	require.NoError(t, err)
	h := saturated(t, p, spec, routing, vcs)
	r := rand.New(rand.NewPCG(seed, 1))
	between := slices.DeleteFunc(slices.Clone(g.Links), func(l topology.Link) bool { return !l.BetweenSwitches() })
	var dead subnet.Dead
	version := uint64(tables.FirstVersion)
	has := map[weft.SwitchID]uint64{}
	reconfigure := func(l *topology.Link) {
		plan, err := p.Plan(t.Context(), &dead)
		require.NoError(t, err)
		require.True(t, plan.Acyclic, "%s: cut %s: no plan needs an empty fabric", o.name, l.Name)
		uploads++
		p.Adopt(plan)
		for _, round := range plan.Rounds { // each when all switches have the one before
			version++
			patches := slices.Clone(round.Patches)
			o.sort(g, l, patches)
			for _, patch := range patches {
				patch.From, patch.To = max(has[patch.Switch], tables.FirstVersion), version
				require.NoError(t, h.Fabric().Load(t.Context(), patch))
				has[patch.Switch] = version
				if d := o.pause(r); d > 0 {
					h.Pause(d)
				}
				require.Empty(t, h.Fabric().Deadlock(), "%s: cut %s, after switch %s", o.name, l.Name,
					g.Switches[patch.Switch].Name)
			}
		}
		p.Acknowledged()
		h.Pause(200 * packetTime)
		require.Empty(t, h.Fabric().Deadlock(), "%s: cut %s", o.name, l.Name)
	}
	for range 2 {
		l := &between[r.IntN(len(between))]
		if dead.Cuts(l) {
			continue
		}
		h.Apply(cutOf(l))
		dead.AddLink(l.ID)
		reconfigure(l) // the packets of the tables before may travel still: nobody says that they have settled
	}
	ledger := settle(t, h)
	require.Positive(t, ledger.Delivered)
	return uploads
}

// What the planner refuses to upload is no idle fear. Towards another root, Up*/Down* forbids the
// turn at the other side of the ring. When only s2 and s3 have the new tables, packets pass both
// sides; let all NICs send two switches on, and each packet waits for the next.
func TestTablesWhoseMixtureHasACycleDeadlockWhenTheyAreUploadedAllTheSame(t *testing.T) {
	t.Parallel()
	const spec, old, newer = "ring:6", "updn:root=s0", "updn:root=s3"
	g := topologytest.Parse(t, spec)
	from, to := entry(t, g, old), entry(t, g, newer)
	for _, x := range []struct {
		uploaded []weft.SwitchID
		stuck    bool
	}{
		{nil, false}, {[]weft.SwitchID{2, 3}, true}, {[]weft.SwitchID{0, 1, 2, 3, 4, 5}, false},
	} {
		h := harness.New(t, spec, harness.FirmwareByName(old), harness.Virtual(), harness.Seed(1), harness.Buffers(1, 1),
			harness.Links(settings.Link{Paced: true}), harness.NoLiveness())
		for _, s := range x.uploaded {
			require.NoError(t, h.Fabric().Load(t.Context(), tables.Diff(s, from, to, tables.FirstVersion, 2)))
		}
		for range 20 {
			for i := range g.NICs {
				h.Send(g.NICs[i].Name, g.NICs[(i+2)%len(g.NICs)].Name)
			}
		}
		h.Pause(200 * packetTime)
		require.Equal(t, x.stuck, len(h.Fabric().Deadlock()) > 0, "new tables in %v", x.uploaded)
	}
}

// entry is what a routing has the switches begin with.
func entry(t testing.TB, g *topology.Graph, name string) tables.Program {
	r, err := subnet.Routes(t.Context(), name, g)
	require.NoError(t, err)
	return tables.Program{Tables: r.Tables, Assignment: r.Assignment}
}

func cutOf(l *topology.Link) fault.Spec { return fault.Spec{Do: fault.VerbCut, A: l.Name} }
