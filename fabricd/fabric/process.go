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

// ProcessOptions says how switches can be processes of their own, and hosts are reached. All are required.
type ProcessOptions struct {
	Fabric   string // its name on the bus
	Firmware string // its name: a process makes its own
	Hosts    Hosts
}

// Hosts lets processes in that are to be hosts of the fabric, and reaches them. That of package host/remote does so over NATS.
type Hosts interface {
	// Admit gives a spec the credentials of its process, which are in force when it returns and until Revoke. User is empty where
	// there is nothing to revoke; without credentials processes have those of their machines and users.
	Admit(c *host.Spec, g *topology.Graph) (user string, err error)
	Revoke(user string)
	// Renew gives the process of a spec, which runs, new credentials.
	Renew(ctx context.Context, c *host.Spec, g *topology.Graph) error
	// Reach is the host of a name.
	Reach(name string) host.Host
	// Hear calls heard with what hosts tell, one after the other, as long as they are reached.
	Hear(heard func(name string, batch host.EventBatch)) error
}

// Chosen by us. A host is asked often enough that the report of its end is exact to a tenth of a second, and one that is a single switch
// given more time to answer than a loaded machine takes.
const (
	askEvery = 100 * time.Millisecond
	askTime  = 500 * time.Millisecond
)

// placement says who is a switch: the fabric itself, or a process, which is led as a host of that switch alone.
type placement struct {
	processHost atomic.Pointer[hostState] // for the processes that are the switch, one after another; nil: none has ever been

	// Only the loop touches these.
	joining *switchProcess // has a spec, and is not attached yet
	away    bool           // the fabric's own emulation does not hear the links
}

// switchProcess is a process that is a switch, or is about to be. Constant, but for what says otherwise.
type switchProcess struct {
	number   uint64 // of its spec
	first    weft.Epoch
	pid      int
	host     string
	user     string          // of the credentials made for it; empty: none were
	attached chan struct{}   // closed when its links have signal
	gone     chan struct{}   // closed when it is this switch no more
	over     context.Context // ends when it is this switch no more
	end      context.CancelFunc
	leaving  bool // only the loop touches it: it hands the switch back
}

// String names the process for those who look for it.
func (proc *switchProcess) String() string {
	return fmt.Sprintf("process %d on %s", proc.pid, proc.host)
}

// errSuspect says that a host was not asked, since it did not answer before.
var errSuspect = errors.New("it does not answer")

// process is the process that is the switch now, as a host; nil: the fabric itself is the switch.
func (r *placement) process() *hostState {
	if g := r.processHost.Load(); g != nil && g.owner.Load() != nil {
		return g
	}
	return nil
}

// processHostOf is where the processes of s are known from the first on.
func (l loop) processHostOf(s *liveSwitch) *hostState {
	f := l.Fabric
	if g := s.processHost.Load(); g != nil {
		return g
	}
	g := newHostState(f, f.hostOfProcess(s.id), s.name, host.Placement{
		Host: s.name, Switches: host.Spans([]weft.SwitchID{s.id}), Shards: f.opts.Transport.Shards(), Shared: true,
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
	f.note(leader.HostAdded{Host: g.decided()})
	g.markSuspect()
	s.home.local.Share(s.id)
	l.share(f.local, g.border)
	s.processHost.Store(g)
	f.hosts.Store(new(append(slices.Clone(*f.hosts.Load()), g)))
	return g
}

// hostOfProcess is the number of the processes that are a switch.
func (f *Fabric) hostOfProcess(s weft.SwitchID) ledger.HostID {
	return localHostID + 1 + ledger.HostID(len(f.remote)) + ledger.HostID(s)
}

// crashOf is the incident of the crash of s; 0: it runs.
func (f *Fabric) crashOf(s *liveSwitch) (incident int) {
	f.read(func(state *leader.State) { incident = state.Crashed[s.id] })
	return incident
}

// processes are the switches that are processes now.
func (f *Fabric) processes() (list []*hostState) {
	for _, h := range *f.hosts.Load() {
		if h.sw != nil && h.owner.Load() != nil {
			list = append(list, h)
		}
	}
	return list
}

// remoteHosts are all hosts in other processes that there are now.
func (f *Fabric) remoteHosts() []*hostState { return slices.Concat(f.remote, f.processes()) }

// release ends what was done for a process, and what it may do on the broker.
func (f *Fabric) release(proc *switchProcess) {
	proc.end()
	f.revoke(proc.user)
}

// setOwner makes a process the switch; nil: the fabric itself is.
func (h *hostState) setOwner(proc *switchProcess) {
	h.owner.Store(proc)
	h.fabric.note(leader.HostRuns{Host: h.id, Runs: proc != nil})
}

// vacate makes what the process has counted final, which is that switch no more.
func (l loop) vacate(h *hostState) {
	proc := h.owner.Load()
	h.fabric.release(proc)
	h.markSuspect()
	h.mu.Lock()
	h.retire()
	h.mu.Unlock()
	h.setFailed(false)
	h.begin(linkend.Incarnation{}) // whatever comes late is nobody's
	f := h.fabric
	f.ledger.step(f.Now(), ledger.NodeMoved{Node: h.sw.id.Node(), To: h.sw.home.id})
	h.setOwner(nil)
	l.decide(leader.HostLeft{Host: h.id})
	close(proc.gone)
}
