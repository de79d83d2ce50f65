package fabric

import (
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
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
	snaps := make([]switching.Snapshot, len(f.switches))
	for i, s := range f.switches {
		snaps[i] = s.snapshot()
	}
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
// wait for. One that is not in the graph can go on.
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
				var next []output
				for _, b := range snaps[peer.Node.Index].Blocked {
					if b.In == peer.Port && b.InVC == weft.VC(vc) {
						for _, o := range b.For {
							next = append(next, output{weft.SwitchID(peer.Node.Index), o.Port, o.VC})
						}
					}
				}
				if len(next) > 0 { // else the neighbour takes them, or its credits are on the way
					waits[output{weft.SwitchID(i), weft.PortID(p), weft.VC(vc)}] = next
				}
			}
		}
	}
	return waits
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
