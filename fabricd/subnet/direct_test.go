package subnet_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// around follows every choice of every packet of a firmware that was computed knowing what is dead.
type around struct {
	g    *topology.Graph
	dead *subnet.Dead
	fw   firmware.Firmware
	sw   []*switching.Still
	dst  weft.NICID
	seen map[stop]int // hops to the NIC
}

type stop struct {
	at     weft.End
	vc     weft.VC
	fields weft.Fields
}

func newAround(g *topology.Graph, dead *subnet.Dead, fw firmware.Firmware, vcs int) *around {
	a := &around{g: g, dead: dead, fw: fw}
	for _, s := range g.Switches {
		v := &switching.Still{At: g.Place(s.ID), Free: 2, Channels: vcs + 1}
		for p := range weft.PortID(v.At.Ports()) {
			if _, id, ok := g.Peer(weft.End{Node: s.ID.Node(), Port: p}); ok && dead.Cuts(&g.Links[id]) {
				v.Dead.Add(p)
			}
		}
		a.sw = append(a.sw, v)
	}
	return a
}

// hops is how many the packet takes from there, by whatever candidates; an error if it may be
// discarded, or not be as many.
func (a *around) hops(s stop) (int, error) {
	if !s.at.Node.IsSwitch() {
		if s.at.Node != a.dst.Node() {
			return 0, fmt.Errorf("at %v", s.at)
		}
		return -1, nil // the link to the NIC is none
	}
	if n, ok := a.seen[s]; ok {
		return n, nil
	}
	v := a.sw[s.at.Node.Index]
	pkt := weft.Header{Dst: a.dst, VC: s.vc, Fields: s.fields}
	d := a.fw.Route(&pkt, switching.Arrival{Port: s.at.Port, VC: s.vc, From: v.At.Roles[s.at.Port]}, v)
	if len(d.Candidates) == 0 {
		return 0, fmt.Errorf("%s: %s", v.At.Name, d.Rule)
	}
	least := -2
	for _, c := range append([]switching.Candidate(nil), d.Candidates...) {
		to, _, _ := a.g.Peer(weft.End{Node: s.at.Node, Port: c.Port})
		n, err := a.hops(stop{to, c.VC, c.Fields})
		if err != nil {
			return 0, err
		}
		if least != -2 && n != least {
			return 0, fmt.Errorf("%s: %d or %d hops: %s", v.At.Name, n, least, d.Rule)
		}
		least = n
	}
	// An adaptive channel that is dead and so left out is one that the way should not have.
	if a.left(v, d, s.fields) {
		return 0, fmt.Errorf("%s: it could have met a dead link: %s", v.At.Name, d.Rule)
	}
	a.seen[s] = least + 1
	return least + 1, nil
}

// left reports whether the packet would have more candidates if nothing were dead.
func (a *around) left(v *switching.Still, d switching.Decision, fields weft.Fields) bool {
	n, alive := len(d.Candidates), *v
	alive.Dead = switching.PortSet{}
	pkt := weft.Header{Dst: a.dst, Fields: fields}
	nic := v.At.Grid.NICPort(0)
	return len(a.fw.Route(&pkt, switching.Arrival{Port: nic, From: weft.RoleNIC}, &alive).Candidates) != n
}

// check follows the packets of every pair of switches. Engine and firmware agree about length and
// about who has a way.
func (a *around) check(m direct.Mechanisms) error {
	net, err := direct.New(a.g)
	if err != nil {
		return err
	}
	solution := net.Solve(m, a.dead.Cuts, nil)
	for dst := range a.sw {
		a.dst, a.seen = weft.NICID(uint32(dst)*a.sw[0].At.Grid.NICs), map[stop]int{}
		for src, v := range a.sw {
			if src == dst && a.dead.HasSwitch(weft.SwitchID(src)) {
				continue
			}
			h := weft.Header{Dst: a.dst, Fields: weft.NewFields()}
			a.fw.Source(v.At, 0, &h)
			way, ok := solution.Way(weft.SwitchID(src), weft.SwitchID(dst))
			n, err := a.hops(stop{weft.End{Node: weft.SwitchID(src).Node(), Port: v.At.Grid.NICPort(0)}, 0, h.Fields})
			switch {
			case !ok && (err == nil || h.Sub[0] != weft.Nowhere):
				return fmt.Errorf("%d to %d has no way, and %d hops by %q", src, dst, n, h.Sub)
			case ok && (err != nil || n != way.Length):
				return fmt.Errorf("%d to %d by %q: %d hops, want %d: %w", src, dst, h.Sub, n, way.Length, err)
			}
		}
	}
	return nil
}

// Every way that is computed around faults is one that the firmware goes, in its length, whatever
// candidates packets take; and it meets no dead link.
func TestPacketsGoAsTheWaysAroundFaultsSay(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"torus:3x3", "torus:4x4", "torus:3x3x2", "torus:4x3,nics=2", "mesh:4x3", "mesh:3x2x2",
		"ring:5",
	}[:testenv.N(7, 2)] {
		for _, options := range []string{
			"none", "I", "D", "M", "D+M", "I+D", "I+M", "Ix2", "I+D+M", "Ix2+D,ring=dateline", "Ix3,ring=free", "I+D+either",
			"I+D+direction-order",
			"I+D+M+either,ring=dateline", "I+D,adaptive=false", "I+D,order=direction",
		} {
			name := "duato:mechanisms=" + options
			t.Run(spec+"/"+options, func(t *testing.T) {
				t.Parallel()
				g, rnd := topologytest.Parse(t, spec), rand.New(rand.NewPCG(5, 6))
				e, err := subnet.ByName(name)
				require.NoError(t, err)
				for _, faults := range []int{1, 3, 4} {
					var dead subnet.Dead
					for range faults {
						if l := g.Links[rnd.IntN(len(g.Links))]; l.A.Node.IsSwitch() && l.B.Node.IsSwitch() {
							dead.AddLink(l.ID)
						}
					}
					if faults == 4 {
						dead.AddSwitch(weft.SwitchID(rnd.IntN(len(g.Switches))))
					}
					fw, vcs, err := e.Around(t.Context(), g, &dead)
					require.NoError(t, err)
					f := e.Direct
					m := direct.Mechanisms{Intermediate: f.SubPaths - 1, Deterministic: f.Deterministic, Misroute: f.Misroutes}
					m.DirectionOrder = f.Order == firmware.DirectionFirst && !m.Misroute && m.Deterministic
					m.Either = options == "I+D+either" || options == "I+D+M+either,ring=dateline"
					for _, s := range g.Switches {
						require.NoError(t, fw.Fits(g.Place(s.ID), vcs))
					}
					require.NoError(t, newAround(g, &dead, fw, vcs).check(m), "%d faults", faults)
				}
			})
		}
	}
}

func TestRoutingsByRulesTakeOptions(t *testing.T) {
	t.Parallel()
	torus := topologytest.Parse(t, "torus:4x4")
	for name, want := range map[string]struct {
		fw  firmware.Direct
		vcs int
	}{
		"duato":                       {firmware.Direct{Adaptive: true}, 2},
		"duato:ring=dateline":         {firmware.Direct{Adaptive: true, Ring: firmware.Dateline}, 3},
		"duato:order=direction":       {firmware.Direct{Adaptive: true, Order: firmware.DirectionFirst}, 2},
		"duato:adaptive=false":        {firmware.Direct{}, 1},
		"direction-order":             {firmware.Direct{Order: firmware.DirectionFirst, Ring: firmware.Dateline}, 2},
		"direction-order:ring=bubble": {firmware.Direct{Order: firmware.DirectionFirst}, 1},
		"dimension-order:ring=bubble": {firmware.Direct{}, 1},
		"dimension-order:ring=free":   {firmware.Direct{Ring: firmware.Free}, 1},
		"duato:mechanisms=I+D":        {firmware.Direct{Adaptive: true, SubPaths: 2, Deterministic: true}, 3},
		"duato:mechanisms=Ix3+D+M,ring=dateline": {
			firmware.Direct{
				Adaptive: true, SubPaths: 4, Deterministic: true, Misroutes: true, Order: firmware.DirectionFirst,
				Ring: firmware.Dateline,
			}, 9,
		},
	} {
		e, err := subnet.ByName(name)
		require.NoError(t, err, name)
		require.Equal(t, name, e.Name)
		require.True(t, subnet.Known(name))
		fw, vcs, err := e.New(t.Context(), torus)
		require.NoError(t, err)
		require.Empty(t, fw.Program.Ways.From(0), "nothing is dead")
		require.Less(t, fw.MostHops, weft.MaxHops, "it knows the diameter")
		require.Equal(t, want.fw, *e.Direct, name)
		require.Equal(t, want.vcs, vcs, name)
		require.Equal(t, want.fw.SubPaths > 0, e.Around != nil, "mechanisms are for what is dead")
	}
	fw, vcs, err := subnet.Firmware(t.Context(), "dimension-order", torus)
	require.NoError(t, err)
	require.Nil(t, fw.Program, "a firmware of its own")
	require.Equal(t, 2, vcs)
	for name, want := range map[string]string{
		"duato:ring=bubles":                     "firmware duato: ring=bubles: expected bubble, dateline or free",
		"duato:rings=free":                      `firmware duato: unknown option "rings": did you mean "ring"?`,
		"duato:mechanisms=I+X":                  `unknown mechanism "X"`,
		"duato:mechanisms=":                     "expected none, or some of I",
		"duato:mechanisms=Ix4":                  "a packet has room for 3 intermediate nodes, choose Ix3",
		"duato:mechanisms=I+M,order=dimension":  "leave out order=dimension",
		"dimension-order:order=direction":       `unknown option "order": known: ring`,
		"direction-order:ring=free,ring=bubble": "option ring is given twice",
	} {
		_, err := subnet.ByName(name)
		require.ErrorContains(t, err, want)
	}
	for _, name := range []string{"duato:mechanisms=I", "duato", "direction-order:ring=free"} {
		_, _, err := subnet.Firmware(t.Context(), name, topologytest.Parse(t, "kary-ntree:2,2"))
		require.ErrorContains(t, err, "or a firmware that routes kary-ntree:2,2, as adaptive-link or updn")
	}
}

// A link that a file leaves out is one that is dead for ever.
func TestWaysGoAroundLinksThatATopologyLacks(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:4x4")
	fw, _, err := subnet.Firmware(t.Context(), "duato:mechanisms=I+D", g)
	require.NoError(t, err)
	require.Empty(t, fw.Program.Ways.From(0))
	var dead subnet.Dead
	dead.AddLink(g.Links[0].ID)
	e, err := subnet.ByName("duato:mechanisms=I+D")
	require.NoError(t, err)
	around, _, err := e.Around(t.Context(), g, &dead)
	require.NoError(t, err)
	require.NotEmpty(t, around.Program.Ways.From(0))
}
