package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// middle is switch 0 of three, with NIC 0 at port 3 and other switches at ports 0 to 2; NICs 1 and
// 2 are elsewhere.
func middle() *switching.Still {
	return &switching.Still{At: &weft.Place{Name: "s0", Roles: []weft.Role{
		weft.RolePeer, weft.RolePeer, weft.RolePeer,
		weft.RoleNIC,
	}}}
}

// layeredTables are tables of so many layers for middle, with two addresses a NIC.
func layeredTables(t testing.TB, perLayer bool, vcs int) *tables.Tables {
	tables, err := tables.NewTablesOf(tables.TablesShape{
		VCs: vcs, NICs: 3, Paths: 2, PerLayer: perLayer,
		Ports: []int{4, 1, 1},
	})
	require.NoError(t, err)
	return tables
}

// set fills the entries for an address in a layer, all alike or one per in port and a last one for
// packets that enter the layer.
func fill(tb testing.TB, t *tables.Tables, layer weft.VC, d weft.NICID, path int, entries ...[]tables.Hop) {
	row, err := t.AddChoices(0, entries)
	require.NoError(tb, err)
	require.NoError(tb, t.SetAddress(0, layer, d, path, row))
}

func stay(ports ...weft.PortID) (hops []tables.Hop) {
	for _, p := range ports {
		hops = append(hops, tables.Hop{Port: p, VC: tables.SameVC})
	}
	return hops
}

// assigned says that switch 0 sends to NICs 1 and 2 by some addresses, and to nobody else.
func assigned(t testing.TB, vcs int, list ...weft.Address) *tables.Assignment {
	a, err := tables.NewAssignment(3, 3, vcs, 2, func(s weft.SwitchID, d weft.NICID) []weft.Address {
		if s == 0 && d > 0 {
			return list
		}
		return nil
	})
	require.NoError(t, err)
	return a
}

// asked is a packet at middle, and what becomes of it: its rule, and its candidates as port, VC,
// class.
type decided struct {
	why  string
	pkt  weft.Header
	at   Arrival
	dead []weft.PortID
	rule string
	to   [][3]int
}

func (c decided) check(t *testing.T, fw Firmware) {
	t.Helper()
	sw := middle()
	for _, p := range c.dead {
		sw.Dead.Add(p)
	}
	c.pkt.PortField, c.pkt.VC, c.at.From = weft.PortFieldNone, c.at.VC, sw.At.Roles[c.at.Port]
	was := c.pkt
	d := fw.Route(&c.pkt, c.at, sw)
	require.Equal(t, was, c.pkt)
	var to [][3]int
	for _, k := range d.Candidates {
		require.Equal(t, c.pkt.Fields, k.Fields, c.why)
		to = append(to, [3]int{int(k.Port), int(k.VC), int(k.Class)})
	}
	require.Equal(t, c.rule, d.Rule, c.why)
	require.Equal(t, c.to, to, c.why)
	require.Equal(t, switching.Straight, d.Turn)
}

func packetFor(d weft.NICID, path, layers uint16) weft.Header {
	return weft.Header{Dst: d, Fields: weft.Fields{Path: path, Layers: layers}}
}

func TestLayeredForwardsByInPortLayerAndAddress(t *testing.T) {
	lft := layeredTables(t, true, 2)
	fill(t, lft, 0, 1, 0, stay(1), stay(2), nil, stay(0), stay(0))
	fill(t, lft, 1, 1, 0, stay(2))
	fill(t, lft, 0, 1, 1, []tables.Hop{{Port: 0, VC: 1}})
	fill(t, lft, 0, 2, 0, []tables.Hop{{Port: weft.NoPort, VC: 0}})
	fill(t, lft, 1, 0, 0, stay(3))
	fw := Layered{Tables: lft, Assignment: assigned(t, 2, weft.Address{Path: 1}, weft.Address{VC: 1})}.Firmware()
	require.NoError(t, fw.Check(middle().At, 2))
	for _, c := range []decided{
		{"in port", packetFor(1, 0, 0), Arrival{Port: 0}, nil, "table", [][3]int{{1, 0, 0}}},
		{"another in port", packetFor(1, 0, 0), Arrival{Port: 1}, nil, "table", [][3]int{{2, 0, 0}}},
		{"an in port without a way", packetFor(1, 0, 0), Arrival{Port: 2}, nil, "table: no entry", nil},
		{"another layer", packetFor(1, 0, 0), Arrival{Port: 0, VC: 1}, nil, "table", [][3]int{{2, 1, 0}}},
		{"layers to move between mean nothing", packetFor(1, 0, 3), Arrival{Port: 0}, nil, "table", [][3]int{{1, 0, 0}}},
		{
			"another address, whose hop names its layer", packetFor(1, 1, 0),
			Arrival{Port: 1},
			nil, "table",
			[][3]int{{0, 1, 0}},
		},
		{"an address without an entry", packetFor(2, 1, 0), Arrival{Port: 1}, nil, "table: no entry", nil},
		{"an address that no NIC has", packetFor(1, 2, 0), Arrival{Port: 0}, nil, "table: no entry", nil},
		{"an entry without a way", packetFor(2, 0, 0), Arrival{Port: 1}, nil, "table: no entry", nil},
		{"a layer without tables", packetFor(1, 0, 0), Arrival{Port: 1, VC: 2}, nil, "table: no entry", nil},
		{"a dead link", packetFor(1, 0, 0), Arrival{Port: 0}, []weft.PortID{1}, "table: the link is dead", nil},
		{"others dead", packetFor(1, 0, 0), Arrival{Port: 0}, []weft.PortID{0, 2, 3}, "table", [][3]int{{1, 0, 0}}},
		{"from its NIC", packetFor(1, 0, 0), Arrival{Port: 3}, nil, "table", [][3]int{{0, 0, 0}}},
		{"to its NIC", packetFor(0, 0, 0), Arrival{Port: 1, VC: 1}, nil, "table", [][3]int{{3, 1, 0}}},
		{
			"from its NIC to itself, without a layer", packetFor(0, 0, 0),
			Arrival{Port: 3, VC: 1},
			nil, "table",
			[][3]int{{3, 1, 0}},
		},
	} {
		c.check(t, fw)
	}
	fw = Layered{Tables: lft, Assignment: assigned(t, 2)}.Firmware()
	for _, c := range []decided{
		{
			"to another switch without a layer", packetFor(1, 0, 0),
			Arrival{Port: 3},
			nil,
			"table: no layer is assigned to this pair", nil,
		},
		{"which only its own switch knows", packetFor(1, 0, 0), Arrival{Port: 0}, nil, "table", [][3]int{{1, 0, 0}}},
		{"to its NIC", packetFor(0, 0, 0), Arrival{Port: 3, VC: 1}, nil, "table", [][3]int{{3, 1, 0}}},
	} {
		c.check(t, fw)
	}
}

func TestLayeredAdaptiveOffersAllLiveWaysInTheLayersOfThePacket(t *testing.T) {
	lft := layeredTables(t, true, 3)
	fill(t, lft, 0, 1, 0, stay(0, 1))
	fill(t, lft, 1, 1, 0, stay(0), stay(0), stay(0), stay(2, 0), stay(2, weft.NoPort))
	fill(t, lft, 2, 1, 0, stay(1))
	fill(t, lft, 0, 0, 0, stay(3))
	with := func(a *tables.Assignment) Firmware { return LayeredAdaptive{Tables: lft, Assignment: a}.Firmware() }
	fw := with(assigned(t, 3, weft.Address{Layers: 3}))
	require.NoError(t, fw.Check(middle().At, 3))
	const all, one = "table: any way in its layers", "table: any way in its layer"
	for _, c := range []decided{
		{"it stays", packetFor(1, 0, 0), Arrival{Port: 2}, nil, one, [][3]int{{0, 0, 0}, {1, 0, 0}}},
		{"its layer alone is the same", packetFor(1, 0, 1), Arrival{Port: 2}, nil, one, [][3]int{{0, 0, 0}, {1, 0, 0}}},
		{"entering another layer", packetFor(1, 0, 3), Arrival{Port: 2}, nil, all, [][3]int{{0, 0, 0}, {1, 0, 0}, {2, 1, 0}}},
		{
			"in that layer by its in port", packetFor(1, 0, 3),
			Arrival{Port: 2, VC: 1},
			nil, all,
			[][3]int{{0, 1, 0}, {0, 0, 0}, {1, 0, 0}},
		},
		{
			"from its NIC by that port in both", packetFor(1, 0, 6),
			Arrival{Port: 3, VC: 2},
			nil, all,
			[][3]int{{1, 2, 0}, {2, 1, 0}, {0, 1, 0}},
		},
		{"live ways", packetFor(1, 0, 7), Arrival{Port: 2}, []weft.PortID{1}, all, [][3]int{{0, 0, 0}, {2, 1, 0}}},
		{
			"none is live in its own layer", packetFor(1, 0, 7),
			Arrival{Port: 2, VC: 2},
			[]weft.PortID{1},
			"table: every link in its layer is dead", nil,
		},
		{
			"which does not matter to one from its NIC", packetFor(1, 0, 3),
			Arrival{Port: 3},
			[]weft.PortID{0, 1},
			all,
			[][3]int{{2, 1, 0}},
		},
		{
			"none is live anywhere", packetFor(1, 0, 3),
			Arrival{Port: 3},
			[]weft.PortID{0, 1, 2},
			"table: every link in its layer is dead", nil,
		},
		{"no entry", packetFor(2, 0, 7), Arrival{Port: 2}, nil, "table: no entry", nil},
		{"to its NIC", packetFor(0, 0, 7), Arrival{Port: 2}, nil, all, [][3]int{{3, 0, 0}}},
	} {
		c.check(t, fw)
	}
	fw = with(assigned(t, 3))
	decided{
		"without a layer", packetFor(1, 0, 0), Arrival{Port: 3}, nil, "table: no layer is assigned to this pair", nil,
	}.check(t, fw)

	// Tables that do not tell layers apart are asked with the in port in every layer.
	alike := layeredTables(t, false, 2)
	fill(t, alike, 0, 1, 0, stay(0), stay(0), stay(1), stay(1), stay(2), stay(2), nil, nil)
	decided{
		"layers alike", packetFor(1, 0, 3), Arrival{Port: 1, VC: 1}, nil, all, [][3]int{{1, 1, 0}, {1, 0, 0}},
	}.check(t, LayeredAdaptive{Tables: alike, Assignment: fw.Program.Assignment}.Firmware())
}

func TestEscapingNeverLeavesTheEscapeLayer(t *testing.T) {
	lft := layeredTables(t, true, 3)
	fill(t, lft, 0, 1, 0, stay(0), stay(0), nil, stay(1), stay(2)) // up/down: one that came by p2 has no way
	fill(t, lft, 1, 1, 0, stay(0, 1))
	fill(t, lft, 2, 1, 0, stay(0, 1))
	fill(t, lft, 0, 0, 0, stay(3))
	fill(t, lft, 1, 0, 0, stay(3))
	with := func(a *tables.Assignment) Firmware { return Escaping{Tables: lft, Assignment: a}.Firmware() }
	fw := with(assigned(t, 3, weft.Address{Layers: 6, VC: 1}))
	require.NoError(t, fw.Check(middle().At, 3))
	const adaptive, escaped = "escape: any way in the adaptive layers, or the escape layer", "escape: in the escape layer"
	for _, c := range []decided{
		{
			"adaptive", packetFor(1, 0, 6),
			Arrival{Port: 2, VC: 1},
			nil, adaptive,
			[][3]int{{2, 0, 1}, {0, 1, 0}, {1, 1, 0}, {0, 2, 0}, {1, 2, 0}},
		},
		{
			"one adaptive layer", packetFor(1, 0, 0),
			Arrival{Port: 2, VC: 1},
			nil, adaptive,
			[][3]int{{2, 0, 1}, {0, 1, 0}, {1, 1, 0}},
		},
		{"escaped, by its in port", packetFor(1, 0, 6), Arrival{Port: 1}, nil, escaped, [][3]int{{0, 0, 0}}},
		{"escaped to where there is no way", packetFor(1, 0, 6), Arrival{Port: 2}, nil, "table: no entry", nil},
		{
			"escaped, and dead", packetFor(1, 0, 6),
			Arrival{Port: 1},
			[]weft.PortID{0},
			"escape: every link of the escape layer is dead", nil,
		},
		{
			"from its NIC in the escape layer", packetFor(1, 0, 6),
			Arrival{Port: 3},
			nil, adaptive,
			[][3]int{{1, 0, 1}, {0, 1, 0}, {1, 1, 0}, {0, 2, 0}, {1, 2, 0}},
		},
		{"from its NIC to the escape layer alone", packetFor(1, 0, 1), Arrival{Port: 3}, nil, escaped, [][3]int{{1, 0, 0}}},
		{
			"adaptive ways dead", packetFor(1, 0, 6),
			Arrival{Port: 2, VC: 1},
			[]weft.PortID{0, 1},
			adaptive,
			[][3]int{{2, 0, 1}},
		},
		{
			"no live escape", packetFor(1, 0, 6),
			Arrival{Port: 2, VC: 1},
			[]weft.PortID{2},
			"escape: every link of the escape layer is dead", nil,
		},
		{"no entry", packetFor(2, 0, 6), Arrival{Port: 2, VC: 1}, nil, "table: no entry", nil},
		{"to its NIC", packetFor(0, 0, 2), Arrival{Port: 2, VC: 1}, nil, adaptive, [][3]int{{3, 0, 1}, {3, 1, 0}}},
		{"to its NIC, escaped", packetFor(0, 0, 2), Arrival{Port: 2}, nil, escaped, [][3]int{{3, 0, 0}}},
	} {
		c.check(t, fw)
	}
	fw = with(assigned(t, 3))
	decided{
		"without a layer", packetFor(1, 0, 6), Arrival{Port: 3, VC: 1}, nil, "table: no layer is assigned to this pair", nil,
	}.check(t, fw)

	refused := func(e Escaping, vcs int, want string) {
		e.Assignment = fw.Program.Assignment
		require.ErrorContains(t, e.Firmware().Check(middle().At, vcs), want)
	}
	refused(Escaping{Tables: layeredTables(t, false, 2)}, 2, "make them per layer")
	refused(Escaping{Tables: lft, Escape: 3}, 3, "without an escape layer 3")
}

func TestLayeredFirmwaresNeedTheirTablesAndTheAssignment(t *testing.T) {
	lft, a := layeredTables(t, true, 2), assigned(t, 2, weft.Address{Path: 1, VC: 1})
	for _, with := range []func(*tables.Tables, *tables.Assignment) Firmware{
		func(t *tables.Tables, a *tables.Assignment) Firmware { return Layered{t, a}.Firmware() },
		func(t *tables.Tables, a *tables.Assignment) Firmware { return LayeredAdaptive{t, a}.Firmware() },
		func(t *tables.Tables, a *tables.Assignment) Firmware { return Escaping{t, a, 0}.Firmware() },
	} {
		check := func(t *tables.Tables, a *tables.Assignment, vcs int) error {
			fw := with(t, a)
			return fw.Fits(middle().At, vcs)
		}
		require.NoError(t, check(lft, a, 2))
		require.ErrorContains(t, check(nil, a, 2), "has no forwarding tables")
		require.ErrorContains(t, check(lft, nil, 2), "has no traffic assignment")
		require.ErrorContains(t, check(lft, a, 1), "needs 2 virtual channels")

		fw := with(lft, a)
		require.True(t, fw.DestinationBased)
		require.NoError(t, fw.Requeues(middle().At))
		require.Equal(t, []weft.Address{{Path: 1, VC: 1}}, fw.Addresses(middle().At, 3, 2))
		require.Empty(t, fw.Addresses(middle().At, 3, 0))
		most := fw.MostHops
		require.GreaterOrEqual(t, most, 6, "twice three switches")
		require.Less(t, most, 10)
	}
}

func TestLayeredFirmwaresRouteWithoutAllocating(t *testing.T) {
	sw, fws := layeredBench(t)
	for name, fw := range fws {
		pkt := packetFor(1, 0, 6)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			fw.Route(&pkt, Arrival{Port: 2, VC: 1, From: weft.RolePeer}, sw)
		}), name)
	}
}

func BenchmarkLayeredRoute(b *testing.B) {
	sw, fws := layeredBench(b)
	for name, fw := range fws {
		b.Run("firmware="+name, func(b *testing.B) {
			b.ReportAllocs()
			pkt := packetFor(1, 0, 6)
			for b.Loop() {
				fw.Route(&pkt, Arrival{Port: 2, VC: 1, From: weft.RolePeer}, sw)
			}
		})
	}
}

func layeredBench(t testing.TB) (*switching.Still, map[string]Firmware) {
	tables, a := layeredTables(t, true, 3), assigned(t, 3, weft.Address{Layers: 6, VC: 1})
	for vc := range weft.VC(3) {
		fill(t, tables, vc, 1, 0, stay(0, 1))
	}
	return middle(), map[string]Firmware{
		"layered": Layered{tables, a}.Firmware(), "layered-adaptive": LayeredAdaptive{tables, a}.Firmware(),
		"escaping": Escaping{tables, a, 0}.Firmware(), "static": Static{tables}.Firmware(),
	}
}
