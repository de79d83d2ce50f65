package fabric

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
)

// sharedLedger are the ledger of a fabric, which several goroutines step. Its lock is held for no
// call to anybody.
type sharedLedger struct {
	log *slog.Logger

	mu     sync.Mutex
	ledger *ledger.Ledger // guarded by mu
}

// localHostID is the number of the host in this process; others follow.
const localHostID ledger.HostID = 1

// step has the ledger take an event. What it wants to ask hosts is what they are asked for all the
// time, and what they may forget they forget by themselves.
func (a *sharedLedger) step(now weft.Time, ev ledger.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.ledger.Step(now, ev) {
		if o.Kind == ledger.Refuse {
			a.log.Warn("what a host has counted", "err", o.Why)
		}
	}
}

// read calls do with the ledger.
func (a *sharedLedger) read(do func(l *ledger.Ledger)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do(a.ledger)
}

// total is what all nodes have counted.
func (a *sharedLedger) total() (c ledger.Counters) {
	a.read(func(l *ledger.Ledger) { c = l.Total() })
	return c
}

// onLinks is what each link has lost, and what is on its way, by number.
func (a *sharedLedger) onLinks() (list []ledger.LinkBalance) {
	a.read(func(l *ledger.Ledger) { list = l.Links(nil) })
	return list
}

// linksOf are the links of a topology, as the ledger has them.
func linksOf(g *topology.Graph) []ledger.Link {
	links := make([]ledger.Link, len(g.Links))
	for i, l := range g.Links {
		links[i] = ledger.Link{A: l.A, B: l.B}
	}
	return links
}

// beginLocal has the nodes of this process be a host, if there are any.
func (f *Fabric) beginLocal(number uint64) {
	h := f.local
	f.own = number
	if !h.empty() {
		f.ledger.step(f.Now(), ledger.HostStarted{
			Host: h.id, Incarnation: ledger.Incarnation(number),
			Nodes: nodesOf(h.placement),
		})
	}
}

// empty reports whether h has no nodes, as the leader's own process when all are on agents: then it
// is no host to the ledger.
func (h *hostState) empty() bool { return len(h.switches)+len(h.nics) == 0 }

func nodesOf(p host.Placement) (nodes []weft.Node) {
	for _, id := range p.SwitchIDs() {
		nodes = append(nodes, id.Node())
	}
	for _, id := range p.NICIDs() {
		nodes = append(nodes, id.Node())
	}
	return nodes
}

// record has the ledger take what h has counted. s.Asked says when it was asked for.
func (h *hostState) record(s *host.Counters) {
	a := s.Answer
	a.Host = h.id
	h.fabric.ledger.step(h.fabric.Now(), &a)
}

// recordLocal has the nodes of this process tell what they have counted.
func (f *Fabric) recordLocal(want host.CountersRequest) {
	h, asked := f.local, f.Now()
	r := h.localRequest()
	r.Generations = want.Generations
	s, _ := h.local.Counters(context.Background(), r) // it fails for latencies only
	h.keepLocal(s, asked)
}

// keepLocal makes s the latest that is known of the host in this process, unless a later one is.
func (h *hostState) keepLocal(s host.Counters, asked weft.Time) {
	s.Asked = asked
	h.mu.Lock()
	defer h.mu.Unlock()
	old := &h.counters.Load().own
	if old.Seq > s.Seq {
		return
	}
	h.counters.Store(newHostCounters(asked, withOlder(s, old), &host.Counters{}))
	if !h.empty() {
		h.record(&s)
	}
}

// localRequest asks the host in this process for all that the ledger takes.
func (h *hostState) localRequest() host.CountersRequest {
	return host.CountersRequest{Number: h.fabric.own, Ends: true, Peers: h.peers()}
}

// retire keeps what an incarnation of h has counted that is over, and the ledger does not know. The
// caller holds h.mu.
func (h *hostState) retire() {
	own := &h.counters.Load().own
	h.retired.Add(&host.Counters{
		Drivers: own.Drivers, FirstGeneration: own.FirstGeneration,
		Generations: own.Generations, OlderGenerations: own.OlderGenerations,
	})
	if own.Latency == nil {
		return
	}
	if l, err := host.DecodeLatency(own.Latency); err == nil {
		if h.retiredLatency == nil {
			h.retiredLatency = nic.NewLatency()
		}
		h.retiredLatency.Merge(l)
	}
}

// linkTotalAt is how many packets have gone through an end of a link to another host, by what all
// incarnations of the host have told.
func linkTotalAt(list []ledger.LinkTotal, e weft.End) ledger.LinkTotal {
	i, ok := slices.BinarySearchFunc(list, ledger.LinkTotal{End: e}, ledger.LinkTotal.Compare)
	if !ok {
		return ledger.LinkTotal{End: e}
	}
	return list[i]
}
