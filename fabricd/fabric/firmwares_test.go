package fabric_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// What every firmware claims to bear, as its entry says, shown on the live fabric: so many links
// and switches die under load, one after another and all at once.

// faultsOf draws what is to die: so many elements of a kind. Close ones are of one switch group as
// far as that goes, which is where only one way is left in the end.
func faultsOf(r *rand.Rand, g *topology.Graph, kind verify.Kind, most int, close bool) (set []verify.Element) {
	links, switches := elements(g)
	if close {
		links, switches = above(r, g)
	}
	pick := func(from []verify.Element, n int) {
		for _, i := range r.Perm(len(from))[:min(n, len(from))] {
			set = append(set, from[i])
		}
	}
	switch kind {
	case verify.Links:
		pick(links, most)
	case verify.Switches:
		pick(switches, most)
	default: // no link of a dead switch: that would be one fault less
		n := 1 + r.IntN(most-1)
		pick(switches, n)
		links = slices.DeleteFunc(slices.Clone(links), func(l verify.Element) bool {
			a, b := g.Links[l.ID].A.Node, g.Links[l.ID].B.Node
			return slices.ContainsFunc(set, func(e verify.Element) bool {
				sw := weft.SwitchID(e.ID).Node()
				return a == sw || b == sw
			})
		})
		pick(links, most-n)
		r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
	}
	return set
}

// elements are all links between switches, and all switches above the leaves.
func elements(g *topology.Graph) (links, switches []verify.Element) {
	for _, l := range betweenSwitches(g) {
		links = append(links, verify.Element{ID: uint32(l.ID)})
	}
	for _, s := range g.Switches {
		if !g.Place(s.ID).Tree.Leaf() {
			switches = append(switches, verify.Element{Switch: true, ID: uint32(s.ID)})
		}
	}
	return links, switches
}

// above are the links up from one switch, and the switches they lead to.
func above(r *rand.Rand, g *topology.Graph) (links, switches []verify.Element) {
	all := betweenSwitches(g)
	below := all[r.IntN(len(all))].B.Node
	for _, l := range all {
		if l.B.Node == below {
			links = append(links, verify.Element{ID: uint32(l.ID)})
			switches = append(switches, verify.Element{Switch: true, ID: l.A.Node.Index})
		}
	}
	return links, switches
}

// orders are the orders that take the elements down.
func orders(g *topology.Graph, set []verify.Element) (specs []fault.Spec) {
	for _, e := range set {
		do := fault.VerbCut
		if e.Switch {
			do = fault.VerbCrash
		}
		specs = append(specs, fault.Spec{Do: do, A: e.Name(g)})
	}
	return specs
}

// lossesAreAt requires that packets were lost only inside the crashed switches, and on the links
// that were cut or lead there or in their queues.
func lossesAreAt(t *testing.T, h *harness.Harness, l fabric.Ledger, set []verify.Element) {
	t.Helper()
	g := h.Topology()
	dead := map[string]bool{}
	for _, e := range set {
		dead[e.Name(g)] = true
	}
	for name := range l.LostOn {
		link, err := g.LinkByName(name)
		require.NoError(t, err)
		assert.True(t, dead[name] || dead[g.Name(link.A.Node)] || dead[g.Name(link.B.Node)],
			"%s lost packets and was not dead", name)
	}
	for _, s := range g.Switches {
		if !dead[s.Name] {
			assert.Zero(t, h.Fabric().Switch(s.ID).Stats.LostCrash, "%s did not crash", s.Name)
		}
	}
	var lost uint64
	for _, f := range h.Faults() {
		lost += f.Lost()
	}
	assert.Equal(t, l.Lost, lost, "what the reports say")
	require.NoError(t, h.Fabric().LossesExplained())
}

// checked holds the paths of traced packets that are not in seen against a checker's, and puts them
// there.
func checked(t *testing.T, h *harness.Harness, seen map[harness.Packet]bool,
	follow func(src, dst weft.NICID, hops []weft.Hop) error,
) (n int) {
	t.Helper()
	for _, p := range h.Paths() {
		if seen[p.Packet] {
			continue
		}
		seen[p.Packet] = true
		n++
		if err := follow(p.Packet.Src, p.Packet.Dst, p.Hops); err != nil {
			t.Fatalf("%v\n%v", err, p)
		}
	}
	return n
}

// bears kills the elements of set and revives them, in a loaded fabric of its own: registers then
// hold nothing of earlier faults.
func bears(t *testing.T, spec string, e subnet.Entry, set []verify.Element, atOnce bool, options ...harness.Option) {
	t.Helper()
	plan := topologytest.Parse(t, spec)
	fw, vcs, err := e.New(t.Context(), plan)
	require.NoError(t, err)
	h := harness.New(t, spec, harness.Firmware(fw), harness.Options(options...))
	g, load := h.Topology(), h.Fabric().Traffic()
	walker := func(when verify.When, dead ...verify.Element) *verify.Walker {
		w, err := verify.NewWalker(verify.Config{Graph: g, Firmware: fw, VCs: vcs, When: when}, dead...)
		require.NoError(t, err)
		return w
	}
	specs := orders(g, set)
	more(h, 300)
	if atOnce {
		h.Apply(specs...)
	} else {
		for _, s := range specs {
			h.Apply(s)
			more(h, 200)
		}
	}
	more(h, 300)
	l := h.RequireLedger(harness.NoneDiscarded)
	lossesAreAt(t, h, l, set)
	seen := map[harness.Packet]bool{}
	// An end may see a fault before the other does, and so the same packet first meet it and then
	// not.
	require.Positive(t, checked(t, h, seen, walker(verify.Flapping, set...).Allows))

	nics := weft.NICID(len(g.NICs))
	for src := range nics {
		for dst := range nics {
			if src != dst {
				_, err := h.Fabric().Send(src, dst, true)
				require.NoError(t, err)
			}
		}
	}
	after := h.RequireLedger(harness.NoneDiscarded)
	require.EqualValues(t, nics*(nics-1), after.Delivered-l.Delivered, "every pair is connected")
	static := walker(verify.Before, set...)
	follow := static.Allows
	if !fw.Symmetric && fw.Name != "hybrid-adaptive" {
		follow = static.Forces
	}
	require.EqualValues(t, nics*(nics-1), checked(t, h, seen, follow))

	h.Heal()
	require.NoError(t, h.Fabric().SetTraffic(load))
	more(h, 300)
	l = h.RequireLedger(harness.NoneDiscarded)
	require.Zero(t, h.Fabric().ReroutedInLastGeneration(), "packets go the direct ways again")
	require.Positive(t, checked(t, h, seen, walker(verify.Before).Allows))
	lossesAreAt(t, h, l, set)
}

// faultKinds are the kinds of fault set that a firmware bears, the most general last.
func faultKinds(b firmware.Tolerance, most int) (kinds []verify.Kind) {
	if most > 0 && b.Links {
		kinds = append(kinds, verify.Links)
	}
	if most > 0 && b.Switches {
		kinds = append(kinds, verify.Switches)
	}
	if most > 1 && b.Links && b.Switches {
		kinds = append(kinds, verify.Any)
	}
	return kinds
}

// howMany is how many sets of faults each firmware gets.
type howMany int

const (
	everyPlace howMany = iota // of each kind, apart and close together, one after another and at once
	someSets                  // one of the most general kind that it claims to bear, for every fourth firmware
	otherSets                 // the same for the others
)

// eachFaults calls f with sets of the kinds that each firmware claims to bear.
func eachFaults(t *testing.T, spec string, sets howMany,
	f func(t *testing.T, e subnet.Entry, set []verify.Element, atOnce bool),
) {
	t.Helper()
	g := topologytest.Parse(t, spec)
	for index, e := range subnet.Entries() {
		seed := fnv.New64()
		_, _ = seed.Write([]byte(e.Name)) // cannot fail
		r := rand.New(rand.NewPCG(testenv.Seed(t, 1), seed.Sum64()))
		most := e.Tolerance.Most(g.Place(0).Tree.K)
		kinds := faultKinds(e.Tolerance, most)
		for at, kind := range kinds {
			for draw := range 2 {
				atOnce, close := draw%2 == 1, (draw+at)%2 == 1
				set := faultsOf(r, g, kind, most, close)
				if sets != everyPlace && (draw != (index+at)%2 || at < len(kinds)-1 || (index%4 == 0) != (sets == someSets)) {
					continue
				}
				name := fmt.Sprintf("%s/%s", e.Name, kind)
				for _, dead := range set {
					name += " " + dead.Name(g)
				}
				if atOnce {
					name += " at once"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					f(t, e, set, atOnce)
				})
			}
		}
	}
}

func TestOverNATSEveryFirmwareBearsTheFaultsItClaims(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	spec, nics, sets := three, 27, someSets
	if testenv.Soak() {
		spec, nics, sets = tree, 64, everyPlace
	}
	everyFirmwareBears(t, spec, nics, sets, live.OverNATS()) // each starts a broker
}

func TestInMemoryEveryFirmwareBearsTheFaultsItClaims(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	sets := otherSets
	if testenv.Soak() {
		sets = everyPlace
	}
	everyFirmwareBears(t, three, 27, sets, harness.Options())
}

func everyFirmwareBears(t *testing.T, spec string, nics int, sets howMany, links harness.Option) {
	t.Helper()
	traced := harness.NICs(settings.NIC{QueueBytes: shortQueue, TraceEvery: 4})
	eachFaults(t, spec, sets, func(t *testing.T, e subnet.Entry, set []verify.Element, atOnce bool) {
		bears(t, spec, e, set, atOnce, links, saturating(nics), traced)
	})
}
