package fabric

import (
	"log/slog"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
)

// sharedLedger is the ledger of a fabric, which several goroutines step. No call leaves the package
// while its lock is held.
type sharedLedger struct {
	shared[ledger.Ledger, accounts]
	log *slog.Logger
}

// accounts are where all packets are, as hosts told last.
type accounts struct {
	ledger.Balance
	Links []ledger.LinkBalance // by number
}

func newSharedLedger(log *slog.Logger, l *ledger.Ledger) *sharedLedger {
	a := &sharedLedger{log: log}
	a.value = l
	a.see = func(l *ledger.Ledger) *accounts { return &accounts{l.Balance(), l.Links()} }
	return a
}

// localHostID is the number of this process's host; others follow.
const localHostID ledger.HostID = 1

// step steps the ledger. Its other orders need nothing: hosts are asked all the time anyway, and
// forget by themselves.
func (a *sharedLedger) step(now weft.Time, ev ledger.Event) {
	a.change(func(l *ledger.Ledger) {
		for _, o := range l.Step(now, ev) {
			if o.Kind == ledger.Refuse {
				a.log.Warn("what a host has counted", "err", o.Why)
			}
		}
	})
}

// total is what all nodes have counted.
func (a *sharedLedger) total() (c ledger.Counters) {
	a.read(func(l *ledger.Ledger) { c = l.Total() })
	return c
}

// linksOf are the links of a topology, in the ledger's form.
func linksOf(g *topology.Graph) []ledger.Link {
	links := make([]ledger.Link, len(g.Links))
	for i, l := range g.Links {
		links[i] = ledger.Link{A: l.A, B: l.B}
	}
	return links
}

// empty reports whether h has no nodes, as the leader's process when all nodes are on agents. The
// ledger then has no such host.
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

// record steps the ledger with the counters of h. s.Asked is when they were asked for.
func (h *hostState) record(s *host.Counters) {
	a := s.Answer
	a.Host = h.id
	h.site.ledger.step(h.site.Now(), &a)
}

// storeLocalCounters keeps s as the latest counters of this process's host. When there are later
// ones it keeps what only s has.
func (h *hostState) storeLocalCounters(s host.Counters, asked weft.Time) {
	s.Asked = asked
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.counters.Load()
	if old.own.Seq > s.Seq {
		h.counters.Store(newHostCounters(old.at, old.own.with(newAnswer(s)), &host.Counters{}))
		return
	}
	h.counters.Store(newHostCounters(asked, newAnswer(s).with(old.own), &host.Counters{}))
	if !h.empty() {
		h.record(&s)
	}
}

// localRequest is the request for all counters that the ledger takes.
func (h *hostState) localRequest() host.CountersRequest {
	return host.CountersRequest{Number: h.site.own, Ends: true, Peers: h.peers()}
}

// retire keeps the counters of an ended incarnation of h that the ledger does not take. The caller
// holds h.mu.
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

// linkTotalAt is the number of packets through an end of a link to another host, as told by all
// incarnations of the host.
func linkTotalAt(list []ledger.LinkTotal, e weft.End) ledger.LinkTotal {
	i, ok := slices.BinarySearchFunc(list, ledger.LinkTotal{End: e}, ledger.LinkTotal.Compare)
	if !ok {
		return ledger.LinkTotal{End: e}
	}
	return list[i]
}
