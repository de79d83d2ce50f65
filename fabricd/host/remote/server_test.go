package remote_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/tables"
)

// start brings all links up and starts traffic.
func (r *testbed) start(spec string) {
	r.Helper()
	r.all(host.Order{SignalAll: true})
	r.up(0)
	r.traffic(spec)
}

func TestTwoHostsAreOneFabric(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r := newRig(t, "kary-ntree:2,3", "deterministic-link", nil)
	require.Zero(t, r.counters().up)
	r.start("uniform:0.05")
	r.delivered(100)
	s := r.quiescent()
	require.Zero(t, s.lost+s.Answer.Counters.NICs.Missing+s.Answer.Counters.NICs.Reordered+
		s.Answer.Counters.NICs.Duplicated)
	require.Greater(t, s.Answer.Counters.Switches.Forwarded, s.Answer.Counters.NICs.Delivered)
	require.Len(t, s.flows, r.crossing())
	s = r.countersWith(host.CountersRequest{Generations: true})
	require.Equal(t, s.Answer.Counters.NICs.Injected, s.Generations[0].Injected)
	require.Equal(t, s.Answer.Counters.NICs.Delivered, s.Generations[0].Delivered)
	r.connected()
}

// A host that answers with its counters takes orders, for a leader then sends them.
func TestAHostThatTellsItsCountersTakesOrders(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f := newFabric(t, embedded(t), "kary-ntree:2,2", "deterministic-link", nil)
	c := hosttest.Spec(t, f.Graph, "deterministic-link")
	c.Placements = hosttest.Divide(f.Graph, "all")
	c.Placement = c.Placements[0]
	const hosts, askers = 20, 8
	for i := range hosts {
		c.Host, c.Number = fmt.Sprintf("all%d", i), uint64(i+1)
		c.Placement.Host = c.Host
		c.Placements = []host.Placement{c.Placement}
		ordered := make(chan error, askers)
		for range askers {
			go func(c host.Spec) {
				asked := remote.NewClient(f.Peers, c.Host)
				_, err := asked.Counters(t.Context(), host.CountersRequest{})
				for errors.Is(err, reply.ErrNobody) {
					_, err = asked.Counters(t.Context(), host.CountersRequest{})
				}
				if err == nil {
					_, err = asked.Order(t.Context(), host.Order{Number: c.Number, Term: c.Term})
				}
				ordered <- err
			}(c)
		}
		f.Open(c)
		for range askers {
			require.NoError(t, <-ordered)
		}
	}
}

// crossingLink is a link between the hosts, and which host has its end A.
func (r *testbed) crossingLink() (l weft.LinkID, a, b *Remote) {
	for _, l := range r.Graph.Links {
		if a, b := r.hostOf(l.A.Node), r.hostOf(l.B.Node); a != b {
			return l.ID, a, b
		}
	}
	r.Fatal("no link crosses")
	return 0, nil, nil
}

// A cut is kept by both ends: each host keeps its direction, told or not told by the other, and the
// ends find a silent one.
func TestOrdersOfAHost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r := newRig(t, "kary-ntree:2,3", "adaptive-link", nil)
	r.start("uniform:0.05")
	id, a, b := r.crossingLink()
	l := r.Graph.Links[id]
	ways := []host.LinkDirection{{Link: id}, {Link: id, Back: true}}

	// Signalled: both ends are told.
	carrierDown := func(e weft.End) []host.SignalOrder { return []host.SignalOrder{{End: host.EndOf(e)}} }
	a.Do(host.Order{Cut: ways, Signals: carrierDown(l.A)})
	got := b.Do(host.Order{
		Cut: ways, Signals: carrierDown(l.B), Generation: new(uint16(3)),
		Counters: &host.CountersRequest{Applied: true, Ends: true},
	})
	require.ElementsMatch(t, ways, got.Counters.Applied.Cut)
	require.Equal(t, uint16(3), got.Counters.Applied.Generation)
	require.Len(t, got.Counters.Flows, r.crossing()/2)
	r.up(2)
	carrierUp := func(e weft.End) []host.SignalOrder { return []host.SignalOrder{{End: host.EndOf(e), Up: true}} }
	a.Do(host.Order{Restored: ways, Signals: carrierUp(l.A)})
	b.Do(host.Order{Restored: ways, Signals: carrierUp(l.B)})
	r.up(0)

	// Silent, and one direction kept by its receiver alone.
	b.Do(host.Order{Cut: ways[:1]})
	r.up(2)
	b.Do(host.Order{Restored: ways[:1]})
	r.up(0)

	// An end loses signal for a moment, and its neighbour in the other host finds out.
	a.Do(host.Order{Signals: append(carrierDown(l.A), carrierUp(l.A)...)})
	r.up(0)

	// Held NICs inject nothing; an impaired end loses frames.
	r.all(host.Order{Hold: new(true)})
	rig.Until(t, func() bool { s := r.counters(); return s.Held+s.wires == 0 && s.Queued > 0 })
	loss := host.ImpairOrder{End: host.EndOf(l.A), Impair: link.Impairment{Loss: 0.5}}
	s := a.Do(host.Order{Impair: []host.ImpairOrder{loss}, Counters: &host.CountersRequest{Applied: true}}).Counters
	require.Equal(t, []host.ImpairOrder{loss}, s.Applied.Impaired)
	require.True(t, s.Applied.Hold)
	loss.Impair = link.Impairment{}
	a.Do(host.Order{Impair: []host.ImpairOrder{loss}})
	r.all(host.Order{Hold: new(false)})
	r.delivered(50)

	// A switch crashes, with all that is in it, and comes back.
	victim := a.Spec.Placement.SwitchIDs()[1]
	for _, up := range []bool{false, true} {
		for _, p := range r.Hosts {
			var o host.Order
			for _, l := range r.Graph.Links {
				for _, e := range []weft.End{l.A, l.B} {
					if l.A.Node != victim.Node() && l.B.Node != victim.Node() {
						continue
					}
					if slices.Contains(p.Ends(), e) {
						o.Signals = append(o.Signals, host.SignalOrder{End: host.EndOf(e), Up: up})
					}
				}
			}
			if p == a && !up {
				o.Crash = []weft.SwitchID{victim}
			}
			p.Do(o)
		}
	}
	r.all(host.Order{SignalAll: true})
	r.up(0)
	r.delivered(50)
	r.quiescent()
	r.connected()
}

func TestHostRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
	west, east := r.Hosts["west"], r.Hosts["east"]
	other := host.EndOf(east.Ends()[0])
	for want, o := range map[string]host.Order{
		"another incarnation":        {Number: 99},
		"not in this host":           {Number: 1, Signals: []host.SignalOrder{{End: other}}, SignalAll: true},
		"port 7 of switch":           {Number: 1, Impair: []host.ImpairOrder{{End: host.End{Port: 7}}}},
		"link 999: there are":        {Number: 1, Cut: []host.LinkDirection{{Link: 999}}},
		"switch 1: not in this host": {Number: 1, Crash: []weft.SwitchID{1}},
		"nic 99: not in":             {Number: 1, Send: []host.SendOrder{{Src: 99}}, Notices: []weft.Notice{{Src: 99}}},
		"unknown NIC":                {Number: 1, Traffic: &host.TrafficOrder{Spec: "incast:0.5,to=nobody"}},
		"pattern":                    {Number: 1, Traffic: &host.TrafficOrder{Spec: "unifrom:0.5"}},
		"draws": {Number: 1, Traffic: &host.TrafficOrder{
			Spec:  "pairwise:0.5",
			Draws: []byte("x"),
		}},
	} {
		_, err := west.Order(context.Background(), o)
		require.ErrorIs(t, err, reply.ErrRefused, want)
		require.ErrorContains(t, err, want)
	}
	s, err := west.Counters(context.Background(), host.CountersRequest{Applied: true})
	require.NoError(t, err)
	require.Zero(t, s.Applied.Orders, "nothing of them was done")
	require.Equal(t, make([]byte, len(s.Applied.Signals)), s.Applied.Signals)
	require.Equal(t, "none", s.Applied.Traffic.Spec)

	// A leader that was replaced.
	west.Do(host.Order{Term: 5})
	_, err = west.Order(context.Background(), host.Order{Number: 1, Term: 4})
	require.ErrorContains(t, err, "another leader has taken over")
	require.ErrorIs(t, err, host.ErrReplaced)
	_, err = west.Counters(context.Background(), host.CountersRequest{Number: 1, Term: 4})
	require.ErrorIs(t, err, host.ErrReplaced)
	_, err = west.Load(context.Background(), host.LoadOrder{Number: 1, Term: 4})
	require.ErrorContains(t, err, "another leader has taken over")
	_, err = west.End(context.Background(), host.EndOrder{Number: 1, Term: 4})
	require.ErrorContains(t, err, "another leader has taken over")
	_, err = west.Read(context.Background(), host.ReadRequest{Number: 2})
	require.ErrorContains(t, err, "another incarnation")
	_, err = west.Nodes(context.Background(), host.NodeRequest{Number: 1, NICs: []weft.NICID{99}})
	require.ErrorContains(t, err, "not in this host")

	last, err := west.End(context.Background(), host.EndOrder{Why: "enough"})
	require.NoError(t, err)
	require.NotNil(t, last.Applied)
	why, err := west.Server.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, "enough", why)
}

// A host dies without a word, and is hosted anew: the flows of its NICs begin anew, those that
// others have to them go on, and its links come up in new epochs.
func TestAHostIsHostedAnew(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	// No neighbour is given up for being silent, as one on a busy machine may be: a host that is
	// hosted anew is known by its epochs.
	r := newRig(t, "kary-ntree:2,3", "deterministic-link", func(c *host.Spec) { c.Liveness.Multiplier = 240 })
	r.start("uniform:0.02")
	r.delivered(100)
	east := r.Hosts["east"]
	// Nothing is on its way: packets before links that go down are rerouted, and those behind them
	// may overtake them when the links are back.
	r.all(host.Order{Hold: new(true)})
	r.empty()
	// What west says has passed with each incarnation of east.
	through := func() map[ledger.Incarnation][2]uint64 {
		s, err := r.Hosts["west"].Counters(context.Background(), host.CountersRequest{Ends: true, Peers: []host.Peer{
			{Host: "east", Incarnation: link.Incarnation{Number: 2}},
			{Host: "east", Incarnation: link.Incarnation{Number: 7, First: 1 << 20}},
		}})
		require.NoError(t, err)
		all := map[ledger.Incarnation][2]uint64{}
		for _, f := range s.Flows {
			n := all[f.Peer]
			all[f.Peer] = [2]uint64{n[0] + f.Flow.Sent, n[1] + f.Flow.Received}
		}
		return all
	}
	first := through()
	require.Positive(t, first[2][0])
	require.Zero(t, first[7])
	require.NoError(t, east.Server.Close())
	_, err := east.Counters(context.Background(), host.CountersRequest{})
	require.ErrorIs(t, err, reply.ErrNobody)
	west, err := r.Hosts["west"].Counters(context.Background(), host.CountersRequest{})
	require.NoError(t, err)

	c := east.Spec
	c.Number, c.Again, c.Epoch, c.Now, c.Generation, c.Hold = 7, 1, 1<<20, west.Now, 4, true
	east = r.Open(c)
	east.Do(host.Order{SignalAll: true})
	r.up(0)
	before := r.countersWith(host.CountersRequest{Generations: true})
	require.Equal(t, before.Answer.Counters.NICs.Injected, before.Generations[0].Injected, "none of the new ones yet")
	r.traffic("uniform:0.02")
	r.all(host.Order{Hold: new(false)})
	r.delivered(100)
	r.traffic("none")
	rig.Until(t, func() bool { s := r.counters(); return s.Held+s.Queued+s.wires == 0 })
	one, err := east.Counters(context.Background(), host.CountersRequest{Generations: true})
	require.NoError(t, err)
	require.Positive(t, one.Answer.Counters.NICs.Delivered)
	now := through()
	require.Equal(t, first[2], now[2], "that of before")
	require.Positive(t, now[7][0])
	require.Positive(t, now[7][1])
	require.Zero(t, one.Answer.Counters.NICs.Missing+one.Answer.Counters.NICs.Reordered+
		one.Answer.Counters.NICs.Duplicated, "of flows that had begun when it came, too")
	require.Equal(t, one.Answer.Counters.NICs.Injected, one.Generations[4-one.FirstGeneration].Injected)
	seq := east.Do(host.Order{Send: []host.SendOrder{{
		Src: east.Spec.Placement.NICIDs()[0], Dst: 0, Bytes: 1,
		Traced: true,
	}}}).Sent[0].Seq
	require.Equal(t, uint64(1), seq>>40)
	rig.Until(t, func() bool {
		for _, o := range r.observations() {
			if len(o.Arrived) == 1 && o.Arrived[0].Seq == seq {
				return o.NIC && o.Node == 0
			}
		}
		return false
	}, "what arrives in one host was sent in the other, and is told")
}

func (r *testbed) observations() []host.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// What is asked about single nodes agrees with the sums, and large answers and requests come in
// pieces.
func TestReadingsAgreeWithCounters(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r := newRig(t, "kary-ntree:3,3", "adaptive-link", nil)
	r.start("uniform:0.05")
	r.delivered(100)
	s := r.quiescent()
	var read host.Counters
	for _, l := range r.Hosts {
		all, err := l.Read(context.Background(), host.ReadRequest{Number: l.Spec.Number})
		require.NoError(t, err)
		for _, sw := range all.Switches {
			ledger.Add(&read.Answer.Counters.Switches, &sw.Reading.Stats)
		}
		for _, n := range all.NICs {
			ledger.Add(&read.Answer.Counters.NICs, &n.Reading.Stats)
		}
		// Asked for ten times over it is more than one message takes.
		var ids []weft.SwitchID
		for range 60 {
			ids = append(ids, l.Spec.Placement.SwitchIDs()...)
		}
		var nodes host.Nodes
		var vcs host.Readings
		rig.Until(t, func() bool { // the last credits come home after the packets
			vcs, err = l.Read(context.Background(), host.ReadRequest{Number: l.Spec.Number, VCs: true})
			require.NoError(t, err)
			nodes, err = l.Nodes(context.Background(),
				host.NodeRequest{Number: l.Spec.Number, Switches: ids, NICs: l.Spec.Placement.NICIDs()})
			require.NoError(t, err)
			require.Len(t, nodes.Switches, len(ids))
			for i, v := range vcs.VCs {
				require.Equal(t, nodes.Switches[i].Switch, v.Switch)
				if !slices.Equal(sumVCs(&nodes.Switches[i]), v.VCs) {
					return false
				}
			}
			return true
		})
		require.Empty(t, vcs.Switches)
		require.Empty(t, vcs.NICs)
		require.Len(t, vcs.VCs, len(ids)/60)
		require.Len(t, nodes.Drivers, len(ids)+len(nodes.NICs))
		for i, id := range ids {
			require.Equal(t, id, nodes.Switches[i].Switch)
			require.Equal(t, nodes.Switches[i].Ports[0].Counters.Sent, nodes.Flows[i][0].Sent)
		}
		for i, sw := range all.Switches { // what compares ends does not travel with every look
			for port, p := range sw.Reading.Ports {
				f := nodes.Flows[i][port]
				require.Equal(t, link.Flow{State: f.State, Sent: f.Sent, Received: f.Received}, p.Flow)
			}
		}
	}
	require.Equal(t, s.Answer.Counters.Switches, read.Answer.Counters.Switches)
	require.Equal(t, s.Answer.Counters.NICs, read.Answer.Counters.NICs)
	h, err := host.DecodeLatency(r.latency())
	require.NoError(t, err)
	require.Positive(t, h.TotalCount())
}

func (r *testbed) latency() []byte {
	s, err := r.Hosts["west"].Counters(context.Background(), host.CountersRequest{Latency: true})
	require.NoError(r, err)
	return s.Latency
}

// New tables go to the host that has the switch, and to those that have NICs at it; a patch that
// cannot be followed leaves the others alone.
func TestHostsForwardByNewTables(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kary-ntree:2,2", "ftree", nil)
	r.start("none")
	west := r.Hosts["west"]
	ids := west.Spec.Placement.SwitchIDs()
	fw, _, err := subnet.Firmware(t.Context(), "ftree", r.Graph)
	require.NoError(t, err)
	program := *fw.Program
	whole := func(id weft.SwitchID, from, to uint64) *tables.Patch {
		p := tables.Diff(id, tables.Program{}, program, 0, to)
		p.From = from
		return p
	}
	a, err := west.Load(context.Background(), host.LoadOrder{Number: 1, Patches: []*tables.Patch{
		whole(ids[0], 0, 7), whole(ids[1], 99, 100), whole(1, 0, 7),
	}})
	require.NoError(t, err)
	require.Equal(t, host.LoadedVersion{Switch: ids[0], Version: 7}, a.Versions[0])
	require.Equal(t, uint64(tables.FirstVersion), a.Versions[1].Version)
	require.Contains(t, a.Versions[1].Err, "has tables of version 1")
	require.Contains(t, a.Versions[2].Err, "not in this host")
	s, err := west.Counters(context.Background(), host.CountersRequest{Applied: true})
	require.NoError(t, err)
	require.Equal(t, []uint64{7, tables.FirstVersion}, s.Applied.Versions[:2])
	r.connected()
}

// A host whose broker connections are lost takes its links down and gives them back by itself, and
// the ledger balances.
func TestAHostLosesItsBroker(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r := newRig(t, "kary-ntree:2,3", "adaptive-link", nil)
	r.start("uniform:0.05")
	r.delivered(50)
	east := r.Hosts["east"]
	before := epochs(east)
	east.Relay.Drop()
	rig.Until(t, func() bool { return epochs(east) > before }, "its links begin anew")
	r.up(0)
	r.delivered(50)
	r.quiescent()
	r.connected()
}

// epochs adds up the epochs of a host's crossing ends.
func epochs(l *Remote) (n uint64) {
	s, err := l.Counters(context.Background(), host.CountersRequest{Ends: true})
	if err != nil {
		return 0 // its connection for control is lost too
	}
	for _, e := range s.Flows {
		n += uint64(e.Flow.Mine)
	}
	return n
}

// Hosts end one after the other, with packets on their way everywhere.
func TestHostsThatEndUnderLoadAgree(t *testing.T) {
	testenv.Raced(t)
	r := newRig(t, "kary-ntree:4,2", "adaptive-link", nil)
	r.all(host.Order{SignalAll: true})
	r.up(0)
	r.traffic("uniform:1")
	r.delivered(1000)
	s := r.add(func(l *Remote) (host.Counters, error) {
		return l.End(context.Background(), host.EndOrder{Number: l.Spec.Number, Why: "the test"})
	})
	require.Positive(t, s.Held+s.Queued+s.wires, "the fabric is empty")
	require.Zero(t, s.balance(), "%+v", s.Counters)
}

// sumVCs adds up each virtual channel over all ports of a snapshot.
func sumVCs(s *switching.Snapshot) (sums []switching.VCSum) {
	for _, p := range s.Ports {
		for vc, c := range p.VCs {
			if vc == len(sums) {
				sums = append(sums, switching.VCSum{})
			}
			sum := &sums[vc]
			sum.Input, sum.Output, sum.Credits = sum.Input+c.Input, sum.Output+c.Output, sum.Credits+c.Credits
			for why, n := range c.Stalls {
				sum.Stalls[why] += n
			}
		}
	}
	return sums
}
