package subnet

import (
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Dead is a set of links and switches that do not work. The zero value is empty, and so is nil for
// whoever only reads.
type Dead struct{ links, switches set }

// AddLink puts a link into the set.
func (d *Dead) AddLink(id weft.LinkID) { d.links.add(uint32(id)) }

// AddSwitch puts a switch into the set: none of its links works then.
func (d *Dead) AddSwitch(id weft.SwitchID) { d.switches.add(uint32(id)) }

// RemoveLink takes a link out of the set.
func (d *Dead) RemoveLink(id weft.LinkID) { d.links.remove(uint32(id)) }

// RemoveSwitch takes a switch out of the set.
func (d *Dead) RemoveSwitch(id weft.SwitchID) { d.switches.remove(uint32(id)) }

// Clone is a copy that shares nothing with d.
func (d *Dead) Clone() Dead { return Dead{slices.Clone(d.links), slices.Clone(d.switches)} }

// Equal reports whether both sets hold the same links and the same switches.
func (d *Dead) Equal(other *Dead) bool {
	return d.links.equal(other.links) && d.switches.equal(other.switches)
}

// HasLink reports whether the link itself is in the set.
func (d *Dead) HasLink(id weft.LinkID) bool { return d != nil && d.links.has(uint32(id)) }

// HasSwitch reports whether the switch is in the set.
func (d *Dead) HasSwitch(id weft.SwitchID) bool { return d != nil && d.switches.has(uint32(id)) }

// Cuts reports whether a link does not work: it is dead, or a switch at one of its ends is.
func (d *Dead) Cuts(l *topology.Link) bool {
	if d == nil {
		return false
	}
	return d.links.has(uint32(l.ID)) || d.node(l.A.Node) || d.node(l.B.Node)
}

func (d *Dead) node(n weft.Node) bool { return n.IsSwitch() && d.switches.has(n.Index) }

// Len is how many links and switches are in the set.
func (d *Dead) Len() int {
	if d == nil {
		return 0
	}
	return d.links.count() + d.switches.count()
}

// set is a set of small numbers, one bit each.
type set []uint64

func (s *set) add(i uint32) {
	for int(i/64) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

func (s set) remove(i uint32) {
	if int(i/64) < len(s) {
		s[i/64] &^= 1 << (i % 64)
	}
}

func (s set) has(i uint32) bool { return int(i/64) < len(s) && s[i/64]>>(i%64)&1 == 1 }

func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) equal(other set) bool {
	for i := range max(len(s), len(other)) {
		var a, b uint64
		if i < len(s) {
			a = s[i]
		}
		if i < len(other) {
			b = other[i]
		}
		if a != b {
			return false
		}
	}
	return true
}

// or adds all of another set of the same size.
func (s set) or(other set) {
	for i, w := range other {
		s[i] |= w
	}
}
