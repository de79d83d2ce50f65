package tables

import (
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// maxAddresses bounds the addresses of the pairs of one switch that a patch can make; chosen by us.
const maxAddresses = 1 << 22

// Patched is the program of the switch at a place with a patch applied, whatever version it has. A
// patch cannot bring what is not there: tables, an assignment, routes, ways.
func (r Program) Patched(place *weft.Place, p *Patch) (Program, error) {
	s := place.Switch
	switch {
	case p.Switch != s:
		return r, p.wrong("it is for another switch than %s, which is number %d", place.Name, s)
	case p.To <= p.From:
		return r, p.wrong("it makes an older version of version %d: number versions upwards", p.From)
	case p.From == 0 && p.Shape == nil && r.Tables != nil:
		return r, p.wrong("a whole program, from version 0, has the shape of its tables")
	case r.Tables == nil && (p.Shape != nil || len(p.Rows)+len(p.Set) > 0):
		return r, p.wrong("it changes tables, and the firmware has none")
	case r.Assignment == nil && len(p.Addresses) > 0:
		return r, p.wrong("it assigns addresses, and the firmware has none")
	case r.Routes == nil && len(p.Routes) > 0:
		return r, p.wrong("it has routes for NICs, and the firmware uses none")
	case r.Ways == nil && len(p.Ways) > 0:
		return r, p.wrong("it has sub-headers for NICs, and the firmware reads none")
	}
	shape := TablesShape{VCs: weft.MaxVCs, Paths: 1}
	var err error
	if r.Tables != nil {
		if r.Tables, err = r.Tables.patched(place, p); err != nil {
			return r, err
		}
		shape = r.Tables.Shape()
	}
	if r.Assignment != nil {
		if r.Assignment, err = r.Assignment.patched(s, shape, p); err != nil {
			return r, err
		}
	}
	if r.Routes != nil {
		if r.Routes, err = r.Routes.patched(s, p); err != nil {
			return r, err
		}
	}
	if r.Ways != nil {
		r.Ways, err = r.Ways.patched(s, p)
	}
	return r, err
}

// patched are the tables of one switch alone, with a patch applied.
func (t *Tables) patched(place *weft.Place, p *Patch) (*Tables, error) {
	one := t.Of(place.Switch)
	if one.of(place.Switch) == nil || one.switches[0].ports != place.Ports() {
		return nil, p.wrong("the tables in force do not fit the switch")
	}
	if len(p.Set) == 0 && p.Shape == nil {
		return one, nil
	}
	sw := one.switches[0]
	if shape := p.Shape; shape != nil {
		switch {
		case shape.VCs < 1 || shape.VCs > weft.MaxVCs:
			return nil, p.wrong("tables for %d virtual channels: give 1 to %d", shape.VCs, weft.MaxVCs)
		case shape.Paths < 1 || shape.Paths > math.MaxUint16 || t.nics*shape.Paths*shape.VCs > maxAddresses:
			return nil, p.wrong("tables for %d addresses of each of %d NICs: at most %d entries are possible", shape.Paths,
				t.nics, maxAddresses)
		}
		if p.From != 0 {
			if t.vcs >= shape.VCs || t.paths != shape.Paths || t.perLayer != shape.PerLayer {
				return nil, p.wrong("tables for %d virtual channels become those for %d: a patch that is no whole program may "+
					"add some, and change nothing else of their shape",
					t.vcs, shape.VCs)
			}
			one = one.Widened(shape.VCs)
			sw = one.switches[0]
			sw.row = slices.Clone(sw.row)
		} else {
			one.vcs, one.paths, one.perLayer = shape.VCs, shape.Paths, shape.PerLayer
			sw.rows, sw.row = nil, make([]uint16, one.entries())
			for i := range sw.row {
				sw.row[i] = noRow
			}
		}
	} else {
		sw.row = slices.Clone(sw.row)
	}
	one.switches = []table{sw}
	if err := one.apply(p); err != nil {
		return nil, err
	}
	return one, nil
}

// entries is how many addresses a switch has a row for.
func (t *Tables) entries() int {
	n := t.nics * t.paths
	if t.perLayer {
		n *= t.vcs
	}
	return n
}

// apply gives addresses the rows of a patch, in tables of one switch whose row is its own. Rows
// that are there already are shared, and those that no address has any more go.
func (t *Tables) apply(p *Patch) error {
	sw := &t.switches[0]
	kept := t.compact()
	numbers := make([]uint16, len(p.Rows))
	for i, entries := range p.Rows {
		r, err := t.row(p, entries)
		if err != nil {
			return err
		}
		k := r.key()
		n, ok := kept[k]
		if !ok {
			if len(sw.rows) == noRow {
				return p.wrong("more than %d different rows", noRow)
			}
			n = uint16(len(sw.rows))
			kept[k] = n
			sw.rows = append(sw.rows, r)
		}
		numbers[i] = n
	}
	next := 0
	for _, set := range p.Set {
		if set.At < next || set.N < 1 || set.At > len(sw.row)-set.N || set.Row < -1 || set.Row >= len(numbers) {
			return p.wrong("%d entries from number %d get row %d: there are %d entries, to be named once and in their order, "+
				"and %d rows in the patch",
				set.N, set.At, set.Row, len(sw.row), len(numbers))
		}
		n := uint16(noRow)
		if set.Row >= 0 {
			n = numbers[set.Row]
		}
		for i := range set.N {
			sw.row[set.At+i] = n
		}
		next = set.At + set.N
	}
	return nil
}

// compact renumbers the rows of tables of one switch so that only those are left that an address
// has, and returns their numbers.
func (t *Tables) compact() map[string]uint16 {
	sw := &t.switches[0]
	old := sw.rows
	sw.rows = nil
	number := make(map[string]uint16, len(old))
	to := make([]uint16, len(old))
	for i := range to {
		to[i] = noRow
	}
	for i, n := range sw.row {
		if n == noRow {
			continue
		}
		if to[n] == noRow {
			k := old[n].key()
			m, ok := number[k]
			if !ok {
				m = uint16(len(sw.rows))
				number[k] = m
				sw.rows = append(sw.rows, old[n])
			}
			to[n] = m
		}
		sw.row[i] = to[n]
	}
	return number
}

// row makes a row of entries as a patch has them.
func (t *Tables) row(p *Patch, entries PatchRow) (row, error) {
	ports := t.switches[0].ports
	if want := t.wide(ports); len(entries) != 1 && len(entries) != want {
		return row{}, p.wrong("a row of %d entries: give 1 or %d", len(entries), want)
	}
	r := row{first: make([]uint32, 1, len(entries)+1)}
	for _, e := range entries {
		if len(e)%2 != 0 || len(e)/2 > (ports+1)*(t.vcs+1) { // any port or none, any VC or the same
			return row{}, p.wrong("an entry of %d numbers: give a port and a VC for each hop, and each hop once", len(e))
		}
		for i := 0; i < len(e); i += 2 {
			h := Hop{Port: weft.PortID(e[i]), VC: weft.VC(e[i+1])}
			if e[i+1] > math.MaxUint8 || h.Port != weft.NoPort && int(h.Port) >= ports || int(h.VC) >= t.vcs && h.VC != SameVC {
				return row{}, p.wrong("out by %v VC %d, which the switch does not have: there are %d ports and %d VCs", h.Port,
					e[i+1], ports, t.vcs)
			}
			r.hops = append(r.hops, h)
		}
		r.first = append(r.first, uint32(len(r.hops)))
	}
	if len(r.hops) == len(entries) && !slices.ContainsFunc(entries, func(e []uint16) bool { return len(e) != 2 }) {
		r.first = nil
	}
	return r, nil
}

// wide is how many entries a row has that tells them apart.
func (t *Tables) wide(ports int) int {
	if t.perLayer {
		return ports + 1
	}
	return ports * t.vcs
}

// patched is the assignment at switch s alone, with the addresses of a patch.
func (a *Assignment) patched(s weft.SwitchID, shape TablesShape, p *Patch) (*Assignment, error) {
	old := a.Of(s)
	if len(p.Addresses) == 0 && p.From != 0 {
		return old, nil
	}
	if p.From == 0 {
		old = &Assignment{nics: a.nics, base: s}
	}
	one := sending{first: make([]uint32, 1, a.nics+1)}
	keep := func(until int) {
		for d := len(one.first) - 1; d < until; d++ {
			one.list = append(one.list, old.Addresses(s, weft.NICID(d))...)
			one.first = append(one.first, uint32(len(one.list)))
			if own := old.own(s, weft.NICID(d)); own != nil {
				one.setOwn(weft.NICID(d), own)
			}
		}
	}
	var own []NICAddresses
	for _, x := range p.Addresses {
		if x.Port != nil {
			if int(x.Dst) != len(one.first)-2 || x.N != 1 {
				return nil, p.wrong("addresses of %d NICs from number %d for port %d alone: expected them after those of that "+
					"NIC for all ports", x.N, x.Dst, *x.Port)
			}
			own = append(own, NICAddresses{s, *x.Port, x.Dst, slices.Clone(x.List)})
			continue
		}
		if int(x.Dst) < len(one.first)-1 || x.N < 1 || int(x.Dst) > a.nics-x.N {
			return nil, p.wrong("addresses of %d NICs from number %d: there are %d, to be named once and in their order", x.N,
				x.Dst, a.nics)
		}
		for _, to := range x.List {
			if err := checkAddress(s, x.Dst, to, shape.VCs, shape.Paths); err != nil {
				return nil, p.wrong("%v", err)
			}
		}
		keep(int(x.Dst))
		if len(one.list)+x.N*len(x.List) > maxAddresses {
			return nil, p.wrong("more than %d addresses", maxAddresses)
		}
		for range x.N {
			one.list = append(one.list, x.List...)
			one.first = append(one.first, uint32(len(one.list)))
		}
	}
	keep(a.nics)
	patched, err := (&Assignment{nics: a.nics, base: s, at: []sending{one}}).WithOwn(own)
	if err != nil {
		return nil, p.wrong("%v", err)
	}
	return patched, nil
}
