package tables

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Diff is what changes at switch s from one program to another, from version From to version To, as
// small as it can be. Without an old program, or where its tables are of another shape, it is the
// whole new one, and From is 0; tables with more virtual channels are told as a difference from the
// old ones [Tables.Widened]. Both programs are those of one firmware.
func Diff(s weft.SwitchID, old, new Program, from, to uint64) *Patch {
	p := &Patch{Switch: s, From: from, To: to}
	whole, grows := from == 0, false
	if a, b := old.Tables, new.Tables; b != nil {
		grows = a != nil && a.grows(b)
		whole = whole || a == nil || a.of(s) == nil || !grows && (a.vcs != b.vcs || a.nics != b.nics || a.paths != b.paths ||
			a.perLayer != b.perLayer)
	}
	if whole {
		p.From, old = 0, Program{}
	}
	if new.Tables != nil {
		if whole || grows {
			p.Shape = &PatchShape{VCs: new.Tables.vcs, Paths: new.Tables.paths, PerLayer: new.Tables.perLayer}
		}
		if grows && !whole {
			old.Tables = old.Tables.Of(s).Widened(new.Tables.vcs)
		}
		p.diffTables(old.Tables, new.Tables)
	}
	if new.Assignment != nil {
		p.diffAddresses(old.Assignment, new.Assignment)
	}
	if new.Routes != nil {
		for d := range weft.NICID(new.Routes.nics) {
			r, was := new.Routes.Route(s, d), weft.SourceRoute{}
			if old.Routes != nil {
				was = old.Routes.Route(s, d)
			}
			if r != was {
				p.Routes = append(p.Routes, PatchRoute{Dst: d, Route: r})
			}
		}
	}
	if new.Ways != nil {
		p.diffWays(old.Ways, new.Ways)
	}
	return p
}

// diffTables adds the entries of which the rows differ. a is nil, or of the shape of b.
func (p *Patch) diffTables(a, b *Tables) {
	to := b.of(p.Switch)
	if to == nil {
		return
	}
	var from *table
	var was []string
	if a != nil {
		if from = a.of(p.Switch); from.shares(to) {
			return
		}
		was = from.keys()
	}
	is := to.keys()
	numbers := map[uint16]int{} // of rows of b
	byKey := map[string]int{}
	for i, n := range to.row {
		before, after := "", "" // no row has this key
		if from != nil && from.row[i] != noRow {
			before = was[from.row[i]]
		}
		if n != noRow {
			after = is[n]
		}
		if before == after {
			continue
		}
		row := -1
		if n != noRow {
			var ok bool
			if row, ok = numbers[n]; !ok {
				if row, ok = byKey[after]; !ok {
					row = len(p.Rows)
					byKey[after] = row
					p.Rows = append(p.Rows, to.rows[n].patchRow())
				}
				numbers[n] = row
			}
		}
		if last := len(p.Set) - 1; last >= 0 && p.Set[last].Row == row && p.Set[last].At+p.Set[last].N == i {
			p.Set[last].N++
			continue
		}
		p.Set = append(p.Set, PatchSet{At: i, N: 1, Row: row})
	}
}

// keys are those of all rows of a table.
func (sw *table) keys() []string {
	if sw == nil {
		return nil
	}
	list := make([]string, len(sw.rows))
	for i, r := range sw.rows {
		list[i] = r.key()
	}
	return list
}

// key tells rows apart that forward differently, and those alone.
func (r *row) key() string {
	n := r.entries()
	var b []byte
	for i := range n {
		hops := r.entry(i)
		b = append(b, byte(len(hops)), byte(len(hops)>>8))
		for _, h := range hops {
			b = append(b, byte(h.Port), byte(h.Port>>8), byte(h.VC))
		}
	}
	if n > 1 && len(b)%n == 0 { // all alike are one
		each := len(b) / n
		for i := each; slices.Equal(b[:each], b[i:i+each]); i += each {
			if i+each == len(b) {
				return string(b[:each])
			}
		}
	}
	return string(b)
}

// patchRow is a row as a patch has it.
func (r *row) patchRow() PatchRow {
	n := r.entries()
	if r.alike() {
		n = 1
	}
	list := make(PatchRow, n)
	for i := range n {
		list[i] = []uint16{}
		for _, h := range r.entry(i) {
			list[i] = append(list[i], uint16(h.Port), uint16(h.VC))
		}
	}
	return list
}

// entries is how many a row has.
func (r *row) entries() int {
	if r.first == nil {
		return len(r.hops)
	}
	return len(r.first) - 1
}

func (r *row) entry(i int) []Hop {
	if r.first == nil {
		return r.hops[i : i+1]
	}
	return r.hops[r.first[i]:r.first[i+1]]
}

// alike reports whether all entries are the same.
func (r *row) alike() bool {
	for i := 1; i < r.entries(); i++ {
		if !slices.Equal(r.entry(i), r.entry(0)) {
			return false
		}
	}
	return true
}

func (o ownAddresses) equal(x ownAddresses) bool {
	return o.port == x.port && slices.Equal(o.list, x.list)
}

// diffAddresses adds the destinations of which the addresses differ.
func (p *Patch) diffAddresses(a, b *Assignment) {
	if a != nil && a.shares(b, p.Switch) {
		return
	}
	for d := range weft.NICID(b.nics) {
		list := b.Addresses(p.Switch, d)
		own := b.own(p.Switch, d)
		var was []weft.Address
		var wasOwn []ownAddresses
		if a != nil {
			was, wasOwn = a.Addresses(p.Switch, d), a.own(p.Switch, d)
		}
		if slices.Equal(list, was) && slices.EqualFunc(own, wasOwn, ownAddresses.equal) {
			continue
		}
		if last := len(p.Addresses) - 1; last >= 0 && len(own) == 0 && p.Addresses[last].Port == nil &&
			int(p.Addresses[last].Dst)+p.Addresses[last].N == int(d) && slices.Equal(p.Addresses[last].List, list) {
			p.Addresses[last].N++
			continue
		}
		p.Addresses = append(p.Addresses, PatchAddresses{Dst: d, N: 1, List: slices.Clone(list)})
		for _, o := range own {
			p.Addresses = append(p.Addresses, PatchAddresses{Dst: d, N: 1, Port: &o.port, List: slices.Clone(o.list)})
		}
	}
}
