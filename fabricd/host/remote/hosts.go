package remote

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Hosts gives a fabric's leader access to its hosts: it admits their processes and reaches them.
// Peers is required.
type Hosts struct {
	Peers      *bus.Client
	Authorizer Authorizer // nil: processes have the credentials of their machines and users
}

// Authorizer makes credentials for processes. *bus.Broker and *bus.Issuer do.
type Authorizer interface {
	// Admit makes credentials that are valid from its return until Revoke.
	Admit(a bus.Access) (bus.Credentials, error)
	Revoke(user string)
}

// Admit puts credentials into a spec for its process, and says whose they are.
func (h Hosts) Admit(c *host.Spec, g *topology.Graph) (user string, err error) {
	if h.Authorizer == nil {
		return "", nil // the broker's owner says who may do what
	}
	a, err := accessOf(c, g)
	if err != nil {
		return "", err
	}
	creds, err := h.Authorizer.Admit(a)
	if err != nil {
		return "", err
	}
	c.Credentials, err = json.Marshal(creds)
	return creds.User, err
}

// Revoke takes back what Admit gave.
func (h Hosts) Revoke(user string) {
	if h.Authorizer != nil {
		h.Authorizer.Revoke(user)
	}
}

// Renew gives new credentials to the running process of a spec. Only an issuer can.
func (h Hosts) Renew(ctx context.Context, c *host.Spec, g *topology.Graph) error {
	i, ok := h.Authorizer.(*bus.Issuer)
	if !ok {
		return fmt.Errorf("host %s: nobody here makes credentials that last", c.Host)
	}
	a, err := accessOf(c, g)
	if err != nil {
		return err
	}
	return h.Peers.RenewHost(ctx, a, i)
}

// Reach returns the host of a name.
func (h Hosts) Reach(name string) host.Host { return NewClient(h.Peers, name) }

// Hear calls heard with what hosts tell, in sequence, until the connection is closed.
func (h Hosts) Hear(heard func(name string, seen host.EventBatch)) error {
	return bus.Hear(h.Peers, host.TellEvents, heard)
}
