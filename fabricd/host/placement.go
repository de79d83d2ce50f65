package host

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Placement is which nodes are in a host, and which shards are its own.
type Placement struct {
	Host     string `json:"host"`
	Switches []Span `json:"switches,omitempty"` // by SwitchID, ascending
	NICs     []Span `json:"nics,omitempty"`     // by NICID, ascending
	Shard    int    `json:"shard"`              // the first of its own
	Shards   int    `json:"shards"`             // how many it has
	// Shared says that the host is one switch on the leader's shards, which other nodes are in too,
	// so its subjects stay the same when it joins a running fabric. It hears only its own links.
	Shared bool `json:"shared,omitempty"`
}

// Span is a run of consecutive numbers.
type Span struct {
	First uint32 `json:"first"`
	N     uint32 `json:"n"`
}

// Spans splits an ascending list of numbers into runs.
func Spans[ID ~uint32](ids []ID) (list []Span) {
	for _, id := range ids {
		if n := len(list); n > 0 && list[n-1].First+list[n-1].N == uint32(id) {
			list[n-1].N++
		} else {
			list = append(list, Span{First: uint32(id), N: 1})
		}
	}
	return list
}

// numbersOf is the inverse of Spans.
func numbersOf[ID ~uint32](list []Span) (ids []ID) {
	for _, s := range list {
		for i := range s.N {
			ids = append(ids, ID(s.First+i))
		}
	}
	return ids
}

// SwitchIDs are the switches of the host, in its order.
func (p Placement) SwitchIDs() []weft.SwitchID { return numbersOf[weft.SwitchID](p.Switches) }

// NICIDs are the NICs of the host, in its order.
func (p Placement) NICIDs() []weft.NICID { return numbersOf[weft.NICID](p.NICs) }

// HostOf is the host that runs a NIC; empty: none does.
func (c *Spec) HostOf(id weft.NICID) string {
	for _, p := range c.Placements {
		for _, s := range p.NICs {
			if uint32(id) >= s.First && uint32(id) < s.First+s.N {
				return p.Host
			}
		}
	}
	return ""
}

// Ends are the ends of the host in the order of [Counters].Up: the ports of each switch, then the
// NICs. Unconnected ports are included.
func (p Placement) Ends(g *topology.Graph) (list []weft.End) {
	for _, id := range p.SwitchIDs() {
		for port := range weft.PortID(g.Switches[id].Ports) {
			list = append(list, weft.End{Node: id.Node(), Port: port})
		}
	}
	for _, id := range p.NICIDs() {
		list = append(list, weft.End{Node: id.Node()})
	}
	return list
}

// Bit reports whether the bit of an end is set, as in [Counters].Up.
func Bit(bits []byte, i int) bool { return i>>3 < len(bits) && bits[i>>3]>>(i&7)&1 == 1 }
