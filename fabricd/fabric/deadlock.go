package fabric

import (
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/deadlock"
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

// Deadlock looks for packets that wait for each other for ever; see [deadlock.Find]. It returns a
// cycle among the channels that they wait for, or nothing. Live, ask when nothing moves: switches
// are read one after the other. In virtual time what it finds is exact at any time, but for what a
// register that expires, or a link that comes up, may yet set free.
func (f *Fabric) Deadlock() []Channel {
	f.lookAtNodes()
	return f.deadlockIn(f.blockedSwitches())
}

// blockedSwitches copies the state of switches that hold blocked packets, by number. Of the others,
// and of those that do not answer, there are no ports: they take what comes, so they are in no
// deadlock.
func (f *Fabric) blockedSwitches() []switching.Snapshot {
	ids := make([]weft.SwitchID, 0, len(f.switches))
	snaps := make([]switching.Snapshot, len(f.switches))
	for i, s := range f.switches {
		var r switching.Reading
		snaps[i].Switch = s.id
		if s.read(&r); r.Blocked > 0 {
			ids = append(ids, s.id)
		}
	}
	for id, sn := range f.snapshots(ids) {
		if len(sn.Ports) > 0 && len(sn.Ports[0].VCs) > 0 {
			snaps[id] = sn
		}
	}
	return snaps
}

// deadlockIn is Deadlock for the switches' snapshots.
func (f *Fabric) deadlockIn(snaps []switching.Snapshot) []Channel {
	peer := func(e weft.End) (weft.End, bool) {
		other, _, ok := f.graph.Peer(e)
		return other, ok
	}
	var cycle []Channel
	q := deadlock.Question{Switches: snaps, Peer: peer}
	if f.Virtual() {
		q.InputBuffer = f.opts.Switch.InputBuffer
	}
	for _, o := range deadlock.Find(q) {
		to, _ := peer(weft.End{Node: o.Switch.Node(), Port: o.Port})
		cycle = append(cycle, Channel{Switch: f.graph.Switches[o.Switch].Name, Port: int(o.Port), VC: int(o.VC), To: f.graph.Name(to.Node)})
	}
	return cycle
}
