package wasm

import (
	"math"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// tell puts the forwarding table of a switch into the guest's memory, where the last one was if
// there is room.
func (i *instance) tell(s *standing, t *tables.Tables) error {
	k := table(s.place.Switch, t)
	if n := uint32(len(k.b)); n > s.space {
		at, err := i.alloc(2 * n) // the next ones may be larger, and nothing is given back
		if err != nil {
			return err
		}
		s.table, s.space = at, 2*n
	}
	k.move(s.table)
	copy(i.memory()[s.table:], k.b)
	s.tables = t
	return nil
}

// table is the table of switch s, as docs/reference/wasm.md has it.
func table(s weft.SwitchID, t *tables.Tables) *block {
	whole := tables.Diff(s, tables.Program{}, tables.Program{Tables: t}, 0, 1)
	k := &block{}
	k.reserve(32)
	entries := 0
	for _, set := range whole.Set {
		entries = max(entries, set.At+set.N)
	}
	for n, v := range []int{t.VCs(), 0, t.Paths(), t.Shape().NICs, entries} {
		k.u32(4*n, v)
	}
	if t.PerLayer() {
		k.u32(4, 1)
	}
	row := k.reserve(2 * entries)
	k.point(20, row)
	for e := range entries {
		le.PutUint16(k.b[row+2*e:], math.MaxUint16)
	}
	for _, set := range whole.Set {
		for e := set.At; e < set.At+set.N; e++ {
			le.PutUint16(k.b[row+2*e:], uint16(set.Row))
		}
	}
	rows := k.reserve(8 * len(whole.Rows))
	k.point(24, rows)
	for r, list := range whole.Rows {
		ways := k.reserve(8 * len(list))
		k.u32(rows+8*r, len(list))
		k.point(rows+8*r+4, ways)
		for e, hops := range list {
			at := k.reserve(2 * len(hops))
			k.u32(ways+8*e, len(hops)/2)
			k.point(ways+8*e+4, at)
			for h, v := range hops {
				le.PutUint16(k.b[at+2*h:], v)
			}
		}
	}
	return k
}
