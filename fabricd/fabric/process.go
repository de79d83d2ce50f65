package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// ProcessOptions says how switches can be processes of their own, and hosts are reached. All are
// required.
type ProcessOptions struct {
	Fabric  string // its name on the bus
	Routing string // by name: a process makes its own firmware
	Hosts   Hosts
}

// Hosts lets processes in that are to be hosts of the fabric, and reaches them. That of package
// host/remote does so over NATS.
type Hosts interface {
	// Admit gives a spec the credentials of its process, which are in force when it returns and
	// until Revoke. User is empty where there is nothing to revoke; without credentials processes
	// have those of their machines and users.
	Admit(c *host.Spec, g *topology.Graph) (user string, err error)
	Revoke(user string)
	// Renew gives the process of a spec, which runs, new credentials.
	Renew(ctx context.Context, c *host.Spec, g *topology.Graph) error
	// Reach is the host of a name.
	Reach(name string) host.Host
	// Hear calls heard with what hosts tell, one after the other, as long as they are reached.
	Hear(heard func(name string, batch host.EventBatch)) error
}

// Chosen by us. A host is asked often enough that the report of its end is exact to a tenth of a
// second, and one that is a single switch given more time to answer than a loaded machine takes.
const (
	askEvery = 100 * time.Millisecond
	askTime  = 500 * time.Millisecond
)

// placement says who runs a switch: its home, or a host of its own. Where it goes from one to the
// other is in move.go.
type placement struct {
	own    atomic.Pointer[hostState]             // its host of its own, one owner after another; nil: none has ever been
	moved  atomic.Bool                           // own runs it
	lives  atomic.Pointer[[]linkend.Incarnation] // who has run it, by the epochs of its links; nil: only its home
	moving chan struct{}                         // capacity 1: whoever fills it may move the switch

	joining *owner // only the loop touches it: a process that has a spec, and is not attached yet
}

// owner runs a host of one switch alone: a process, or an agent. Constant.
type owner struct {
	number   uint64 // of its spec
	first    weft.Epoch
	agent    string // empty: it is a process
	pid      int
	machine  string
	user     string          // of the credentials made for it; empty: none were
	attached chan struct{}   // closed when the leader reaches it
	gone     chan struct{}   // closed when it is that no more
	over     context.Context // ends when it is that no more
	end      context.CancelFunc
}

// newOwner is an owner for a spec.
func (at *attendance) newOwner(c *host.Spec, user string) *owner {
	o := &owner{
		number: c.Number, first: c.Epoch, user: user,
		attached: make(chan struct{}), gone: make(chan struct{}),
	}
	o.over, o.end = context.WithCancel(at.ctx)
	return o
}

// String names the process for those who look for it.
func (o *owner) String() string {
	if o.agent != "" {
		return "host " + o.agent
	}
	return fmt.Sprintf("process %d on %s", o.pid, o.machine)
}

// errSuspect says that a host was not asked, since it did not answer before.
var errSuspect = errors.New("it does not answer")

// owned is the switch's host of its own, while it has an owner; nil: it has none.
func (r *placement) owned() *hostState {
	if h := r.own.Load(); h != nil && h.owner.Load() != nil {
		return h
	}
	return nil
}

// ownOf is the switch's host of its own, from the first owner on.
func (at *attendance) ownOf(l loop, s *liveSwitch) *hostState {
	if h := s.own.Load(); h != nil {
		return h
	}
	place := host.Placement{
		Host: s.name, Switches: host.Spans([]weft.SwitchID{s.id}), Shard: s.home.placement.Shard,
		Shards: s.home.placement.Shards,
		Shared: true,
	}
	if !s.home.late() {
		place.Shards = at.opts.Transport.Shards()
	}
	h := newHostState(at.site, at.hostOfProcess(s.id), s.name, place)
	h.sw, h.switches, h.border = s, nil, at.linksOf(s.id)
	for _, l := range h.border {
		for _, e := range l.ends() {
			if e.Node == s.id.Node() {
				h.cross = append(h.cross, e)
			}
		}
	}
	at.note(leader.HostAdded{Host: h.decided()})
	h.markSuspect()
	s.home.share(l, h.border) // first: who is asked of links that are shared is told who their neighbours are
	if !s.home.late() {
		s.home.local.Share(s.id)
	}
	s.own.Store(h)
	at.hosts.Store(new(append(slices.Clone(*at.hosts.Load()), h)))
	return h
}

// revokeOwner ends what was done for an owner, and what it may do on the broker.
func (at *attendance) revokeOwner(o *owner) {
	o.end()
	at.admissions.revoke(o.user)
}

// vacate makes what a host of one switch alone has counted final: its owner is that no more. What
// it held, if it ran the switch, is lost with it.
func (at *attendance) vacate(l loop, h *hostState) {
	o := h.owner.Load()
	at.revokeOwner(o)
	h.markSuspect()
	h.mu.Lock()
	h.retire()
	h.mu.Unlock()
	h.setFailed(false)
	h.begin(linkend.Incarnation{}) // whatever comes late is nobody's
	h.sw.moved.Store(false)
	h.owner.Store(nil)
	l.decide(leader.HostLeft{Host: h.id})
	l.checkpointSoon()
	close(o.gone)
}

// drop lets go of a host of one switch alone that does not run it. Heard says that its last answer
// has come.
func (at *attendance) drop(l loop, h *hostState, heard bool) {
	if !heard {
		l.ledger.step(l.Now(), ledger.HostEnded{Host: h.id, Incident: l.crashOf(h.sw)})
	}
	l.decide(leader.HostLeft{Host: h.id, Repaired: true})
	at.vacate(l, h)
}
