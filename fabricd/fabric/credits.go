package fabric

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/credit"
)

// CreditsHome checks, in a fabric that is quiet, that every link that is up has all its credits: what one end has sent the
// other has received and passed on. The error names the first link where that is not so.
func (f *Fabric) CreditsHome() error {
	f.refreshSums()
	for _, l := range f.links {
		a, b := f.linkState(l.A), f.linkState(l.B)
		if !l.up[0].Load() || !l.up[1].Load() {
			continue
		}
		for vc := range a {
			for _, d := range []struct {
				from, to string
				out, in  credit.Epoch
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

// linkState reads the credit state of one link end, per VC.
func (f *Fabric) linkState(e weft.End) (vcs []credit.Epoch) {
	if !e.Node.IsSwitch() {
		return f.nics[e.Node.Index].Snapshot().VCs
	}
	for _, v := range f.switches[e.Node.Index].snapshot().Ports[e.Port].VCs {
		vcs = append(vcs, v.Epoch)
	}
	return vcs
}
