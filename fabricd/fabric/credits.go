package fabric

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/nic"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// CreditsHome checks that every link that is up has all its credits: what one end has sent, the
// other has received and passed on. The fabric must be quiescent. The error names the first link
// with credits missing.
func (q *quiet) CreditsHome() error {
	q.refreshCounters()
	snaps, nics := q.reader.snapshots(nil), q.reader.nicSnapshots()
	state := func(e weft.End) (vcs []linkend.Epoch) { // of one link end, per VC
		if !e.Node.IsSwitch() {
			return nics[e.Node.Index].VCs
		}
		for _, v := range snaps[weft.SwitchID(e.Node.Index)].Ports[e.Port].VCs {
			vcs = append(vcs, v.Epoch)
		}
		return vcs
	}
	up := make([][2]bool, len(q.links))
	q.read(func(s *leader.State) {
		for i := range up {
			up[i] = s.Links[i].Up
		}
	})
	for _, l := range q.links {
		a, b := state(l.A), state(l.B)
		if len(a) != len(b) {
			return fmt.Errorf("link %s: an end of it does not answer", l.Name)
		}
		if up[l.ID] != [2]bool{true, true} {
			continue
		}
		for vc := range a {
			for _, d := range []struct {
				from, to string
				out, in  linkend.Epoch
			}{{l.dirs[0].From, l.dirs[0].To, a[vc], b[vc]}, {l.dirs[1].From, l.dirs[1].To, b[vc], a[vc]}} {
				if d.out.Sent != d.in.Received || d.in.Held != 0 {
					return fmt.Errorf("link %s, %s to %s, %v: credits are missing: %d packets sent, %d received, %d still held",
						l.Name, d.from, d.to, weft.VC(vc), d.out.Sent, d.in.Received, d.in.Held)
				}
			}
		}
	}
	return nil
}

// nicSnapshots copies the state of all NICs, by number; it is empty for hosts that do not answer.
func (rd *reader) nicSnapshots() []nic.Snapshot {
	list := make([]nic.Snapshot, len(rd.nics))
	for _, h := range *rd.hosts.Load() {
		for _, sn := range h.nodes(nil, h.placement.NICIDs()).NICs {
			if int(sn.NIC) < len(list) {
				list[sn.NIC] = sn
			}
		}
	}
	return list
}
