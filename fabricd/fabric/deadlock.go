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

// Cycle is a list of channels: each waits for the next, and the last for the first.
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

// Deadlock looks for packets that wait for each other for ever, see [switching.FindDeadlock], and
// returns a cycle of the channels that they wait for, or nil. Live, call it when nothing moves, for
// it reads one switch after the other. In virtual time the result is exact at any time, except that
// a register that expires, or a link that comes up, may yet resolve the cycle.
func (rd *reader) Deadlock() []Channel {
	rd.lookAtNodes()
	snaps, _ := rd.blockedSwitches()
	return rd.deadlockIn(snaps)
}

// blockedSwitches copies the state of switches that hold blocked packets, by number. Other
// switches, and those that do not answer, have no ports in it: they accept packets, so they are in
// no deadlock. Beside them it finds the packet that has been in a switch longest.
func (rd *reader) blockedSwitches() (snaps []switching.Snapshot, longest oldest) {
	ids := make([]weft.SwitchID, 0, len(rd.switches))
	snaps = make([]switching.Snapshot, len(rd.switches))
	idle := len(rd.remoteHosts()) == 0 && !rd.holdsPackets()
	for i, s := range rd.switches {
		var r switching.Reading
		snaps[i].Switch = s.id
		if idle {
			continue
		}
		if s.read(&r); r.Blocked > 0 {
			ids = append(ids, s.id)
		}
		if r.Oldest > 0 && (longest.since == 0 || r.Oldest < longest.since) {
			longest = oldest{s.id, r.Oldest}
		}
	}
	for id, sn := range rd.snapshots(ids) {
		if len(sn.Ports) > 0 && len(sn.Ports[0].VCs) > 0 {
			snaps[id] = sn
		}
	}
	return snaps, longest
}

// deadlockIn is Deadlock on given snapshots.
func (rd *reader) deadlockIn(snaps []switching.Snapshot) []Channel {
	peer := func(e weft.End) (weft.End, bool) {
		other, _, ok := rd.graph.Peer(e)
		return other, ok
	}
	var cycle []Channel
	q := switching.DeadlockQuery{Switches: snaps, Peer: peer}
	if rd.Virtual() {
		q.InputBuffer = rd.opts.Switch.InputBuffer
	}
	for _, o := range switching.FindDeadlock(q) {
		to, _ := peer(weft.End{Node: o.Switch.Node(), Port: o.Port})
		cycle = append(cycle, Channel{
			Switch: rd.graph.Switches[o.Switch].Name, Port: int(o.Port), VC: int(o.VC),
			To: rd.graph.Name(to.Node),
		})
	}
	return cycle
}
