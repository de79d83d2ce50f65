package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// wrong is a firmware whose decisions are spoilt on the way out.
func wrong(
	fw switching.Firmware, spoil func(d *switching.Decision, at switching.Arrival, sw switching.View),
) switching.Firmware {
	right := fw.Route
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := right(pkt, at, sw)
		if len(d.Candidates) > 0 {
			spoil(&d, at, sw)
		}
		return d
	}
	return fw
}

// allPaths cuts the links named, sends a packet from every NIC to every other and holds all paths
// against a checker's.
func allPaths(t *testing.T, fw switching.Firmware, check func(w *verify.Walker, p harness.Path) error,
	right verify.Config, dead ...string,
) (wrongs []error) {
	t.Helper()
	h := harness.New(t, tree, harness.Firmware(fw))
	right.Graph = h.Topology()
	var set []verify.Element
	for _, name := range dead {
		e, err := verify.ElementByName(h.Topology(), name)
		require.NoError(t, err)
		set = append(set, e)
	}
	w, err := verify.NewWalker(right, set...)
	require.NoError(t, err)
	for i, name := range dead {
		do := fault.VerbCut
		if set[i].Switch {
			do = fault.VerbCrash
		}
		h.Apply(fault.Spec{Do: do, A: name})
	}
	nics := h.Topology().NICs
	for _, src := range nics {
		for _, dst := range nics {
			if src.ID != dst.ID {
				h.Send(src.Name, dst.Name)
			}
		}
	}
	h.Quiesce()
	paths := h.Paths()
	require.Len(t, paths, len(nics)*(len(nics)-1))
	for _, p := range paths {
		if err := check(w, p); err != nil {
			wrongs = append(wrongs, err)
		}
	}
	return wrongs
}

func forces(w *verify.Walker, p harness.Path) error {
	return w.Forces(p.Packet.Src, p.Packet.Dst, p.Hops)
}

func allows(w *verify.Walker, p harness.Path) error {
	return w.Allows(p.Packet.Src, p.Packet.Dst, p.Hops)
}

// when spoils the first candidate of the decisions by one rule.
func when(rule string, spoil func(c *switching.Candidate, sw switching.View)) func(*switching.Decision,
	switching.Arrival, switching.View) {
	return func(d *switching.Decision, _ switching.Arrival, sw switching.View) {
		if d.Rule == rule {
			spoil(&d.Candidates[0], sw)
		}
	}
}

func TestTheCheckerHasEveryPathOfALiveFabricAndNoneOfAWrongOne(t *testing.T) {
	t.Parallel()
	link, vector := firmware.DeterministicLink(), firmware.MisrouteVector{}.Firmware()
	sw := firmware.DeterministicSwitch{LeavesInML2: true}.Firmware()
	for _, c := range []struct {
		name  string
		right switching.Firmware
		check func(*verify.Walker, harness.Path) error
		dead  string
		spoil func(d *switching.Decision, at switching.Arrival, sw switching.View)
		want  string
	}{
		{
			"rule 2b in the re-routing layer for the first bounce, as printed", link, forces, "s1.00-s2.00",
			when("2: first bounce, back to the same lower switch", func(c *switching.Candidate, _ switching.View) { c.VC = 1 }),
			`at s1.00, in p1 vc0, it went by "2: first bounce, back to the same lower switch" out p1 vc1 to s2.01; ` +
				`there is only: went by "2: first bounce, back to the same lower switch" out p1 vc0 to s2.01`,
		},
		{
			"another up port", link, forces, "s0.00-s1.00",
			when("1: up", func(c *switching.Candidate, sw switching.View) {
				if other := c.Port ^ 1; sw.Place().Tree.Tier == 1 && sw.PortUp(other) {
					c.Port = other
				}
			}),
			`"1: up" out p`,
		},
		{
			"another VC into the NIC", link, forces, "s1.00-s2.00",
			when("2: down", func(c *switching.Candidate, sw switching.View) {
				if sw.Place().Tree.Leaf() {
					c.VC = 1
				}
			}),
			`vc1 to n`,
		},
		{
			"another rule", link, forces, "s1.00-s2.00",
			func(d *switching.Decision, _ switching.Arrival, _ switching.View) {
				if d.Rule == "3a: U-turn, first up port of D" {
					d.Rule = "3b: U-turn, next up port of D"
				}
			},
			`it went by "3b: U-turn, next up port of D"`,
		},
		{
			"port field off by one", sw, forces, "s1.00",
			when("5: up, the second tier", func(c *switching.Candidate, _ switching.View) { c.Fields.PortField ^= 1 }),
			`it went by "5: up, the second tier" out p`,
		},
		{
			"port field not set", sw, forces, "s1.00",
			when("4a: down the second tier", func(c *switching.Candidate, _ switching.View) { c.Fields.PortField = -1 }),
			`it went by "4a: down the second tier" out p`,
		},
		{
			"a bit of the vector left out", vector, allows, "s1.00-s2.00",
			when("4: U-turn, an up port not in the misroute vector",
				func(c *switching.Candidate, _ switching.View) { c.Fields.Misroute = 0 }),
			`it went by "4: U-turn, an up port not in the misroute vector"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			right := verify.Config{Firmware: c.right}
			require.Empty(t, allPaths(t, c.right, c.check, right, c.dead))
			wrongs := allPaths(t, wrong(c.right, c.spoil), c.check, right, c.dead)
			require.NotEmpty(t, wrongs)
			require.ErrorIs(t, wrongs[0], verify.ErrPath)
			require.ErrorContains(t, wrongs[0], c.want)
		})
	}
}

func TestAPathIsAllowedOnlyWithTheDeadElementsInForce(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	// Every packet of a walker that knows of no fault goes straight; of the live ones some do not.
	unaware := func(_ *verify.Walker, p harness.Path) error {
		g := topologytest.Parse(t, tree)
		w, err := verify.NewWalker(verify.Config{Graph: g, Firmware: firmware.DeterministicLink()})
		require.NoError(t, err)
		return allows(w, p)
	}
	right := verify.Config{Firmware: firmware.DeterministicLink()}
	wrongs := allPaths(t, firmware.DeterministicLink(), unaware, right, "s1.00-s2.00")
	require.NotEmpty(t, wrongs)
	require.Less(t, len(wrongs), 56)
	require.Regexp(t, `with nothing dead, hop \d: the checker has no such path: at s[12]\.00`, wrongs[0].Error())
	for _, when := range []verify.When{verify.Arriving, verify.Flapping} { // it may come any time, also before
		right.When = when
		require.Empty(t, allPaths(t, firmware.DeterministicLink(), allows, right, "s1.00-s2.00"), when)
	}
	require.NotEmpty(t, allPaths(t, firmware.DeterministicLink(), forces, right, "s1.00-s2.00"),
		"there are other ways if the link comes back")
	adaptive := firmware.MisrouteVector{}.Firmware()
	require.NotEmpty(t, allPaths(t, adaptive, forces, verify.Config{Firmware: adaptive}), "adaptive")
}
