package fabric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// ProcessOptions says how switches can be processes of their own, and parts are reached. All are required.
type ProcessOptions struct {
	Fabric   string // its name on the bus
	Firmware string // its name: a process makes its own
	Hosts    Hosts
}

// Hosts lets processes in that are to be hosts of the fabric, and reaches them. That of package host/remote does so over NATS.
type Hosts interface {
	// Admit gives a charter the credentials of its process, which are in force when it returns and until Revoke. User is empty where
	// there is nothing to revoke; without credentials processes have those of their machines and users.
	Admit(c *host.Charter, g *topology.Graph) (user string, err error)
	Revoke(user string)
	// Renew gives the process of a charter, which runs, new credentials.
	Renew(ctx context.Context, c *host.Charter, g *topology.Graph) error
	// Reach is the host of a name.
	Reach(name string) host.Host
	// Hear calls heard with what hosts tell, one after the other, as long as they are reached.
	Hear(heard func(name string, seen host.Seen)) error
}

// admission is what lets a process in.
type admission struct {
	user        string // whose credentials they are; empty: they have no name
	credentials json.RawMessage
}

// Chosen by us. A part is asked often enough that the report of its end is exact to a tenth of a second, and one that is a single switch
// given more time to answer than a loaded machine takes.
const (
	askEvery = 100 * time.Millisecond
	askTime  = 500 * time.Millisecond
)

// role says who is a switch: the fabric itself, or a process, which is led as a part of that switch alone.
type role struct {
	guest atomic.Pointer[outpost] // for the processes that are the switch, one after another; nil: none has ever been

	// Guarded by Fabric.mu.
	joining *holder // has a charter, and is not attached yet
	away    bool    // the fabric's own emulation does not hear the links
}

// holder is a process that is a switch, or is about to be. Constant, but for what says otherwise.
type holder struct {
	number   uint64 // of its charter
	first    weft.Epoch
	pid      int
	host     string
	user     string          // of the credentials made for it; empty: none were
	attached chan struct{}   // closed when its links have signal
	gone     chan struct{}   // closed when it is this switch no more
	over     context.Context // ends when it is this switch no more
	end      context.CancelFunc
	leaves   bool // guarded by Fabric.mu: it hands the switch back
}

// String names the process for those who look for it.
func (h *holder) String() string { return fmt.Sprintf("process %d on %s", h.pid, h.host) }

// errQuiet says that a part was not asked, since it did not answer before.
var errQuiet = errors.New("it does not answer")

// process is the process that is the switch now, as a part; nil: the fabric itself is the switch.
func (r *role) process() *outpost {
	if g := r.guest.Load(); g != nil && g.holder.Load() != nil {
		return g
	}
	return nil
}

// guestOf is where the processes of s are known from the first on. The caller holds mu.
func (f *Fabric) guestOf(s *liveSwitch) *outpost {
	if g := s.guest.Load(); g != nil {
		return g
	}
	g := newOutpost(f, ledger.HostID(2+len(f.parts))+ledger.HostID(s.id), s.name, host.Place{
		Part: s.name, Switches: host.Spans([]weft.SwitchID{s.id}), Shards: f.opts.Transport.Shards(), Shared: true,
	})
	g.sw, g.switches = s, nil
	for _, l := range f.linksOf(s.id) {
		g.border = append(g.border, l)
		for _, e := range l.ends() {
			if g.runs(e.Node) {
				g.cross = append(g.cross, e)
			}
		}
	}
	g.hush()
	s.part.local.Share(s.id)
	f.local.share(g.border)
	s.guest.Store(g)
	f.hosts.Store(new(append(slices.Clone(*f.hosts.Load()), g)))
	return g
}

// processes are the switches that are processes now.
func (f *Fabric) processes() (list []*outpost) {
	for _, p := range *f.hosts.Load() {
		if p.sw != nil && p.holder.Load() != nil {
			list = append(list, p)
		}
	}
	return list
}

// elsewhere are all hosts in other processes that there are now.
func (f *Fabric) elsewhere() []*outpost { return slices.Concat(f.parts, f.processes()) }

// release ends what a process may do on the broker, and what was done for it.
func (f *Fabric) release(h *holder) {
	h.end()
	f.opts.Processes.Hosts.Revoke(h.user)
}

// vacate makes what the process has counted final, which is that switch no more. The caller holds Fabric.mu.
func (p *outpost) vacate() {
	h := p.holder.Load()
	p.fabric.release(h)
	p.hush()
	p.mu.Lock()
	p.retire()
	p.lost.Store(false)
	p.mu.Unlock()
	p.begin(linkend.Incarnation{}) // whatever comes late is nobody's
	f := p.fabric
	f.accounts.step(f.Now(), ledger.NodeMoved{Node: p.sw.id.Node(), To: p.sw.part.id})
	p.holder.Store(nil)
	p.gone = nil
	close(h.gone)
}
