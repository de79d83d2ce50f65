package remote_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/link"
)

// testbed is a fabric of two hosts on a broker of the test, led by the test.
type testbed struct {
	t testing.TB
	access
	peers  *bus.Client
	graph  *topology.Graph
	served map[string]*servedHost
	wires  map[string]*rig.Relay // by host, what its connections go through

	mu   sync.Mutex
	seen []host.Observation // guarded by mu
}

// access is where the broker of a testbed is, and how everybody comes in.
type access struct {
	url           string
	authorizer    remote.Authorizer // nil: hosts have the credentials of their machines
	leads, agents bus.Credentials
}

// servedHost is a host as the test leads it.
type servedHost struct {
	*remote.Client
	bed    *testbed
	spec   host.Spec
	server *remote.Server
}

// newRig hosts a topology in hosts: the switches at even places of the list are west, the others
// east, and NICs with their leaves.
func newRig(t testing.TB, spec, firmware string, change func(c *host.Spec)) *testbed {
	t.Helper()
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})
	return newRigAt(t, access{url: b.ClientURL(), authorizer: b, leads: b.Credentials(bus.RoleFabric)}, spec, firmware, change)
}

// newRigAt is newRig at another broker.
func newRigAt(t testing.TB, at access, spec, firmware string, change func(c *host.Spec)) *testbed {
	t.Helper()
	g := topologytest.Parse(t, spec)
	r := &testbed{t: t, access: at, graph: g, served: map[string]*servedHost{}, wires: map[string]*rig.Relay{}}
	r.peers = bustest.Client(t, bus.ClientConfig{Leads: true, Fabric: "lab", URL: at.url, Credentials: at.leads})
	require.NoError(t, bus.Hear(r.peers, host.TellEvents, r.hear))

	var text bytes.Buffer
	require.NoError(t, g.WriteYAML(&text))
	packed, err := deflate.Compress(text.Bytes())
	require.NoError(t, err)
	places := r.places()
	for i, p := range places {
		c := host.Spec{
			Fabric: "lab", Host: p.Host, Number: uint64(i + 1), Topology: packed, Firmware: firmware, Placement: p,
			Placements: places,
			Switch:     host.SwitchOptions{VCs: 2, InputBuffer: 2, OutputBuffer: 2},
			NIC:        host.NICOptions{PacketBytes: 256, QueueBytes: 4 << 10}, // what a busy machine does not carry is refused
			Link: host.LinkOptions{
				Rate:     256_000,
				Liveness: link.Liveness{Interval: 250 * weft.Millisecond, Multiplier: 4}, Inbox: 64,
			},
			Seed: 7,
		}
		if change != nil {
			change(&c)
		}
		r.host(c)
	}
	return r
}

// places divides the switches evenly and puts NICs with their leaves.
func (r *testbed) places() []host.Placement {
	var switches [2][]weft.SwitchID
	var nics [2][]weft.NICID
	for _, s := range r.graph.Switches {
		switches[s.ID%2] = append(switches[s.ID%2], s.ID)
	}
	for _, n := range r.graph.NICs {
		leaf, _ := host.Leaf(r.graph, n.ID)
		nics[leaf.Switch%2] = append(nics[leaf.Switch%2], n.ID)
	}
	list := make([]host.Placement, 2)
	for i, name := range []string{"west", "east"} {
		list[i] = host.Placement{
			Host: name, Switches: host.Spans(switches[i]), NICs: host.Spans(nics[i]),
			Shard: 10 * i, Shards: 1 + i,
		}
	}
	return list
}

// host opens a host with credentials of its own.
func (r *testbed) host(c host.Spec) *servedHost {
	r.t.Helper()
	var err error
	_, err = r.hosts().Admit(&c, r.graph)
	require.NoError(r.t, err)
	p, err := remote.Open(remote.Config{Spec: c, URL: r.through(c.Host), Credentials: r.agents})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, p.Close()) })
	l := &servedHost{Client: remote.NewClient(r.peers, c.Host), bed: r, spec: c, server: p}
	r.served[c.Host] = l
	return l
}

func (r *testbed) hosts() remote.Hosts { return remote.Hosts{Peers: r.peers, Authorizer: r.authorizer} }

// through is where a host finds the broker.
func (r *testbed) through(name string) string {
	if r.wires[name] == nil {
		r.wires[name] = rig.NewRelay(r.t, strings.TrimPrefix(r.url, "nats://"))
	}
	return "nats://" + r.wires[name].Address
}

func (r *testbed) hear(_ string, seen host.EventBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, seen.Events...)
}

// order has a host do something.
func (l *servedHost) order(o host.Order) host.OrderAnswer {
	l.bed.t.Helper()
	o.Number = l.spec.Number
	a, err := l.Order(context.Background(), o)
	require.NoError(l.bed.t, err)
	return a
}

// all has every host do something.
func (r *testbed) all(o host.Order) {
	r.t.Helper()
	for _, l := range r.served {
		l.order(o)
	}
}

func (r *testbed) traffic(spec string) {
	r.t.Helper()
	draws, err := rand.NewPCG(7, 1<<32).MarshalBinary()
	require.NoError(r.t, err)
	r.all(host.Order{Traffic: &host.TrafficOrder{Spec: spec, Draws: draws}})
}

// allCounters are what all hosts have added up together, with what is on crossing links and lost
// there.
type allCounters struct {
	host.Counters
	flows       map[weft.End]link.Flow
	wires, lost uint64
	up, ends    int
}

func (r *testbed) counters() (s allCounters) { return r.countersWith(host.CountersRequest{}) }

func (r *testbed) countersWith(ask host.CountersRequest) (s allCounters) {
	r.t.Helper()
	return r.add(func(l *servedHost) (host.Counters, error) {
		return l.Counters(context.Background(), host.CountersRequest{
			Number: l.spec.Number, Ends: true,
			Generations: ask.Generations,
		})
	})
}

// add adds up what every host says.
func (r *testbed) add(says func(l *servedHost) (host.Counters, error)) (s allCounters) {
	r.t.Helper()
	s.flows = map[weft.End]link.Flow{}
	for _, l := range r.served {
		one, err := says(l)
		require.NoError(r.t, err)
		s.Add(&one)
		for i := range l.spec.Placement.Ends(r.graph) {
			if s.ends++; host.Bit(one.Up, i) {
				s.up++
			}
		}
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
		peer, _, ok := r.graph.Peer(e)
		require.True(r.t, ok)
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
	r.t.Helper()
	linked := 2 * len(r.graph.Links)
	rig.Until(r.t, func() bool { return r.counters().up == linked-but })
}

// quiet stops the traffic and waits until all packets have ended.
func (r *testbed) quiet() allCounters {
	r.t.Helper()
	r.traffic("none")
	var s allCounters
	ok := func() bool {
		s = r.counters()
		return s.Held+s.Queued+s.wires == 0 && s.balance() == 0
	}
	if !ok() {
		rig.Until(r.t, ok, "the ledger does not balance: %d missing, %+v", s.balance(), s.Counters)
	}
	return s
}

// empty waits until no packet is in a switch or on a wire.
func (r *testbed) empty() {
	r.t.Helper()
	rig.Until(r.t, func() bool { s := r.counters(); return s.Held+s.wires == 0 })
}

// delivered waits until so many more packets have been.
func (r *testbed) delivered(more uint64) {
	r.t.Helper()
	from := r.counters().Answer.Counters.NICs.Delivered
	rig.Until(r.t, func() bool { return r.counters().Answer.Counters.NICs.Delivered >= from+more })
}

// connected checks that every NIC reaches every other.
func (r *testbed) connected() {
	r.t.Helper()
	before := r.counters().Answer.Counters.NICs.Delivered
	n := len(r.graph.NICs)
	for _, l := range r.served {
		var o host.Order
		for _, src := range l.spec.Placement.NICIDs() {
			for dst := range weft.NICID(n) {
				if dst != src {
					o.Send = append(o.Send, host.SendOrder{Src: src, Dst: dst, Bytes: 64})
				}
			}
		}
		for _, a := range l.order(o).Sent {
			require.Empty(r.t, a.Err)
		}
	}
	require.Equal(r.t, before+uint64(n*(n-1)), r.quiet().Answer.Counters.NICs.Delivered)
}

// crossing is how many ends lead from one host to the other.
func (r *testbed) crossing() (n int) {
	of := map[weft.Node]string{}
	for name, l := range r.served {
		for _, e := range l.spec.Placement.Ends(r.graph) {
			of[e.Node] = name
		}
	}
	for _, l := range r.graph.Links {
		if of[l.A.Node] != of[l.B.Node] {
			n += 2
		}
	}
	return n
}
