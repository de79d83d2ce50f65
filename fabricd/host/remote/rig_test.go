package remote_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/link"
)

// testbed is a fabric of two hosts, west and east, led by the test.
type testbed struct {
	*Fabric

	mu   sync.Mutex
	seen []host.Observation // guarded by mu
}

func newRig(t testing.TB, spec, firmware string, change func(c *host.Spec)) *testbed {
	t.Helper()
	return newRigAt(t, embedded(t), spec, firmware, change)
}

// newRigAt is newRig at another broker.
func newRigAt(t testing.TB, at Access, spec, firmware string, change func(c *host.Spec)) *testbed {
	t.Helper()
	r := &testbed{Fabric: newFabric(t, at, spec, firmware, change, "west", "east")}
	require.NoError(t, bus.Hear(r.Peers, host.TellEvents, r.hear))
	return r
}

func (r *testbed) hear(_ string, seen host.EventBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, seen.Events...)
}

// all has every host do something.
func (r *testbed) all(o host.Order) {
	r.Helper()
	for _, l := range r.Hosts {
		l.Do(o)
	}
}

func (r *testbed) traffic(spec string) {
	r.Helper()
	draws, err := rand.NewPCG(7, 1<<32).MarshalBinary()
	require.NoError(r, err)
	r.all(host.Order{Traffic: &host.TrafficOrder{Spec: spec, Draws: draws}})
}

// allCounters are what all hosts have added up together, with what is on crossing links and lost
// there.
type allCounters struct {
	host.Counters
	flows       map[weft.End]link.Flow
	wires, lost uint64
	up          int
}

func (r *testbed) counters() (s allCounters) { return r.countersWith(host.CountersRequest{}) }

func (r *testbed) countersWith(ask host.CountersRequest) (s allCounters) {
	r.Helper()
	return r.add(func(l *Remote) (host.Counters, error) {
		return l.Counters(context.Background(), host.CountersRequest{
			Number: l.Spec.Number, Ends: true,
			Generations: ask.Generations,
		})
	})
}

// add adds up what every host says.
func (r *testbed) add(says func(l *Remote) (host.Counters, error)) (s allCounters) {
	r.Helper()
	s.flows = map[weft.End]link.Flow{}
	for _, l := range r.Hosts {
		one, err := says(l)
		require.NoError(r, err)
		s.Add(&one)
		s.up += l.Up(&one)
		for _, e := range one.Flows {
			if e.End.Port != weft.NoPort { // else a hand-over
				s.flows[e.End] = e.Flow
			}
		}
	}
	s.wires = s.Wires
	for _, l := range s.Wire {
		s.lost += l.Wire[0] + l.Wire[1]
	}
	for e, flow := range s.flows {
		peer, _, ok := r.Graph.Peer(e)
		require.True(r, ok)
		if to, ok := s.flows[peer]; ok {
			wire, lost := link.OnWire(flow, to)
			s.wires, s.lost = s.wires+wire, s.lost+lost
		}
	}
	return s
}

// balance is what is injected less all accounts.
func (s *allCounters) balance() int64 {
	n, sw := &s.Answer.Counters.NICs, &s.Answer.Counters.Switches
	return int64(n.Injected) - int64(n.Delivered+n.Wrong+s.lost+sw.LostQueue+sw.LostCrash+sw.Discarded+s.wires+s.Held+
		s.Queued)
}

// up waits until all links of the fabric are up but so many ends.
func (r *testbed) up(but int) {
	r.Helper()
	linked := 2 * len(r.Graph.Links)
	rig.Until(r, func() bool { return r.counters().up == linked-but })
}

// quiescent stops the traffic and waits until all packets have ended.
func (r *testbed) quiescent() allCounters {
	r.Helper()
	r.traffic("none")
	var s allCounters
	ok := func() bool {
		s = r.counters()
		return s.Held+s.Queued+s.wires == 0 && s.balance() == 0
	}
	if !ok() {
		rig.Until(r, ok, "the ledger does not balance: %d missing, %+v", s.balance(), s.Counters)
	}
	return s
}

// empty waits until no packet is in a switch or on a wire.
func (r *testbed) empty() {
	r.Helper()
	rig.Until(r, func() bool { s := r.counters(); return s.Held+s.wires == 0 })
}

// delivered waits until so many more packets have been.
func (r *testbed) delivered(more uint64) {
	r.Helper()
	from := r.counters().Answer.Counters.NICs.Delivered
	rig.Until(r, func() bool { return r.counters().Answer.Counters.NICs.Delivered >= from+more })
}

// connected checks that every NIC reaches every other.
func (r *testbed) connected() {
	r.Helper()
	before := r.counters().Answer.Counters.NICs.Delivered
	n := len(r.Graph.NICs)
	for _, l := range r.Hosts {
		var o host.Order
		for _, src := range l.Spec.Placement.NICIDs() {
			for dst := range weft.NICID(n) {
				if dst != src {
					o.Send = append(o.Send, host.SendOrder{Src: src, Dst: dst, Bytes: 64})
				}
			}
		}
		for _, a := range l.Do(o).Sent {
			require.Empty(r, a.Err)
		}
	}
	require.Equal(r, before+uint64(n*(n-1)), r.quiescent().Answer.Counters.NICs.Delivered)
}

// crossing is how many ends lead from one host to the other.
func (r *testbed) crossing() (n int) {
	for _, l := range r.Graph.Links {
		if r.hostOf(l.A.Node) != r.hostOf(l.B.Node) {
			n += 2
		}
	}
	return n
}

// hostOf is who runs a node by the placement.
func (r *testbed) hostOf(n weft.Node) *Remote {
	for _, l := range r.Hosts {
		if slices.ContainsFunc(l.Ends(), func(e weft.End) bool { return e.Node == n }) {
			return l
		}
	}
	r.Fatal("nobody runs", n)
	return nil
}
