package fabric

import (
	"encoding/json"
	"sync/atomic"

	"github.com/weft-fabric/weft/fabricd/host"
)

// Making credentials can take long, and no decision waits for it: the requests go through the queue
// admissions.credentials, in sequence.

// admissions are the rights of hosts to connect: it owns the queue by which they are made and taken
// back. Any goroutine may call it.
type admissions struct {
	*site
	credentials queue
	renewed     atomic.Int64 // when hosts have got new credentials, in ns since 1970; 0: never
}

// admission is the right of one incarnation of a host to connect.
type admission struct {
	user        string // whose credentials they are; empty: they have no name
	credentials json.RawMessage
}

// admit returns the admission of the next incarnation of h. It is made once, however often hosting
// h is tried.
func (ad *admissions) admit(h *hostState) (a *admission, err error) {
	err = ad.enqueueCall(&ad.credentials, "credentials", func() error {
		if a = h.nextAdmission.Load(); a != nil {
			return nil
		}
		c := host.Spec{Fabric: ad.opts.Processes.Fabric, Host: h.name, Placement: h.placement, Placements: ad.placements}
		user, err := ad.opts.Processes.Hosts.Admit(&c, ad.graph)
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
func (ad *admissions) admitted(_ loop, h *hostState) {
	if next := h.nextAdmission.Swap(nil); next != nil {
		ad.revoke(h.user)
		h.user = next.user
	}
}

// revoke takes credentials back, unless the user has no name.
func (ad *admissions) revoke(user string) *sent {
	return ad.enqueueCall(&ad.credentials, "credentials", func() error {
		if user != "" {
			ad.opts.Processes.Hosts.Revoke(user)
		}
		return nil
	})
}
