package bus

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/weft-fabric/weft/switch/wire"
)

// ErrOutsideBroker means that the broker is not ours, so that its owner says who may do what there.
var ErrOutsideBroker = errors.New("the broker is not one of ours: its permissions are its owner's business")

// NodeAccess says which subjects of the broker a switch process uses.
type NodeAccess struct {
	Node   string           // the switch
	Name   string           // of the process, by which it is asked; empty: Node
	Sends  []wire.Direction // from it
	Hears  []wire.Direction // towards it
	Layout *Layout          // of the fabric: its shards are in the subjects
}

func (a NodeAccess) validate() error {
	if err := errors.Join(wire.ValidateNode(a.Node), wire.ValidateNode(a.name())); err != nil {
		return err
	}
	if a.Layout == nil {
		return errors.New("bus: no layout")
	}
	for _, d := range a.Sends {
		if err := d.Validate(); err != nil {
			return err
		}
		if d.From != a.Node || d.To == a.Node {
			return fmt.Errorf("bus: direction %v does not lead from %q to another node", d, a.Node)
		}
	}
	for _, d := range a.Hears {
		if err := d.Validate(); err != nil {
			return err
		}
		if d.To != a.Node || d.From == a.Node {
			return fmt.Errorf("bus: direction %v does not lead from another node to %q", d, a.Node)
		}
	}
	return nil
}

// grant lists subjects one by one. Leave to answer is not the server's (allow_responses): whoever
// sends a process anything, a neighbour a frame, say, could with its reply subject lend it leave to
// speak there.
func (a NodeAccess) grant(fabric string) grant {
	publish := []string{hostEventsOf(fabric, a.name()), allAnswersOf(inboxOf(RoleFabric.String()), a.name())}
	for _, d := range a.Sends {
		publish = append(publish, a.Layout.subject(fabric, d).String())
	}
	subscribe := append(announced(hostService), asksOf(fabric, a.name()))
	for _, d := range a.Hears {
		subscribe = append(subscribe, a.Layout.subject(fabric, d).String())
	}
	return grant{publish, subscribe}
}

// Access says which subjects of the broker a process of the fabric uses: a [PartAccess], or a
// [NodeAccess] for one switch.
type Access interface {
	name() string   // of the host or node
	prefix() string // of users
	validate() error
	grant(fabric string) grant
}

// Admit makes credentials with which a process can be one host of the fabric, or one switch, and
// nothing else: send on its own links, hear those towards it, be asked and tell. They are in force
// when it returns and until Revoke. Admitting a node again makes others; the old ones stay, so
// revoke them first when there may be one process only.
//
// There is nothing to admit to on a broker that is not ours, that is when b is nil:
// ErrOutsideBroker.
func (b *Broker) Admit(a Access) (Credentials, error) {
	if b == nil {
		return Credentials{}, fmt.Errorf("bus: admit %q: %w; give the process credentials that it made", a.name(),
			ErrOutsideBroker)
	}
	if err := a.validate(); err != nil {
		return Credentials{}, fmt.Errorf("bus: admit %q to fabric %q: %w", a.name(), b.fabric, err)
	}
	c := newCredentials(userOf(a))
	b.server.add(c, a.grant(b.fabric), true)
	return c, nil
}

// Revoke takes back what Admit gave and ends the connections that use it. When it returns none is
// left, and none comes back; at most what the broker had read from one before may still arrive.
// Users that Admit did not make are left alone.
func (b *Broker) Revoke(user string) {
	if !b.server.remove(user) {
		return
	}
	// Often once; again when a connection was closing by itself just now, which we cannot wait for
	// otherwise.
	for b.server.Running() {
		open := b.server.connections(user)
		if len(open) == 0 {
			return
		}
		for _, c := range open {
			_ = b.server.DisconnectClientByID(c.id) // it is gone then
		}
		runtime.Gosched()
	}
}

// Connected says whether a connection with the credentials of user exists now.
func (b *Broker) Connected(user string) bool { return len(b.server.connections(user)) > 0 }

// HostAccess says which subjects of the broker a host uses.
type HostAccess struct {
	Host  string // its name
	First int    // the first of its shards
	N     int    // how many it has
}

func (a HostAccess) validate() error {
	if err := wire.ValidateNode(a.Host); err != nil {
		return err
	}
	return HostShards{First: a.First, N: a.N}.validate()
}

// grant is to send from its own shards and to hear what is sent to them, to be asked and to tell.
// It does not grow with the nodes of the host.
func (a HostAccess) grant(fabric string) grant {
	publish := []string{hostEventsOf(fabric, a.Host), allAnswersOf(inboxOf(RoleFabric.String()), a.Host)}
	subscribe := append(announced(hostService), asksOf(fabric, a.Host))
	for i := range a.N {
		publish = append(publish, allFromShard(fabric, a.First+i))
		subscribe = append(subscribe, allToShard(fabric, a.First+i))
	}
	return grant{publish, subscribe}
}

func (a HostAccess) name() string   { return a.Host }
func (a NodeAccess) name() string   { return cmp.Or(a.Name, a.Node) }
func (a HostAccess) prefix() string { return "host-" + nodeToken(a.Host) + "-" }
func (a NodeAccess) prefix() string { return "switch-" + nodeToken(a.name()) + "-" }

// userOf is a name that no other user has.
func userOf(a Access) string { return a.prefix() + rand.Text()[:nonceLen] }

// nonceLen is how many letters and digits tell users of one node apart.
const nonceLen = 10

func alphanumeric(s string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
