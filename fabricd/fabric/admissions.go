package fabric

import (
	"encoding/json"

	"github.com/weft-fabric/weft/fabricd/host"
)

// Making credentials can take long, and no decision waits for it: the requests go through the queue
// Fabric.credentials, in sequence.

// admission is the right of one incarnation of a host to connect.
type admission struct {
	user        string // whose credentials they are; empty: they have no name
	credentials json.RawMessage
}

// admit returns the admission of the next incarnation of h. It is made once, however often hosting
// h is tried.
func (f *Fabric) admit(h *hostState) (a *admission, err error) {
	err = f.enqueueCall(&f.credentials, "credentials", func() error {
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

// admitted notes that h uses the credentials of its spec, and revokes those of its last
// incarnation.
func (f *Fabric) admitted(l loop, h *hostState) {
	if next := h.nextAdmission.Swap(nil); next != nil {
		f.revoke(h.user)
		h.user = next.user
	}
}

// revoke takes credentials back, unless the user has no name.
func (f *Fabric) revoke(user string) *sent {
	return f.enqueueCall(&f.credentials, "credentials", func() error {
		if user != "" {
			f.opts.Processes.Hosts.Revoke(user)
		}
		return nil
	})
}
