package fabric

import (
	"encoding/json"

	"github.com/weft-fabric/weft/fabricd/host"
)

// Whoever makes credentials may take its time over it: no decision waits for that. What it is asked
// for it does in the sequence of Fabric.credentials.

// admission is what lets a process in.
type admission struct {
	user        string // whose credentials they are; empty: they have no name
	credentials json.RawMessage
}

// admit returns what lets the next incarnation of h in. It is made once, however often that is
// tried.
func (f *Fabric) admit(h *hostState) (a *admission, err error) {
	err = f.tell(&f.credentials, "credentials", func() error {
		if a = h.nextAdmission.Load(); a != nil {
			return nil
		}
		c := host.Spec{Fabric: f.opts.Processes.Fabric, Host: h.name, Placement: h.placement, Placements: f.placements}
		user, err := f.opts.Processes.Hosts.Admit(&c, f.graph)
		if err != nil {
			return err
		}
		a = &admission{user, c.Credentials}
		h.nextAdmission.Store(a)
		return nil
	}).wait()
	return a, err
}

// admitted notes that h has the credentials of its spec, and has those of its last incarnation
// taken back.
func (l loop) admitted(h *hostState) {
	if next := h.nextAdmission.Swap(nil); next != nil {
		l.revoke(h.user)
		h.user = next.user
	}
}

// revoke has credentials taken back, unless they have no name.
func (f *Fabric) revoke(user string) *sent {
	return f.tell(&f.credentials, "credentials", func() error {
		if user != "" {
			f.opts.Processes.Hosts.Revoke(user)
		}
		return nil
	})
}
