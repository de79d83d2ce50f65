package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// EventReconfigured is the kind of the event that a subnet manager has brought new tables into
// force.
const EventReconfigured = leader.EventReconfigured

// Round is a subnet manager's account of tables that it has brought into force, with the times of
// its phases on the fabric's clock.
type Round = leader.Round

// Reconfigured writes into the reports of the faults that made these links die how the routes were
// repaired, and publishes it. It returns the account with times since the first of these faults.
func (f *Fabric) Reconfigured(r Round) (reconfiguration fault.Reconfiguration) {
	f.inLoop(func(l loop) { reconfiguration = l.decide(leader.Managed{Round: r}).reconfiguration })
	return reconfiguration
}

// settleTime bounds the wait for packets of older tables. A packet in the send queue of a saturated
// NIC has not met any table yet. Chosen by us: far longer than a packet is on its way.
const settleTime = 2 * weft.Second

// Settling finds out when the packets generated before now are gone, and with them those that
// travelled by older tables. The function that it returns reports whether they are: all were
// delivered, except as many as had been lost before, or so much time has passed that it does not
// matter which of them were lost since.
func (f *Fabric) Settling() (gone func() bool) {
	var orders dispatched
	var generation int
	f.inLoop(func(l loop) {
		orders, generation = l.decide(leader.Generate{}).dispatched, int(l.generation())
	})
	_ = orders.wait() // of a host that does not answer nothing is known anyway
	began := f.Now()
	l := f.ledgerAfterRefresh()
	dropped := l.Lost + l.Discarded
	return func() bool {
		if f.Now()-began > settleTime {
			return true
		}
		return f.missing(generation) <= dropped
	}
}

// missing is how many packets generated before a fault generation have not been delivered. NICs
// tell only the latest generations apart (nic.MaxGenerations), so the rest is the total less those.
func (f *Fabric) missing(generation int) uint64 {
	var injected, delivered uint64
	f.refreshHosts(host.CountersRequest{Generations: true})
	f.countGenerations(func(s *host.Counters) {
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
func (f *Fabric) Settled(version uint64) {
	f.inLoop(func(l loop) { l.decide(leader.Settled{Version: version}) })
}

// RoundCounts counts the rounds of subnet managers since the start.
type RoundCounts = leader.RoundCounts

// TableVersions are the versions of the tables of all switches, by number.
func (f *Fabric) TableVersions() []uint64 {
	list := make([]uint64, len(f.switches))
	for i := range list {
		list[i] = f.TableVersion(weft.SwitchID(i))
	}
	return list
}

// OnPorts makes do be called soon after an end changes its view of its link. Call it at most once,
// before anything happens.
func (f *Fabric) OnPorts(do func()) { f.manager.set(f.runtime.Task(0, do)) }

// Empty reports whether no packet is between the NICs.
func (f *Fabric) Empty() bool { return f.drained() }
