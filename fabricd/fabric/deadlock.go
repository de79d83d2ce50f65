package fabric

import (
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/credit"
)

// Channel is one VC of one direction of a link, named by the switch that sends on it.
type Channel struct {
	Switch string `json:"switch"`
	Port   int    `json:"port"`
	VC     int    `json:"vc"`
	To     string `json:"to"` // the node at the other end
}

// Cycle is a list of channels of which each waits for the next, and the last for the first.
type Cycle []Channel

// String prints the cycle as s1.00 -> s2.01 vc0 -> ...
func (c Cycle) String() string {
	var b strings.Builder
	for _, ch := range c {
		b.WriteString(ch.Switch + " -> " + ch.To + " " + weft.VC(ch.VC).String() + ", ")
	}
	if len(c) > 0 {
		b.WriteString("and round again")
	}
	return b.String()
}

// output is a VC of an output port of a switch, the node of the wait-for graph.
type output struct {
	sw   weft.SwitchID
	port weft.PortID
	vc   weft.VC
}

// Deadlock looks for packets that wait for each other for ever, in a fabric where nothing moves: output queues that are
// full and without a credit, whose neighbour's input queue is full of packets that wait only for such outputs. It returns a
// cycle among them, or nothing.
//
// An output that can go on, because it has room or a credit, or its neighbour holds a packet that can, is freed; then all
// that wait for it; what is never freed is deadlocked (Definition 17 of the fat-tree paper).
func (f *Fabric) Deadlock() []Channel {
	f.readProcesses()
	snaps := make([]switching.Snapshot, len(f.switches))
	for i, s := range f.switches {
		snaps[i] = s.snapshot()
	}
	return f.deadlockIn(snaps)
}

// deadlockIn is Deadlock for the switches' snapshots.
func (f *Fabric) deadlockIn(snaps []switching.Snapshot) []Channel {
	waits := f.waitGraph(snaps)
	for freed := true; freed; {
		freed = false
		for out, next := range waits {
			for _, w := range next {
				if _, stuck := waits[w]; !stuck {
					delete(waits, out)
					freed = true
					break
				}
			}
		}
	}
	return f.cycleIn(waits)
}

// waitGraph gives for every output that is full and without credit the outputs that packets in the neighbour's input queue
// wait for. One that is not in the graph can go on. The output of a dead link can when a packet stranded in it can.
func (f *Fabric) waitGraph(snaps []switching.Snapshot) map[output][]output {
	waits := map[output][]output{}
	for i, s := range snaps {
		for p, ps := range s.Ports {
			peer, _, ok := f.graph.Peer(weft.End{Node: weft.SwitchID(i).Node(), Port: weft.PortID(p)})
			if !ok || !peer.Node.IsSwitch() {
				continue
			}
			for vc, v := range ps.VCs {
				if v.Output == 0 || v.Credits > 0 {
					continue
				}
				at := switching.Output{Port: weft.PortID(p), VC: weft.VC(vc)}
				var next []output
				if ps.State == credit.Up {
					next = waitedFor(snaps, peer.Node.Index, func(b *switching.Blocked) bool {
						return !b.Stranded && b.In == peer.Port && b.InVC == at.VC
					})
				} else {
					next = waitedFor(snaps, uint32(i), func(b *switching.Blocked) bool {
						// Waiting for the link to come back, or behind another in the same queue, is no deadlock by itself.
						return b.Stranded && b.At == at && !slices.Contains(b.For, at)
					})
				}
				if len(next) > 0 { // else the neighbour takes them, or its credits are on the way
					waits[output{weft.SwitchID(i), at.Port, at.VC}] = next
				}
			}
		}
	}
	return waits
}

// waitedFor is all outputs of a switch that those of its blocked packets wait for.
func waitedFor(snaps []switching.Snapshot, sw uint32, those func(b *switching.Blocked) bool) (next []output) {
	for i := range snaps[sw].Blocked {
		if b := &snaps[sw].Blocked[i]; those(b) {
			for _, o := range b.For {
				next = append(next, output{weft.SwitchID(sw), o.Port, o.VC})
			}
		}
	}
	return next
}

// cycleIn follows the waits from the lowest output until one comes again. All that is waited for is in waits.
func (f *Fabric) cycleIn(waits map[output][]output) []Channel {
	start, found := output{}, false
	for o := range waits {
		if !found || o.sw < start.sw || o.sw == start.sw && (o.port < start.port || o.port == start.port && o.vc < start.vc) {
			start, found = o, true
		}
	}
	if !found {
		return nil
	}
	var path []output
	at := map[output]int{}
	for o := start; ; o = waits[o][0] {
		if i, again := at[o]; again {
			path = path[i:]
			break
		}
		at[o] = len(path)
		path = append(path, o)
	}
	cycle := make([]Channel, len(path))
	for i, o := range path {
		peer, _, _ := f.graph.Peer(weft.End{Node: o.sw.Node(), Port: o.port})
		cycle[i] = Channel{Switch: f.graph.Switches[o.sw].Name, Port: int(o.port), VC: int(o.vc), To: f.graph.Name(peer.Node)}
	}
	return cycle
}
