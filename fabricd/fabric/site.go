package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// site is what all hosts of a fabric have in common: its time, its nodes and its state, the
// options, and what is to be done with what hosts have counted. It orders nothing. Any goroutine
// may call it.
type site struct {
	*lifetime
	*nodes
	*leading
	portNews
	opts *Options // constant

	own     uint64       // the incarnation of the nodes of this process
	epochs  epochs       // of links, and who has them
	watched atomic.Int64 // when somebody last looked at single nodes, in nanoseconds of the wall clock
}

// newSite makes what hosts have in common; the hosts are made later. It settles options that depend
// on the transport.
func newSite(o *Options) *site {
	t := &lifetime{runtime: o.Runtime}
	if o.Runtime == nil {
		t.live = newLive(o.Transport)
		if o.Adopt != nil {
			t.live.forward(o.Adopt.Now)
		}
		t.runtime = t.live
		if fits := wire.Batch(o.Transport.MaxFrame(), o.Switch.VCs); o.Switch.Batch == 0 || fits < o.Switch.Batch {
			o.Switch.Batch = min(fits, switchd.DefaultBatch)
		}
	}
	si := &site{
		lifetime: t, nodes: newNodes(o.Topology), opts: o,
		leading: &leading{clock: t.runtime, events: NewHub()},
	}
	si.changed.init()
	return si
}

// portNews tells those who wait for links that a port has changed its state. Any goroutine may call
// it.
type portNews struct {
	changed   broadcast   // everybody who waits
	manager   waker       // a subnet manager in this process
	repairs   waker       // who looks after faults that have ended by themselves
	repairing atomic.Bool // there are such faults
}

// portsChanged wakes all who wait for links.
func (n *portNews) portsChanged() {
	n.changed.notify()
	if n.repairing.Load() {
		n.repairs.wake()
	}
}

// divide makes the nodes, each with its host, and notes which links are inside one.
func (si *site) divide(places []host.Placement) error {
	si.switches, si.nics = make([]*liveSwitch, len(si.graph.Switches)), make([]*liveNIC, len(si.graph.NICs))
	for i, s := range si.graph.Switches {
		si.switches[i] = &liveSwitch{
			id: s.ID, name: s.Name, home: si.local, Program: host.NewProgram(si.opts.Firmware),
			placement: placement{moving: make(chan struct{}, 1)},
		}
	}
	for i := range si.nics {
		si.nics[i] = &liveNIC{weft.NICID(i), si.local}
	}
	for i, o := range si.opts.Hosts {
		h := newHostState(si, localHostID+1+ledger.HostID(i), o.Name, places[i])
		si.remote = append(si.remote, h)
		for _, id := range o.Switches {
			si.switches[id].home = h
		}
		for _, id := range o.NICs {
			si.nics[id].home = h
		}
	}
	si.hosts.Store(new(append([]*hostState{si.local}, si.remote...)))
	for _, l := range si.links {
		a, b := si.home(l.A.Node), si.home(l.B.Node)
		if a != b && !l.BetweenSwitches() {
			return fmt.Errorf("fabric: link %s: a NIC sends by the tables of its switch, so both must be on one host",
				l.Name)
		}
		if a == b {
			a.inside = append(a.inside, l)
			continue
		}
		for i, h := range []*hostState{a, b} {
			h.cross, h.border = append(h.cross, l.ends()[i]), append(h.border, l)
		}
	}
	return nil
}

// beginLocal starts the host of this process's nodes in the ledger, if there are any.
func (si *site) beginLocal(number uint64) {
	h := si.local
	si.own = number
	if !h.empty() {
		si.ledger.step(si.Now(), ledger.HostStarted{
			Host: h.id, Incarnation: ledger.Incarnation(number),
			Nodes: nodesOf(h.placement),
		})
	}
}

// refreshCounters has all hosts tell what they have counted, for what is about to be added up.
func (si *site) refreshCounters() { si.refreshHosts(host.CountersRequest{}) }

// refreshHosts has all hosts tell what they have added up, at once. It waits for none that does not
// answer.
func (si *site) refreshHosts(want host.CountersRequest) { si.refresh(si.answering(), want) }

// refresh is that for some of the hosts, and that in this process.
func (si *site) refresh(hosts []*hostState, want host.CountersRequest) {
	si.recordLocal(want)
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() {
			if noAnswer(h.read(want)) && h.heardOf() {
				h.markSuspect()
			}
		})
	}
	wg.Wait()
}

// lookTime bounds how long whoever looks at the fabric, or begins a fault, waits for hosts. Of one
// that takes longer, what it told last holds. Chosen by us: a host on the same network answers in a
// few milliseconds.
const lookTime = 50 * time.Millisecond

// lookAtHosts has all hosts tell what they have counted, and waits for none longer than lookTime.
func (si *site) lookAtHosts() { si.look(host.CountersRequest{}, false) }

// lookAtNodes is that, and has them tell of their nodes too.
func (si *site) lookAtNodes() { si.look(host.CountersRequest{}, true) }

// look has all hosts tell what is wanted, and returns when they have, or lookTime is over. A host
// that has owed somebody an answer for so long is not asked: whoever comes after the first who
// waited for it does not wait.
func (si *site) look(want host.CountersRequest, nodes bool) {
	hosts := slices.DeleteFunc(si.answering(), (*hostState).owes)
	queries := []func(){func() { si.refresh(hosts, want) }}
	if nodes {
		queries = append(queries, func() { readNodes(hosts) })
	}
	done := make(chan struct{}, len(queries))
	for _, do := range queries {
		asks := func() {
			do()
			done <- struct{}{}
		}
		if len(hosts) == 0 || !si.spawn(asks) {
			asks()
		}
	}
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	for range queries {
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}

// readAll reads all hosts now, for callers that need single nodes and not sums.
func (si *site) readAll() { readNodes(si.answering()) }

// recordLocal steps the ledger with the counters of this process's nodes.
func (si *site) recordLocal(want host.CountersRequest) {
	h, asked := si.local, si.Now()
	r := h.localRequest()
	r.Generations = want.Generations
	s, _ := h.local.Counters(context.Background(), r) // it fails for latencies only
	h.storeLocalCounters(s, asked)
}

// count calls do with the counters that each host told last, for those that the ledger does not
// take.
func (si *site) count(do func(s *host.Counters)) {
	for _, h := range *si.hosts.Load() {
		do(&h.counters.Load().all)
	}
}

// countGenerations calls do with the counters of NICs per generation; those of this process are
// read now.
func (si *site) countGenerations(do func(s *host.Counters)) {
	si.recordLocal(host.CountersRequest{Generations: true})
	si.count(do)
}

// mergeLatency adds the latencies of all NICs to h; those of other hosts as they told them last.
func (si *site) mergeLatency(hist *hdrhistogram.Histogram) {
	for _, h := range *si.hosts.Load() {
		h.mergeLatency(hist)
	}
}

// holdsPackets reports whether a switch of this process has packets inside.
func (si *site) holdsPackets() bool { return si.local.local.HoldsPackets() }

// countNow has the state and the ledger know what the nodes of this process have counted, before a
// decision that depends on it.
func (si *site) countNow() {
	si.recordLocal(host.CountersRequest{})
	si.noteCounted()
}

// noteCounted has the state know what hosts have counted that the ledger does not know.
func (si *site) noteCounted() {
	c := leader.Counted{Effect: weft.Time(si.leading.effect.Load())}
	if si.ledger.total().NICs.Rerouted > 0 {
		si.countGenerations(func(s *host.Counters) {
			extra := leader.ExtraHops{First: s.FirstGeneration}
			for _, e := range s.Generations {
				extra.Most = append(extra.Most, e.MostExtra)
			}
			c.Extra = append(c.Extra, extra)
		})
	}
	si.note(c)
}

// deliveredNow are the packets delivered: in this process now, elsewhere as told last.
func (si *site) deliveredNow() uint64 {
	var elsewhere uint64
	si.ledger.read(func(l *ledger.Ledger) {
		local := l.OfHost(localHostID, 0)
		elsewhere = l.Total().NICs.Delivered - local.Counters.NICs.Delivered
	})
	return elsewhere + si.local.local.Delivered()
}

// refused says that this leader was replaced, when err of a host does.
func (si *site) refused(err error) {
	if si.opts.Replaced != nil && errors.Is(err, host.ErrReplaced) {
		si.opts.Replaced()
	}
}

// lead begins to lead by a ledger. The caller has made the hosts.
func (si *site) lead(l *ledger.Ledger) {
	_, scattered := si.runtime.(Scattered)
	c := leader.Config{
		Graph: si.graph, Seed: si.opts.Seed, PacketBytes: si.opts.NIC.PacketBytes,
		Detection: si.opts.Liveness.Detector().Detection(),
		Bin:       weft.FromDuration(si.binWidth()), Scattered: scattered, Processes: si.hostOfProcess(0),
	}
	for _, h := range *si.hosts.Load() {
		c.Hosts = append(c.Hosts, h.decided())
	}
	for _, s := range si.switches {
		c.Switches = append(c.Switches, s.home.id)
	}
	for _, n := range si.nics {
		c.NICs = append(c.NICs, n.home.id)
	}
	si.ledger = newSharedLedger(si.opts.Log, l)
	si.value, si.see = leader.New(c, l), (*leader.State).Picture
}
