package fabric

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/member"
)

// ProcessOptions says how switches can be processes of their own. All but Broker are required.
type ProcessOptions struct {
	Fabric   string // its name on the bus
	Firmware string // its name: a process makes its own
	Peers    *bus.Peers
	Broker   *bus.Broker // makes credentials for them; nil: the broker is not ours, they use those of their users
}

// Chosen by us. A process is asked often enough that the report of its end is exact to a tenth of a second, and given more
// time to answer than a loaded machine takes.
const (
	askEvery = 100 * time.Millisecond
	askTime  = 500 * time.Millisecond
)

// role says who is a switch: the fabric itself, or a process.
type role struct {
	who atomic.Pointer[holding] // nil: no process has ever been this switch

	// Guarded by Fabric.mu.
	joining *process // has a charter, and is not attached yet
	away    bool     // the fabric's own emulation does not hear the links
}

// holding is who is a switch now. Constant.
type holding struct {
	process *process // nil: the fabric itself
	past    *past    // of the processes that were this switch before
}

// process is the process that is the switch now, or nil.
func (r *role) process() *process {
	if h := r.who.Load(); h != nil {
		return h.process
	}
	return nil
}

// past is what the processes counted that were this switch before, nil if there were none.
func (r *role) past() *past {
	if h := r.who.Load(); h != nil {
		return h.past
	}
	return nil
}

// process is a switch process as the fabric knows it.
type process struct {
	fabric *Fabric
	sw     *liveSwitch
	number uint64
	pid    int
	host   string
	user   string // on our broker; empty on others

	attached chan struct{} // closed when its links have signal
	over     chan struct{} // closed, under mu, when it is this switch no more

	quiet atomic.Bool                   // it does not answer: nobody waits for it
	stale atomic.Bool                   // it has missed an order
	last  atomic.Pointer[member.Answer] // never nil once it is attached

	mu      sync.Mutex
	heard   uint64   // guarded by mu: observations it has told
	lostOut []uint64 // guarded by mu: per port, packets it has sent that are known to be lost
	told    broadcast

	silence *record // guarded by Fabric.mu: of its not answering
}

// String names the process for those who look for it.
func (p *process) String() string { return fmt.Sprintf("process %d on %s", p.pid, p.host) }

// errQuiet says that a process was not asked, since it did not answer before.
var errQuiet = errors.New("it does not answer")

// ask has the process do something. When it returns, the fabric knows what came of it. A process that does not answer in
// time is not asked again before it has answered the one that attends to it.
func (p *process) ask(verb string, in any) error {
	if p.quiet.Load() {
		p.stale.Store(p.stale.Load() || verb != member.AskState)
		return errQuiet
	}
	a, err := p.request(verb, in)
	if err != nil {
		if verb != member.AskState {
			p.stale.Store(true)
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bus.ErrNoProcess) {
			p.hush()
		}
		p.fabric.opts.Log.Warn("switch process", "switch", p.sw.name, "ask", verb, "err", err)
		return err
	}
	if verb != member.AskState {
		p.await(a.Observed)
	}
	return nil
}

// hush keeps others from waiting for it.
func (p *process) hush() {
	p.quiet.Store(true)
	p.fabric.changed.notify()
}

func (p *process) request(verb string, in any) (a member.Answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if err := p.fabric.opts.Processes.Peers.Ask(ctx, p.sw.name, verb, in, &a); err != nil {
		return a, err
	}
	ports := p.sw.core.Ports()
	if a.Number != p.number || len(a.Flows) != ports || len(a.Snapshot.Ports) != ports {
		return a, fmt.Errorf("the answer is not that of %v", p)
	}
	for _, s := range a.Snapshot.Ports {
		if len(s.VCs) != p.fabric.opts.Switch.VCs {
			return a, fmt.Errorf("the answer has %d virtual channels, not %d", len(s.VCs), p.fabric.opts.Switch.VCs)
		}
	}
	p.keep(a)
	return a, nil
}

// keep makes a the latest that is known.
func (p *process) keep(a member.Answer) {
	f := p.fabric
	a.At = min(a.At, f.Now())
	p.mu.Lock()
	if old := p.last.Load(); old != nil && old.At > a.At {
		p.mu.Unlock()
		return
	}
	p.last.Store(&a)
	if p.heard == a.Observed && !p.ended() {
		p.mend(&a)
	}
	p.mu.Unlock()
	if p.sw.process() == p {
		p.noteLost()
		f.revise(p)
	}
}

// ended reports whether it is its switch no more. Whoever acts on what it says holds mu meanwhile: its links are another's then.
func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// mend corrects what is thought of its links, should something it told have been lost. The caller holds mu.
func (p *process) mend(a *member.Answer) {
	for i, s := range a.Snapshot.Ports {
		l, side, ok := p.fabric.linkAt(weft.End{Node: p.sw.id.Node(), Port: weft.PortID(i)})
		if up := isUp(s.State); ok && l.up[side].Swap(up) != up {
			p.fabric.changed.notify()
		}
	}
}

// noteLost keeps what is known to be lost on the way from each port, for the time when it cannot be asked any more.
func (p *process) noteLost() {
	f := p.fabric
	for i := range p.sw.core.Ports() {
		e := weft.End{Node: p.sw.id.Node(), Port: weft.PortID(i)}
		peer, _, ok := f.graph.Peer(e)
		if !ok {
			continue
		}
		_, lost := onWire(f.endState(e), f.endState(peer))
		p.mu.Lock()
		p.lostOut[i] = max(p.lostOut[i], lost)
		p.mu.Unlock()
	}
}

// await waits until the process has told so many observations, which are on their way.
func (p *process) await(observed uint64) {
	timer := time.NewTimer(askTime)
	defer timer.Stop()
	for {
		told := p.told.wait()
		p.mu.Lock()
		heard := p.heard
		p.mu.Unlock()
		if heard >= observed {
			return
		}
		select {
		case <-told:
		case <-timer.C:
			return // some were lost; the next state mends it
		}
	}
}
