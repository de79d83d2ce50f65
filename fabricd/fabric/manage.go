package fabric

import (
	"context"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// EventReconfigured is the kind of the event that a subnet manager has brought new tables into
// force.
const EventReconfigured = leader.EventReconfigured

// management is the side of a subnet manager: tables, and what became of packets that travelled by
// older ones. It owns nothing: switches have their tables. Any goroutine outside the loop may call
// it.
type management struct {
	*decisions
	reader *reader
}

// Round is a subnet manager's account of tables that it has brought into force, with the times of
// its phases on the fabric's clock.
type Round = leader.Round

// Reconfigured writes into the reports of the faults that made these links die how the routes were
// repaired, and publishes it. It returns the account with times since the first of these faults.
func (mg *management) Reconfigured(r Round) (reconfiguration fault.Reconfiguration) {
	mg.inLoop(func(l loop) { reconfiguration = l.decide(leader.Managed{Round: r}).reconfiguration })
	return reconfiguration
}

// Costs is what each fault that is still counted has cost by now, by its number in the reports.
func (mg *management) Costs() (costs map[int]uint64) {
	mg.refreshHosts(host.CountersRequest{})
	mg.ledger.read(func(*ledger.Ledger) { mg.read(func(s *leader.State) { costs = s.Costs() }) })
	return costs
}

// settleTime bounds the wait for packets of older tables. A packet in the send queue of a saturated
// NIC has not met any table yet. Chosen by us: far longer than a packet is on its way.
const settleTime = 2 * weft.Second

// Settling finds out when the packets generated before now are gone, and with them those that
// travelled by older tables. The function that it returns reports whether they are: all were
// delivered, except as many as had been lost before, or so much time has passed that it does not
// matter which of them were lost since.
func (mg *management) Settling() (gone func() bool) {
	var orders dispatched
	var generation int
	mg.inLoop(func(l loop) {
		orders, generation = l.decide(leader.Generate{}).dispatched, int(l.generation())
	})
	_ = orders.wait() // of a host that does not answer nothing is known anyway
	began := mg.Now()
	l := mg.reader.ledgerAfterRefresh()
	dropped := l.Lost + l.Discarded
	return func() bool {
		if mg.Now()-began > settleTime {
			return true
		}
		return mg.missing(generation) <= dropped
	}
}

// SettleEvery is how often it is looked whether packets are gone; chosen by us.
const SettleEvery = 20 * time.Millisecond

// Settle waits in a live fabric until the packets of tables before that version are gone, or ctx
// ends, and notes it in the fault reports.
func (mg *management) Settle(ctx context.Context, version uint64) error {
	tick := time.NewTicker(SettleEvery)
	defer tick.Stop()
	for gone := mg.Settling(); !gone(); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	mg.Settled(version)
	return nil
}

// missing is how many packets generated before a fault generation have not been delivered. NICs
// tell only the latest generations apart (nic.MaxGenerations), so the rest is the total less those.
func (mg *management) missing(generation int) uint64 {
	var injected, delivered uint64
	mg.refreshHosts(host.CountersRequest{Generations: true})
	mg.countGenerations(func(s *host.Counters) {
		injected, delivered = injected+s.Counters.NICs.Injected, delivered+s.Counters.NICs.Delivered
		for i, e := range s.Generations {
			if s.FirstGeneration+i >= generation {
				injected, delivered = injected-e.Injected, delivered-e.Delivered
			}
		}
	})
	return injected - min(injected, delivered)
}

// Settled notes in the fault reports that the packets of tables before that version are gone.
func (mg *management) Settled(version uint64) {
	mg.inLoop(func(l loop) { l.decide(leader.Settled{Version: version}) })
}

// RoundCounts counts the rounds of subnet managers since the start.
type RoundCounts = leader.RoundCounts

// OnPorts makes do be called soon after an end changes its view of its link. Call it at most once,
// before anything happens.
func (mg *management) OnPorts(do func()) { mg.manager.set(mg.runtime.Task(0, do)) }
