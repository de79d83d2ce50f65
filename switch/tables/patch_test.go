package tables

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// drawn is a random program for some switches, of that shape, with few different rows.
func drawn(t testing.TB, r *rand.Rand, shape TablesShape) Program {
	tables, err := NewTablesOf(shape)
	require.NoError(t, err)
	vcs := shape.VCs
	hop := func(ports int) Hop {
		h := Hop{Port: weft.PortID(r.IntN(ports)), VC: weft.VC(r.IntN(vcs))}
		switch r.IntN(4) {
		case 0:
			h.Port = weft.NoPort
		case 1:
			h.VC = SameVC
		}
		return h
	}
	for s, ports := range shape.Ports {
		rows := 1 + r.IntN(5)
		for range rows {
			n := 1
			if r.IntN(2) == 0 {
				n = tables.wide(ports)
			}
			entries := make([][]Hop, n)
			for i := range entries {
				for range r.IntN(3) {
					entries[i] = append(entries[i], hop(ports))
				}
				if i > 0 && r.IntN(2) == 0 {
					entries[i] = entries[0]
				}
			}
			_, err := tables.AddChoices(weft.SwitchID(s), entries)
			require.NoError(t, err)
			if n == 1 {
				_, err = tables.AddRow(weft.SwitchID(s), []Hop{hop(ports)})
				require.NoError(t, err)
			}
		}
		for vc := range weft.VC(vcs) {
			for d := range weft.NICID(shape.NICs) {
				for path := range shape.Paths {
					if r.IntN(5) > 0 {
						require.NoError(t, tables.SetAddress(weft.SwitchID(s), vc, d, path, r.IntN(rows)))
					}
				}
			}
		}
	}
	lists := [][]weft.Address{nil, {{}}, {{VC: weft.VC(vcs - 1)}}, {{Path: uint16(shape.Paths - 1)}, {Layers: 1}}}
	a, err := NewAssignment(len(shape.Ports), shape.NICs, vcs, shape.Paths,
		func(weft.SwitchID, weft.NICID) []weft.Address {
			return lists[r.IntN(len(lists))]
		})
	require.NoError(t, err)
	routes, err := NewSourceRoutes(len(shape.Ports), shape.NICs, func(weft.SwitchID, weft.NICID) weft.SourceRoute {
		route, _ := weft.SourceRoute{}.Push(weft.PortID(r.IntN(3)))
		return route
	})
	require.NoError(t, err)
	return Program{Tables: tables, Assignment: a, Routes: routes}
}

// alike fails unless two programs say the same at a switch.
func alike(t require.TestingT, s weft.SwitchID, ports int, a, b Program) {
	require.Equal(t, a.Tables.Shape(), b.Tables.Shape())
	for d := range weft.NICID(a.Tables.nics + 1) {
		for path := range uint16(a.Tables.paths) {
			for vc := range weft.VC(a.Tables.vcs) {
				for in := range weft.PortID(ports + 1) {
					if int(in) == ports {
						in = weft.NoPort
					}
					x, y := a.Tables.Choices(s, d, path, in, vc), b.Tables.Choices(s, d, path, in, vc)
					if !slices.Equal(x, y) {
						require.Equal(t, x, y, "switch %d, nic %d path %d, in by %v %v", s, d, path, in, vc)
					}
				}
			}
		}
		require.True(t, slices.Equal(a.Assignment.Addresses(s, d), b.Assignment.Addresses(s, d)), "addresses of nic %d", d)
		require.Equal(t, a.Routes.Route(s, d), b.Routes.Route(s, d))
	}
	require.Equal(t, a.Tables.Sequence(s), b.Tables.Sequence(s))
	require.Equal(t, a.Tables.Rank(s), b.Tables.Rank(s))
	require.Equal(t, a.Tables.MostHops(), b.Tables.MostHops())
}

func shapeFrom(r *rand.Rand) TablesShape {
	return TablesShape{
		VCs: 1 + r.IntN(3), NICs: 1 + r.IntN(9), Paths: 1 + r.IntN(2), PerLayer: r.IntN(2) == 0, Ports: []int{
			1 + r.IntN(4),
			3, 1 + r.IntN(4),
		},
	}
}

func placeAt(s weft.SwitchID, ports int) *weft.Place {
	return &weft.Place{Switch: s, Name: fmt.Sprintf("s%d", s), Roles: make([]weft.Role, ports)}
}

// over has a patch travel as JSON.
func over(t require.TestingT, p *Patch) *Patch {
	text, err := json.Marshal(p)
	require.NoError(t, err)
	q := new(Patch)
	require.NoError(t, json.Unmarshal(text, q))
	return q
}

func like(a, b Program) bool {
	x, y := a.Tables, b.Tables
	return x.vcs == y.vcs && x.paths == y.paths && x.perLayer == y.perLayer
}

func TestAPatchedProgramForwardsAsTheOneThatItWasMadeOf(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		shape := shapeFrom(r)
		other := shape
		switch r.IntN(4) {
		case 0:
			other = shapeFrom(r)
			other.NICs, other.Ports = shape.NICs, shape.Ports
		case 1: // more virtual channels
			other.VCs += 1 + r.IntN(2)
		}
		programs := []Program{drawn(t, r, shape), drawn(t, r, other), drawn(t, r, other)}
		for s := range weft.SwitchID(len(shape.Ports)) {
			ports := shape.Ports[s]
			place := placeAt(s, ports)
			now := programs[0]
			version := uint64(FirstVersion)
			for _, next := range programs[1:] {
				p := Diff(s, now, next, version, version+1)
				grows := now.Tables.grows(next.Tables)
				require.Equal(t, !like(now, next) && !grows, p.From == 0)
				require.Equal(t, !like(now, next), p.Shape != nil)
				version++
				was := now
				var err error
				now, err = now.Patched(place, over(t, p))
				require.NoError(t, err)
				alike(t, s, ports, next, now)
				require.True(t, Diff(s, now, next, version, version+1).Empty())
				if like(was, next) { // the one before has not changed, and back again
					back, err := now.Patched(place, over(t, Diff(s, next, was, version, version+1)))
					require.NoError(t, err)
					alike(t, s, ports, was, back)
				}
				require.Empty(t, now.Tables.Of(s+1).switches)
				whole, err := programs[0].Patched(place, over(t, Diff(s, Program{}, next, 0, version)))
				require.NoError(t, err)
				alike(t, s, ports, next, whole)
			}
		}
	}
}

// Tables that get more virtual channels are told as what is new, and packets in the channels that
// were there go on as before.
func TestTablesWithMoreVirtualChannelsForwardAsBefore(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		shape := shapeFrom(r)
		was := drawn(t, r, shape)
		wide := was
		wide.Tables = was.Tables.Widened(shape.VCs + 2)
		for s := range weft.SwitchID(len(shape.Ports)) {
			p := Diff(s, was, wide, 1, 2)
			require.Empty(t, p.Set)
			now, err := was.Patched(placeAt(s, shape.Ports[s]), over(t, p))
			require.NoError(t, err)
			alike(t, s, shape.Ports[s], wide, now)
			for i := range shape.VCs * shape.NICs * shape.Paths * (shape.Ports[s] + 1) {
				d, path := weft.NICID(i%shape.NICs), uint16(i/shape.NICs%shape.Paths)
				vc, in := weft.VC(i/shape.NICs/shape.Paths%shape.VCs), weft.PortID(i/shape.NICs/shape.Paths/shape.VCs)
				if int(in) == shape.Ports[s] {
					in = weft.NoPort
				}
				require.True(t, slices.Equal(was.Tables.Choices(s, d, path, in, vc), now.Tables.Choices(s, d, path, in, vc)))
			}
		}
	}
}

func TestAPatchHoldsNoMoreThanWhatChanges(t *testing.T) {
	shape := TablesShape{VCs: 1, NICs: 100, Ports: []int{4}}
	make1 := func(moved ...weft.NICID) Program {
		tables, err := NewTablesOf(shape)
		require.NoError(t, err)
		for p := range weft.PortID(4) {
			_, err := tables.AddRow(0, []Hop{{Port: 3 - p}})
			require.NoError(t, err)
		}
		for d := range weft.NICID(100) {
			require.NoError(t, tables.Set(0, d, int(d)/25))
		}
		for _, d := range moved {
			require.NoError(t, tables.Set(0, d, 3))
		}
		return Program{Tables: tables}
	}
	p := Diff(0, make1(), make1(5, 6, 7, 40), 3, 4)
	require.Equal(t, &Patch{
		From: 3, To: 4, Rows: []PatchRow{{{0, 0}}}, Set: []PatchSet{{At: 5, N: 3, Row: 0}, {At: 40, N: 1, Row: 0}},
	}, p)
	require.True(t, Diff(0, make1(1), make1(1), 3, 4).Empty())
	require.False(t, p.Empty())
}

func TestRowsThatNobodyUsesGoAndEqualOnesAreShared(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	shape := TablesShape{VCs: 2, NICs: 20, Paths: 1, PerLayer: true, Ports: []int{3}}
	now, place := drawn(t, r, shape), placeAt(0, 3)
	for version := uint64(1); version < 50; version++ {
		next := drawn(t, r, shape)
		var err error
		now, err = now.Patched(place, Diff(0, now, next, version, version+1))
		require.NoError(t, err)
		require.LessOrEqual(t, len(now.Tables.switches[0].rows), 10)
	}
	same := &Patch{
		To: 2, Shape: &PatchShape{VCs: 2, Paths: 1, PerLayer: true}, Rows: []PatchRow{{{1, 0}}, {{1, 0}}},
		Set: []PatchSet{{At: 0, N: 20, Row: 0}, {At: 20, N: 20, Row: 1}},
	}
	now, err := now.Patched(place, same)
	require.NoError(t, err)
	require.Len(t, now.Tables.switches[0].rows, 1)
}

func TestPatchesOutOfOrderAreRefused(t *testing.T) {
	// 12 entries of switch 0
	tables, err := NewTablesOf(TablesShape{VCs: 2, NICs: 3, Paths: 2, PerLayer: true, Ports: []int{4, 1, 1}})
	require.NoError(t, err)
	a, err := NewAssignment(3, 3, 2, 2, func(weft.SwitchID, weft.NICID) []weft.Address {
		return []weft.Address{{
			Path: 1,
			VC:   1,
		}}
	})
	require.NoError(t, err)
	routes, err := NewSourceRoutes(3, 3, func(weft.SwitchID, weft.NICID) weft.SourceRoute { return weft.SourceRoute{} })
	require.NoError(t, err)
	all := Program{Tables: tables, Assignment: a, Routes: routes}
	row := []PatchRow{{{1, 0}}}
	for _, c := range []struct {
		p    Patch
		want string
	}{
		{Patch{Switch: 1}, "another switch"},
		{Patch{From: 2, To: 2}, "number versions upwards"},
		{Patch{From: 0, To: 2}, "has the shape of its tables"},
		{Patch{From: 1, To: 2, Shape: &PatchShape{VCs: 1, Paths: 2, PerLayer: true}}, "may add some"},
		{Patch{From: 1, To: 2, Shape: &PatchShape{VCs: 3, Paths: 1, PerLayer: true}}, "may add some"},
		{Patch{From: 1, To: 2, Shape: &PatchShape{VCs: 3, Paths: 2}}, "may add some"},
		{Patch{To: 2, Shape: &PatchShape{VCs: 0, Paths: 1}}, "0 virtual channels"},
		{Patch{To: 2, Shape: &PatchShape{VCs: 17, Paths: 1}}, "17 virtual channels"},
		{Patch{To: 2, Shape: &PatchShape{VCs: 1}}, "0 addresses"},
		{Patch{To: 2, Shape: &PatchShape{VCs: 1, Paths: 1 << 40}}, "entries are possible"},
		{
			Patch{From: 1, To: 2, Rows: []PatchRow{{{1, 0}, {1, 0}}}, Set: []PatchSet{{N: 1}}},
			"a row of 2 entries: give 1 or 5",
		},
		{Patch{From: 1, To: 2, Rows: []PatchRow{{}}, Set: []PatchSet{{N: 1}}}, "a row of 0 entries"},
		{Patch{From: 1, To: 2, Rows: []PatchRow{{{1}}}, Set: []PatchSet{{N: 1}}}, "an entry of 1 numbers"},
		{Patch{From: 1, To: 2, Rows: []PatchRow{{make([]uint16, 32)}}, Set: []PatchSet{{N: 1}}}, "an entry of 32 numbers"},
		{Patch{From: 1, To: 2, Rows: []PatchRow{{{4, 0}}}, Set: []PatchSet{{N: 1}}}, "which the switch does not have"},
		{Patch{From: 1, To: 2, Rows: []PatchRow{{{1, 2}}}, Set: []PatchSet{{N: 1}}}, "which the switch does not have"},
		{Patch{From: 1, To: 2, Rows: []PatchRow{{{1, 256}}}, Set: []PatchSet{{N: 1}}}, "which the switch does not have"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{At: 12, N: 1}}}, "there are 12 entries"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{At: 11, N: 2}}}, "there are 12 entries"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{At: 1, N: 1<<63 - 1}}}, "there are 12 entries"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{At: -1, N: 1}}}, "there are 12 entries"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{N: 0}}}, "there are 12 entries"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{N: 2}, {At: 1, N: 1}}}, "once and in their order"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{N: 1, Row: 1}}}, "1 rows in the patch"},
		{Patch{From: 1, To: 2, Rows: row, Set: []PatchSet{{N: 1, Row: -2}}}, "1 rows in the patch"},
		{Patch{From: 1, To: 2, Addresses: []PatchAddresses{{Dst: 3, N: 1}}}, "there are 3"},
		{Patch{From: 1, To: 2, Addresses: []PatchAddresses{{Dst: 1, N: 3}}}, "there are 3"},
		{Patch{From: 1, To: 2, Addresses: []PatchAddresses{{N: 0}}}, "there are 3"},
		{Patch{From: 1, To: 2, Addresses: []PatchAddresses{{Dst: 1, N: 1}, {Dst: 1, N: 1}}}, "once and in their order"},
		{Patch{From: 1, To: 2, Addresses: []PatchAddresses{{N: 1, List: []weft.Address{{VC: 2}}}}}, "by path 0 in"},
		{Patch{From: 1, To: 2, Addresses: []PatchAddresses{{N: 3, List: make([]weft.Address, maxAddresses/2)}}}, "addresses"},
		{Patch{From: 1, To: 2, Routes: []PatchRoute{{Dst: 3}}}, "there are 3"},
		{Patch{From: 1, To: 2, Routes: []PatchRoute{{Dst: 1}, {Dst: 1}}}, "once and in their order"},
	} {
		_, err := all.Patched(placeAt(0, 4), &c.p)
		require.ErrorIs(t, err, ErrPatch)
		require.ErrorContains(t, err, c.want)
	}
	for _, p := range []Patch{
		{From: 1, To: 2, Set: []PatchSet{{N: 1, Row: -1}}},
		{From: 1, To: 2, Addresses: []PatchAddresses{{N: 1}}},
		{From: 1, To: 2, Routes: []PatchRoute{{}}},
	} {
		_, err := Program{}.Patched(placeAt(0, 4), &p)
		require.ErrorContains(t, err, "the firmware")
	}
}

// Whatever comes from outside, what is made of it can be looked up everywhere.
func FuzzPatched(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	shape := TablesShape{VCs: 2, NICs: 4, Paths: 2, PerLayer: true, Ports: []int{3}}
	first := drawn(f, r, shape)
	for range 8 {
		text, err := json.Marshal(Diff(0, first, drawn(f, r, shape), 1, 2))
		require.NoError(f, err)
		f.Add(text)
	}
	text, err := json.Marshal(Diff(0, Program{}, first, 0, 2))
	require.NoError(f, err)
	f.Add(text)
	shape.VCs = 4
	text, err = json.Marshal(Diff(0, first, drawn(f, r, shape), 1, 2))
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Patch
		if json.Unmarshal(text, &p) != nil {
			return
		}
		now, err := first.Patched(placeAt(0, 3), &p)
		if err != nil {
			require.ErrorIs(t, err, ErrPatch)
			return
		}
		shape := now.Tables.Shape()
		for d := range weft.NICID(shape.NICs) {
			now.Assignment.Addresses(0, d)
			for path := range uint16(min(shape.Paths, 8)) {
				for vc := range weft.VC(shape.VCs) {
					for _, in := range []weft.PortID{0, 1, 2, 3, weft.NoPort} {
						for _, h := range now.Tables.Choices(0, d, path, in, vc) {
							require.True(t, h.Port == weft.NoPort || h.Port < 3)
						}
					}
				}
			}
		}
		require.True(t, Diff(0, now, now, 1, 2).Empty())
	})
}

// NICs of a switch that send otherwise than the others keep that through patches, and lose it where
// their switch sends otherwise.
func TestAddressesOfSingleNICsArePatched(t *testing.T) {
	both := []weft.Address{{VC: 0}, {VC: 1}}
	make2 := func(at2 []weft.Address) *Assignment {
		a, err := NewAssignment(2, 4, 2, 1, func(s weft.SwitchID, d weft.NICID) []weft.Address {
			if d == 2 {
				return at2
			}
			return both
		})
		require.NoError(t, err)
		return a
	}
	plain := make2(both)
	own, err := plain.WithOwn([]NICAddresses{
		{0, 5, 1, both[:1]},
		{0, 4, 1, both[1:]},
		{0, 5, 3, both[:1]},
		{1, 4, 1, nil},
	})
	require.NoError(t, err)
	check := func(a *Assignment, s weft.SwitchID, p weft.PortID, d weft.NICID, want []weft.Address) {
		t.Helper()
		require.Equal(t, want, slices.Clone(a.From(s, p, d)))
	}
	check(own, 0, 5, 1, both[:1])
	check(own, 0, 4, 1, both[1:])
	check(own, 0, 3, 1, both)
	check(own, 1, 4, 1, nil)
	check(plain, 0, 5, 1, both)
	require.Equal(t, both, own.Addresses(0, 1), "of all of its NICs together")
	place := &weft.Place{Switch: 0, Name: "s", Roles: make([]weft.Role, 6)}

	for _, c := range []struct {
		old  *Assignment
		from uint64
	}{{plain, 1}, {make2(both[:1]), 1}, {own, 0}} {
		p := Diff(0, Program{Assignment: c.old}, Program{Assignment: own}, c.from, 2)
		data, err := json.Marshal(p)
		require.NoError(t, err)
		var sent Patch
		require.NoError(t, json.Unmarshal(data, &sent))
		got, err := Program{Assignment: c.old.Of(0)}.Patched(place, &sent)
		require.NoError(t, err)
		for port := range weft.PortID(6) {
			for d := range weft.NICID(4) {
				check(got.Assignment, 0, port, d, slices.Clone(own.From(0, port, d)))
			}
		}
		require.True(t, Diff(0, got, Program{Assignment: own}, 2, 3).Empty(), "nothing is left to change")
	}
	back, err := Program{Assignment: own.Of(0)}.Patched(place, Diff(0, Program{Assignment: own},
		Program{Assignment: plain}, 1, 2))
	require.NoError(t, err)
	check(back.Assignment, 0, 5, 1, both)

	edited, err := own.Edited([]weft.SwitchID{0}, 2, 1, func(_ weft.SwitchID, d weft.NICID) []weft.Address {
		if d == 3 {
			return both[1:]
		}
		return both
	})
	require.NoError(t, err)
	check(edited, 0, 5, 1, both[:1])
	check(edited, 0, 5, 3, both[1:])

	port := weft.PortID(5)
	for want, p := range map[string]Patch{
		"after those of that NIC": {From: 1, To: 2, Addresses: []PatchAddresses{{Dst: 1, N: 1, Port: &port}}},
		"by which the switch does not send": {From: 1, To: 2, Addresses: []PatchAddresses{
			{Dst: 1, N: 1, List: both[:1]},
			{Dst: 1, N: 1, Port: &port, List: both},
		}},
		"has addresses of its own for NIC 1": {From: 1, To: 2, Addresses: []PatchAddresses{
			{Dst: 1, N: 1, List: both},
			{Dst: 1, N: 1, Port: &port},
			{Dst: 1, N: 1, Port: &port},
		}},
	} {
		_, err := Program{Assignment: plain.Of(0)}.Patched(place, &p)
		require.ErrorContains(t, err, want)
	}
}
