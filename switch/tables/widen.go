package tables

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Widened are tables that forward as these do, with more virtual channels. Tables per layer have no
// rows in a layer that is new. In others a row of one entry holds there too, and a row of more has
// no way there. What is alike is shared: set nothing in either from then on, but at switches for
// which [Tables.Edited] was asked.
func (t *Tables) Widened(vcs int) *Tables {
	c := *t
	c.vcs, c.switches = vcs, slices.Clone(t.switches)
	for i := range c.switches {
		c.switches[i].widen(t, vcs)
	}
	return &c
}

// widen gives a table of t so many virtual channels.
func (sw *table) widen(t *Tables, vcs int) {
	if t.perLayer {
		had := len(sw.row)
		sw.row = slices.Grow(slices.Clip(sw.row), (vcs-t.vcs)*t.nics*t.paths)[:vcs*t.nics*t.paths]
		for i := had; i < len(sw.row); i++ {
			sw.row[i] = noRow
		}
		return
	}
	sw.rows = slices.Clone(sw.rows)
	for i := range sw.rows {
		switch r := &sw.rows[i]; {
		case r.entries() == 1:
		case r.alike():
			*r = r.single()
		default:
			*r = r.widened(sw.ports, t.vcs, vcs)
		}
	}
}

// single is a row of one entry, of one whose entries are alike: a patch tells both the same way.
func (r *row) single() row {
	hops := slices.Clone(r.entry(0))
	if r.first == nil {
		return row{hops: hops}
	}
	return row{hops: hops, first: []uint32{0, uint32(len(hops))}}
}

// widened is a row with an entry for each port and VC, of which there were fewer.
func (r *row) widened(ports, had, vcs int) row {
	none := []Hop{{Port: weft.NoPort}}
	if r.first != nil {
		none = nil
	}
	wide := row{}
	for port := range ports {
		for vc := range vcs {
			hops := none
			if vc < had {
				hops = r.entry(port*had + vc)
			}
			if r.first != nil {
				wide.first = append(wide.first, uint32(len(wide.hops)))
			}
			wide.hops = append(wide.hops, hops...)
		}
	}
	if r.first != nil {
		wide.first = append(wide.first, uint32(len(wide.hops)))
	}
	return wide
}

// grows reports whether tables differ from others by having more virtual channels alone.
func (t *Tables) grows(into *Tables) bool {
	return t.vcs < into.vcs && t.nics == into.nics && t.paths == into.paths && t.perLayer == into.perLayer
}
