package weft

import "math"

// Role says what a port of a switch leads to.
type Role uint8

// The roles of a port. The zero value is a port that is not connected.
const (
	RoleNone Role = iota
	RoleUp        // to a switch one tier closer to the top of a tree
	RoleDown      // to a switch one tier further from the top of a tree
	RoleNIC       // to a NIC
	RolePeer      // to a switch, in a topology without tiers
)

// String prints the role in the words of the field.
func (r Role) String() string {
	switch r {
	case RoleUp:
		return "up"
	case RoleDown:
		return "down"
	case RoleNIC:
		return "nic"
	case RolePeer:
		return "peer"
	}
	return "unconnected"
}

// Place is where one switch stands in its topology: all that a routing function may know without
// asking anybody. It is constant for the life of the fabric and shared by all who read it.
type Place struct {
	Switch     SwitchID
	Name       string
	Roles      []Role // per port
	Neighbours []Node // per port: the node at the other end of its link; the zero Node where there is none
	Tree       *Tree  // nil unless the topology is a tree
	Grid       *Grid  // nil unless the topology is a mesh, a torus or a ring
}

// Ports is the number of ports of the switch.
func (p *Place) Ports() int { return len(p.Roles) }

// Tree is the place of a switch <w,l> in a tree. In a k-ary n-tree and an m-port n-tree (k = m/2)
// all tiers have the same radix k, but for the 2k down ports of the top tier of an m-port tree. A
// leaf-spine fabric has two tiers, and its leaves have k up ports and any number of NICs. Other
// trees have a radix for each tier.
//
// The down ports of a switch are numbered from 0 and the up ports follow. Where a generator made
// the tree these are the numbers of the ports. In a tree that was found in a file they are not, and
// Ports and Numbers translate; of what is missing there, the port is [NoPort].
type Tree struct {
	K    int   // up ports of a switch below the top, of which some may be missing; 0: they are not as many at each tier
	N    int   // tiers
	Tier Tier  // l; 0 is the top, N-1 the leaves
	Down int   // down ports of this switch; at the leaves they lead to NICs
	W    []int // the N-1 digits of the switch

	// Radix is how many down ports a switch of each tier has: the values of digit l of a NIC.
	Radix []int
	// Above and Below turn the number of a destination into digits: n / Below is the number made of
	// its digits 0..l, n / Above that of its digits 0..l-1. Where all tiers have one radix, the
	// number has its digits in base k, most significant first.
	Above, Below uint32
	// Prefix is the number made of w_0 .. w_(l-1): d is below this switch when its number / Above
	// == Prefix.
	Prefix uint32

	Ports    []PortID // per down port and then up port: the port; nil: the same number
	Numbers  []int    // per port: which down port and then up port it is, -1 for none; nil: its number
	Position []uint32 // per NIC: the number that its digits make; nil: that of the NIC
}

// Number is the number that the digits of d make.
func (t *Tree) Number(d NICID) uint32 {
	switch {
	case t.Position == nil:
		return uint32(d)
	case int(d) < len(t.Position):
		return t.Position[d]
	}
	return math.MaxUint32
}

// HasDown reports whether d is below this switch: w_i = d_i for all i < l.
func (t *Tree) HasDown(d NICID) bool {
	// As number / Above == Prefix, without a division. One that is less than Prefix * Above comes
	// out too large.
	return uint64(t.Number(d))-uint64(t.Prefix)*uint64(t.Above) < uint64(t.Above)
}

// DownPort is the port towards d from any switch of this tier: down port d_l. Only meaningful when
// HasDown.
func (t *Tree) DownPort(d NICID) PortID { return t.port(int(t.Number(d) % t.Above / t.Below)) }

// DefaultUp is the up port that a packet for d takes without faults: the digit of d that the way
// down no longer needs (d mod K at the leaves, and so on upwards). Where all tiers have one radix,
// all packets for d meet at one top switch, and the destinations are spread evenly over the top
// switches and their links. Only meaningful below the top, when not HasDown.
func (t *Tree) DefaultUp(d NICID) PortID {
	return t.Up(int(t.Number(d) / t.Below % uint32(max(t.Ups(), 1))))
}

// DownAt is down port j.
func (t *Tree) DownAt(j int) PortID { return t.port(j) }

// DownIndex is the j for which DownAt(j) is p, or -1 when p is not a down port.
func (t *Tree) DownIndex(p PortID) int {
	if j := t.index(p); j < t.Down {
		return j
	}
	return -1
}

// port is the port of that number among the down ports and then the up ports.
func (t *Tree) port(j int) PortID {
	switch {
	case t.Ports == nil:
		return PortID(j)
	case j < len(t.Ports):
		return t.Ports[j]
	}
	return NoPort
}

func (t *Tree) index(p PortID) int {
	switch {
	case t.Numbers == nil:
		return int(p)
	case int(p) < len(t.Numbers):
		return t.Numbers[p]
	}
	return -1
}

// Leaf reports whether the switch is at the bottom tier, next to the NICs.
func (t *Tree) Leaf() bool { return int(t.Tier) == t.N-1 }

// Ups is the number of up ports.
func (t *Tree) Ups() int {
	switch {
	case t.Tier == 0:
		return 0
	case t.Ports != nil:
		return len(t.Ports) - t.Down
	}
	return t.K
}

// Up is up port j. It leads to the switch of the tier above whose digit l-1 is j.
func (t *Tree) Up(j int) PortID { return t.port(t.Down + j) }

// UpIndex is the j for which Up(j) is p, or -1 when p is not an up port.
func (t *Tree) UpIndex(p PortID) int {
	j := t.index(p) - t.Down
	if j < 0 || j >= t.Ups() {
		return -1
	}
	return j
}

// Grid is the place of a switch in a mesh, a torus or a ring. Ports: 2i leads down in dimension i,
// to the next lower coordinate, and 2i+1 up; the ports of NICs follow. A firmware in another
// process gets it as JSON.
type Grid struct {
	NICs uint32 `json:"nics"` // of each switch; NIC d hangs on switch d / NICs
	Dims []Dim  `json:"dims"` // x first
}

// Dim is one dimension as one switch of a grid sees it.
type Dim struct {
	Size   uint32 `json:"size"`   // switches
	At     uint32 `json:"at"`     // the coordinate of this switch, from 0
	Stride uint32 `json:"stride"` // what one step up adds to the number of the switch, but for the step around the end
	Wrap   bool   `json:"wrap"`   // the last switch is linked to the first; not of two, which have one link
}

// Around reports whether the last switch of dimension i is linked to the first.
func (g *Grid) Around(i int) bool { return g.Dims[i].Wrap }

// Down is the port to the next lower coordinate of dimension i, around the end of a torus.
func (g *Grid) Down(i int) PortID { return PortID(2 * i) }

// Up is the port to the next higher coordinate of dimension i, around the end of a torus.
func (g *Grid) Up(i int) PortID { return PortID(2*i + 1) }

// NICPort is the port to NIC d at the switch it hangs on.
func (g *Grid) NICPort(d NICID) PortID { return PortID(2*len(g.Dims)) + PortID(uint32(d)%g.NICs) }
