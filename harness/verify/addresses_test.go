package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// ring is a ring with a NIC at each switch, and tables made by hand.
type ring struct {
	t      *testing.T
	g      *topology.Graph
	n      int
	tables *tables.Tables
	paths  int
}

func newRing(t *testing.T, spec string, vcs, paths int) *ring {
	g := topologytest.Parse(t, spec)
	ports := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		ports[i] = s.Ports
	}
	tables, err := tables.NewTablesOf(tables.TablesShape{
		VCs: vcs, NICs: len(g.NICs), Paths: paths, PerLayer: true,
		Ports: ports,
	})
	require.NoError(t, err)
	return &ring{t, g, len(ports), tables, paths}
}

// way is the port from switch s towards NIC d.
type way func(s, d int) weft.PortID

// fill has all packets for path of every NIC go by a way in one layer; they stay in it.
func (r *ring) fill(layer weft.VC, path int, by way) {
	for s := range r.n {
		for d := range r.n {
			p := weft.PortID(2) // to its NIC
			if s != d {
				p = by(s, d)
			}
			row, err := r.tables.AddRow(weft.SwitchID(s), []tables.Hop{{Port: p, VC: tables.SameVC}})
			require.NoError(r.t, err)
			require.NoError(r.t, r.tables.SetAddress(weft.SwitchID(s), layer, weft.NICID(d), path, row))
		}
	}
}

// minimal is the shorter way, half way round the way up.
func (r *ring) minimal(s, d int) weft.PortID {
	if 2*((d-s+r.n)%r.n) <= r.n {
		return 1
	}
	return 0
}

// along is the way that never goes around the end.
func (r *ring) along(s, d int) weft.PortID {
	if s < d {
		return 1
	}
	return 0
}

// around reports whether the shorter way does.
func (r *ring) around(s, d int) bool { return (r.minimal(s, d) == 1) != (s < d) }

func (r *ring) assign(of func(s, d int) []weft.Address) *tables.Assignment {
	a, err := tables.NewAssignment(r.n, r.n, r.tables.VCs(), r.paths,
		func(s weft.SwitchID, d weft.NICID) []weft.Address { return of(int(s), int(d)) })
	require.NoError(r.t, err)
	return a
}

// assignAll gives every pair the same addresses.
func (r *ring) assignAll(list ...weft.Address) *tables.Assignment {
	return r.assign(func(int, int) []weft.Address { return list })
}

func (r *ring) verified(fw firmware.Firmware) *Result {
	return ran(r.t, Config{Graph: r.g, Firmware: fw, Sets: Sets{Kind: Links}})
}

func TestMinimalTablesOfARingDeadlockInOneLayerAndNotInTwo(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"ring:4", "ring:5", "ring:8"} {
		r := newRing(t, spec, 2, 1)
		r.fill(0, 0, r.minimal)
		r.fill(1, 0, r.minimal)
		one := r.verified(firmware.Layered{Tables: r.tables, Assignment: r.assignAll(weft.Address{})}.Firmware())
		assert.False(t, one.Pass, spec)
		assert.Zero(t, one.Unconnected, spec)
		require.NotNil(t, one.Counter, spec)
		assert.Equal(t, Deadlock, one.Counter.What, spec)
		assert.Len(t, one.Counter.Channels, r.n, spec)

		dateline := r.assign(func(s, d int) []weft.Address {
			if r.around(s, d) {
				return []weft.Address{{VC: 1}}
			}
			return []weft.Address{{}}
		})
		two := r.verified(firmware.Layered{Tables: r.tables, Assignment: dateline}.Firmware())
		assert.True(t, two.Pass, spec)
		assert.True(t, two.CDGAcyclic, spec)
		assert.Equal(t, r.n/2+1, two.MaxHops, spec)
	}
}

func TestTablesThatLoopAreALivelock(t *testing.T) {
	t.Parallel()
	r := newRing(t, "ring:4", 1, 1)
	r.fill(0, 0, func(s, d int) weft.PortID {
		if d == 0 && s == 2 {
			return 1 // on to s3, which sends it back
		}
		if d == 0 && s == 3 {
			return 0
		}
		return r.along(s, d)
	})
	found := r.verified(firmware.Layered{Tables: r.tables, Assignment: r.assignAll(weft.Address{})}.Firmware())
	assert.False(t, found.Pass)
	assert.EqualValues(t, 2, found.Livelocks)
	require.NotNil(t, found.Counter)
	assert.Equal(t, Livelock, found.Counter.What)
	assert.Equal(t, "n0", found.Counter.Dst)
}

func TestEveryAddressOfAPairIsAStart(t *testing.T) {
	t.Parallel()
	r := newRing(t, "ring:4", 1, 3)
	r.fill(0, 0, r.along)
	r.fill(0, 2, r.along) // and nothing for path 1
	var paths []weft.Address
	with := func() *Result {
		return r.verified(firmware.Layered{Tables: r.tables, Assignment: r.assign(func(s, d int) []weft.Address {
			if s == 3 && d == 1 {
				return paths
			}
			return []weft.Address{{}}
		})}.Firmware())
	}
	paths = []weft.Address{{}, {Path: 2}}
	assert.True(t, with().Pass)
	paths = []weft.Address{{}, {Path: 1}, {Path: 2}}
	found := with()
	assert.EqualValues(t, 1, found.Unconnected)
	require.NotNil(t, found.Counter)
	assert.Equal(t, []string{"n3", "n1"}, []string{found.Counter.Src, found.Counter.Dst})
	assert.Equal(t, map[string]uint64{"table: no entry": 1}, found.Discards)
	assert.Contains(t, found.Counter.String(), "s3 from n3 vc0 path 1  (table: no entry)")
	fw := firmware.Layered{Tables: r.tables, Assignment: r.assignAll(paths...)}.Firmware()
	replay, err := found.Counter.Scenario(Config{Graph: r.g, Firmware: fw}, "x")
	require.NoError(t, err)
	assert.Contains(t, replay.About, "The NIC draws one of 3 addresses, and this is the way of path 1 from vc0")
	paths = nil
	assert.Equal(t, map[string]uint64{"table: no layer is assigned to this pair": 1}, with().Discards)
}

// Theorem 3 of the paper: packets that move freely between the layers of T close circles of
// dependencies, and cannot deadlock.
func TestPacketsMoveBetweenLayersWithoutDeadlock(t *testing.T) {
	t.Parallel()
	r := newRing(t, "ring:8", 2, 1)
	r.fill(0, 0, r.minimal)
	r.fill(1, 0, r.minimal)
	half := func(i int) bool { return 2*i < r.n }
	free := r.assign(func(s, d int) []weft.Address {
		switch {
		case r.around(s, d):
			return []weft.Address{{VC: 1, Layers: 2}}
		case half(s) == half(d): // in layer 1 it depends on nothing that packets around the end do not depend on
			return []weft.Address{{Layers: 3}, {VC: 1, Layers: 3}}
		}
		return []weft.Address{{}}
	})
	fw := firmware.LayeredAdaptive{Tables: r.tables, Assignment: free}.Firmware()
	found := r.verified(fw)
	assert.True(t, found.Pass)
	assert.False(t, found.CDGAcyclic)

	// Nor while links are dead, which takes ways away and leaves each packet the own layer or none.
	found = ran(t, Config{Graph: r.g, Firmware: fw, Sets: Sets{Kind: Links, Min: 1, Max: 2}})
	assert.Zero(t, found.Deadlocks)
	assert.Zero(t, found.Livelocks)

	// Were all allowed everywhere, each layer would be a ring by itself.
	all := r.assignAll(weft.Address{Layers: 3})
	found = r.verified(firmware.LayeredAdaptive{Tables: r.tables, Assignment: all}.Firmware())
	assert.False(t, found.Pass)
	require.NotNil(t, found.Counter)
	assert.Equal(t, Deadlock, found.Counter.What)
}

func TestAnEscapeLayerMendsWhatTheAdaptiveLayersMayDo(t *testing.T) {
	t.Parallel()
	r := newRing(t, "ring:5", 2, 1)
	r.fill(0, 0, r.along)
	r.fill(1, 0, r.minimal)
	fw := firmware.Escaping{Tables: r.tables, Assignment: r.assignAll(weft.Address{VC: 1, Layers: 2})}.Firmware()
	found := r.verified(fw)
	assert.True(t, found.Pass)
	assert.Equal(t, &Extended{Acyclic: 1, Connected: 1, Escape: true}, found.Extended)
	assert.Positive(t, found.CyclicSets)
	assert.True(t, found.CDGAcyclic, "that of the escape layer")
	assert.Equal(t, 6, found.MaxHops, "one hop the shorter way, and back along the line")

	// With dead links packets are lost, and still none waits for ever.
	found = ran(t, Config{Graph: r.g, Firmware: fw, Sets: Sets{Kind: Links, Min: 1, Max: 2}})
	assert.Zero(t, found.Deadlocks)
	assert.Zero(t, found.Livelocks)
	assert.Positive(t, found.Unconnected)

	r.fill(0, 0, r.minimal) // no escape
	found = r.verified(fw)
	require.NotNil(t, found.Counter)
	assert.Equal(t, Deadlock, found.Counter.What)
	assert.Equal(t, &Extended{Connected: 1, Escape: true}, found.Extended)
	assert.False(t, found.CDGAcyclic)
}

// The paths that packets of a live fabric take are held against the exploration by the address that
// they were sent to.
func TestAWalkerBeginsByTheAddressOfThePacket(t *testing.T) {
	t.Parallel()
	r := newRing(t, "ring:4", 2, 2)
	r.fill(0, 0, r.along)
	r.fill(1, 1, r.minimal)
	both := r.assignAll(weft.Address{}, weft.Address{Path: 1, VC: 1})
	fw := firmware.Layered{Tables: r.tables, Assignment: both}.Firmware()
	w, err := NewWalker(Config{Graph: r.g, Firmware: fw})
	require.NoError(t, err)
	fields := weft.NewFields()
	hop := func(s int, in, out weft.PortID, vc weft.VC, f weft.Fields) weft.Hop {
		return weft.Hop{Switch: weft.SwitchID(s), In: in, InVC: vc, Out: out, OutVC: vc, Rule: "table", Before: f, After: f}
	}
	require.NoError(t, w.Forces(3, 0, []weft.Hop{
		hop(3, 2, 0, 0, fields), hop(2, 1, 0, 0, fields),
		hop(1, 1, 0, 0, fields), hop(0, 1, 2, 0, fields),
	}))
	fields.Path = 1
	require.NoError(t, w.Forces(3, 0, []weft.Hop{hop(3, 2, 1, 1, fields), hop(0, 0, 2, 1, fields)}))
	require.ErrorIs(t, w.Allows(3, 0, []weft.Hop{hop(3, 2, 0, 1, fields)}), ErrPath, "the way of the other address")
	fields.Path = 2
	require.ErrorIs(t, w.Allows(3, 0, []weft.Hop{hop(3, 2, 1, 1, fields)}), ErrPath, "an address that it has not")
}
