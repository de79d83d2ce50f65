package remote_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// mover moves one switch of a rig between hosts, as a leader does, with a ledger of all.
type mover struct {
	*testbed
	id      weft.SwitchID
	home    *Remote                   // whose it is by the placement
	at      *Remote                   // who runs it
	lives   []link.Incarnation        // of the switch, by epochs
	numbers uint64                    // of hand-overs
	hosts   map[*Remote]ledger.HostID // all that there were
	runs    []*Remote                 // these that run
	ledger  *ledger.Ledger
	now     weft.Time
}

const lifetime = 1 << 20 // epochs between two lives of the switch

func newMover(r *testbed, id weft.SwitchID) *mover {
	links := make([]ledger.Link, len(r.Graph.Links))
	for i, l := range r.Graph.Links {
		links[i] = ledger.Link{A: l.A, B: l.B}
	}
	m := &mover{testbed: r, id: id, hosts: map[*Remote]ledger.HostID{}, ledger: ledger.New(links)}
	m.home = m.hostOf(id.Node())
	m.at, m.lives = m.home, []link.Incarnation{{Number: m.home.Spec.Number}}
	for _, l := range r.Hosts {
		m.add(l)
	}
	return m
}

// underTraffic is a mover of a switch that packets have passed.
func underTraffic(t *testing.T) *mover {
	t.Helper()
	r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
	id, err := r.Graph.SwitchByName("s1.0")
	require.NoError(t, err)
	m := newMover(r, id)
	r.start("uniform:0.05")
	m.delivered(200)
	return m
}

func (m *mover) step(ev ledger.Event) {
	m.now++
	for _, o := range m.ledger.Step(m.now, ev) {
		require.NotEqual(m, ledger.Refuse, o.Kind, o.Why)
	}
}

// add has the ledger know a host. One for the switch alone has it only once it is moved there.
func (m *mover) add(l *Remote) {
	m.hosts[l] = ledger.HostID(len(m.hosts) + 1)
	m.runs = append(m.runs, l)
	e := ledger.HostStarted{Host: m.hosts[l], Incarnation: ledger.Incarnation(l.Spec.Number)}
	if !l.Spec.Placement.Shared {
		for _, id := range l.Spec.Placement.SwitchIDs() {
			e.Nodes = append(e.Nodes, id.Node())
		}
		for _, id := range l.Spec.Placement.NICIDs() {
			e.Nodes = append(e.Nodes, id.Node())
		}
	}
	m.step(e)
}

// alone opens a host for the switch alone.
func (m *mover) alone() *Remote {
	home := m.home.Spec
	c := home
	c.Number = uint64(len(m.hosts) + 1)
	c.Host = fmt.Sprint(m.Graph.Name(m.id.Node()), "-on-", c.Number)
	c.Placement = host.Placement{
		Host: c.Host, Switches: host.Spans([]weft.SwitchID{m.id}),
		Shard: home.Placement.Shard, Shards: home.Placement.Shards, Shared: true,
	}
	c.Epoch = m.lives[len(m.lives)-1].First + lifetime
	l := m.Open(c)
	delete(m.Hosts, c.Host) // the testbed's own sums know nothing of moves
	m.add(l)
	return l
}

// balance has the ledger hear all hosts.
func (m *mover) balance() ledger.Balance {
	peers := []host.Peer{}
	for name, l := range m.Hosts {
		peers = append(peers, host.Peer{Host: name, Incarnation: link.Incarnation{Number: l.Spec.Number}})
	}
	later := link.Incarnation{First: m.lives[len(m.lives)-1].First + lifetime} // not known yet
	for _, k := range append(slices.Clone(m.lives), later) {
		peers = append(peers, host.Peer{Host: m.Graph.Name(m.id.Node()), Incarnation: k})
	}
	for _, l := range m.runs {
		asked := m.now
		s, err := l.Counters(context.Background(),
			host.CountersRequest{Number: l.Spec.Number, Ends: true, Peers: peers})
		require.NoError(m, err)
		a := s.Answer
		a.Host, a.Asked = m.hosts[l], asked
		m.step(&a)
	}
	return m.ledger.Balance()
}

// delivered waits until so many more packets have been.
func (m *mover) delivered(more uint64) {
	m.balance()
	from := m.ledger.Total().NICs.Delivered
	rig.Until(m, func() bool { m.balance(); return m.ledger.Total().NICs.Delivered >= from+more })
}

// hostOf is who runs a node.
func (m *mover) hostOf(n weft.Node) *Remote {
	if n == m.id.Node() && m.at != nil {
		return m.at
	}
	return m.testbed.hostOf(n)
}

func (m *mover) flow(e weft.End) link.Flow {
	l, r := m.hostOf(e.Node), host.NodeRequest{}
	if r.Number = l.Spec.Number; e.Node.IsSwitch() {
		r.Switches = []weft.SwitchID{weft.SwitchID(e.Node.Index)}
	} else {
		r.NICs = []weft.NICID{weft.NICID(e.Node.Index)}
	}
	a, err := l.Nodes(context.Background(), r)
	require.NoError(m, err)
	if e.Node.IsSwitch() {
		return a.Flows[0][e.Port]
	}
	return a.NICs[0].Flow
}

// await has the switch and its neighbours wait for each other, and returns when nothing is on the
// wires.
func (m *mover) await() {
	for _, l := range m.Graph.Links {
		if l.A.Node != m.id.Node() && l.B.Node != m.id.Node() {
			continue
		}
		for _, e := range []weft.End{l.A, l.B} {
			m.hostOf(e.Node).Do(host.Order{Await: []host.AwaitOrder{{
				End:  host.EndOf(e),
				Most: weft.FromDuration(rig.Patience),
			}}})
		}
		rig.Until(m, func() bool {
			a, b := m.flow(l.A), m.flow(l.B)
			there, _ := link.OnWire(a, b)
			back, _ := link.OnWire(b, a)
			return there+back == 0
		})
	}
}

// release ends the switch where it is.
func (m *mover) release(to *Remote) host.Released {
	m.numbers = uint64(m.lives[len(m.lives)-1].First) + lifetime
	a := m.at.Do(host.Order{Release: []host.ReleaseOrder{{Switch: m.id, Number: m.numbers, To: to.Spec.Number}}})
	require.Len(m, a.Released, 1)
	again := m.at.Do(host.Order{Release: []host.ReleaseOrder{
		{Switch: m.id, Number: m.numbers, To: to.Spec.Number}, {Switch: m.id},
	}})
	require.Equal(m, []host.Released{a.Released[0], a.Released[0]}, again.Released, "its answer may be lost")
	return a.Released[0]
}

// take begins it at another host, and returns when its links are up.
func (m *mover) take(to *Remote, out host.Released, lost bool) {
	from := m.at
	above := m.lives[len(m.lives)-1].First + lifetime
	m.lives = append(m.lives, link.Incarnation{Number: to.Spec.Number, First: above})
	m.step(ledger.NodeMoved{Node: m.id.Node(), To: m.hosts[to], HandOver: weft.Epoch(m.numbers)})
	m.at = to
	o := host.Order{
		Take:      []host.TakeOrder{{Switch: m.id, From: from.Spec.Number, Above: above, Released: out, Lost: lost}},
		SignalAll: true,
	}
	to.Do(o)
	to.Do(o) // it may come twice
	_, err := to.Order(context.Background(), host.Order{
		Number: to.Spec.Number, Release: []host.ReleaseOrder{{Switch: m.id, Number: uint64(above) - 1}},
	})
	require.ErrorContains(m, err, "a later order has moved the switch")
	for p := range weft.PortID(m.Graph.Switches[m.id].Ports) {
		e := weft.End{Node: m.id.Node(), Port: p}
		rig.Until(m, func() bool { return m.flow(e).State == link.Up })
	}
}

// burst puts packets for everybody into the send queues of all NICs, so that switches are full.
func (m *mover) burst() {
	for _, l := range m.Hosts {
		var o host.Order
		for _, src := range l.Spec.Placement.NICIDs() {
			for i := range 60 {
				if dst := weft.NICID(i % len(m.Graph.NICs)); dst != src {
					o.Send = append(o.Send, host.SendOrder{Src: src, Dst: dst, Bytes: 64})
				}
			}
		}
		l.Do(o)
	}
}

func (m *mover) move(to *Remote) (packets uint64) {
	m.burst()
	m.await()
	out := m.release(to)
	m.take(to, out, false)
	return out.Packets
}

// A switch goes from host to host and back under traffic, with all that it holds: nothing is lost,
// nothing comes twice or in another order, nobody finds a way gone, and the ledger of it adds up.
func TestASwitchMovesBetweenHostsUnderTraffic(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for _, name := range []string{"s0.0", "s1.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "s1.0" {
				testenv.Long(t)
			}
			r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
			id, err := r.Graph.SwitchByName(name)
			require.NoError(t, err)
			m := newMover(r, id)
			r.start("uniform:0.05")
			m.delivered(200)
			moved := uint64(0)
			for range 2 {
				one := m.alone()
				moved += m.move(one)
				m.delivered(200)
				other := m.alone()
				moved += m.move(other)
				m.delivered(200)
				moved += m.move(m.home)
				m.delivered(200)
			}
			r.traffic("none")
			var s ledger.Balance
			if !assert.Eventually(t, func() bool { s = m.balance(); return s.Balanced && s.InFlight == 0 }, rig.Patience,
				10*time.Millisecond) {
				t.Fatalf("%+v", s)
			}
			require.Zero(t, s.Lost, "%+v", s)
			require.Zero(t, s.Discarded, "%+v", s.DiscardedBy)
			for _, l := range m.runs { // what each says that came in has gone out, with what it handed over
				n, err := l.Counters(context.Background(), host.CountersRequest{Number: l.Spec.Number, Ends: true})
				require.NoError(t, err)
				require.Equal(t, n.Answer.Counters.NICs.Injected+n.Received, n.Counters.Ended()+n.Sent, n.Name)
			}
			c := m.ledger.Total()
			require.Zero(t, c.NICs.Missing+c.NICs.Reordered+c.NICs.Duplicated)
			require.Equal(t, c.NICs.Injected, c.NICs.Delivered)
			t.Logf("%d packets went along", moved)
		})
	}
}

// A host that dies with a switch on its way to it has lost what the switch held, and that is
// counted, packet by packet; the switch begins empty where it was.
func TestAHostDiesBeforeItTakesASwitch(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := underTraffic(t)
	one := m.alone()
	m.burst()
	m.await()
	out := m.release(one)
	m.step(ledger.NodeMoved{Node: m.id.Node(), To: m.hosts[one], HandOver: weft.Epoch(m.numbers)})
	require.NoError(t, one.Server.Close())
	m.runs = m.runs[:len(m.runs)-1]
	m.step(ledger.HostEnded{Host: m.hosts[one]})
	m.lives = append(m.lives, link.Incarnation{Number: one.Spec.Number, First: weft.Epoch(m.numbers)})
	m.numbers = 0 // nothing is on its way to the host that takes it now
	m.take(m.home, host.Released{}, true)
	m.delivered(200)
	m.traffic("none")
	var s ledger.Balance
	if !assert.Eventually(t, func() bool { s = m.balance(); return s.Balanced && s.InFlight == 0 }, rig.Patience,
		10*time.Millisecond) {
		t.Fatalf("%+v", s)
	}
	require.Equal(t, out.Packets, s.LostCrash, "%+v", s)
	require.Equal(t, out.Packets, s.Lost)
	require.Equal(t, out.Packets, s.WrittenOff)
}

// A host that was out of reach while another one was to run its switch has never released it. When
// it is told to run the switch again its neighbours hear nobody of before: the links come up anew,
// and of what the switch holds nothing counts as lost with a host.
func TestAHostTakesASwitchThatItNeverReleased(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := underTraffic(t)
	for _, l := range m.Graph.Links {
		far := map[weft.Node]weft.End{l.A.Node: l.B, l.B.Node: l.A}
		if e, ok := far[m.id.Node()]; ok {
			m.hostOf(e.Node).Do(host.Order{Refuse: []host.RefuseOrder{{End: host.EndOf(e), Upto: lifetime}}})
		}
	}
	m.burst()
	m.take(m.home, host.Released{}, true)
	m.delivered(200)
	m.traffic("none")
	var s ledger.Balance
	rig.Until(t, func() bool { s = m.balance(); return s.Balanced && s.InFlight == 0 }, "%+v", &s)
	require.Zero(t, s.LostCrash, "%+v", s)
}

// Whoever asks for a switch that a host does not have is refused, and so is a hand-over that does
// not fit: the switch begins empty then, and what was handed over is lost.
func TestAHandOverIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
	west := r.Hosts["west"]
	for want, o := range map[string]host.Order{
		"switch 1: not in this host": {Number: 1, Release: []host.ReleaseOrder{{Switch: 1}}},
		"switch 9: not in this host": {Number: 1, Take: []host.TakeOrder{{Switch: 9}}},
		"port 9 of switch":           {Number: 1, Await: []host.AwaitOrder{{End: host.End{Port: 9}}}},
	} {
		_, err := west.Order(context.Background(), o)
		require.ErrorContains(t, err, want)
	}
	id := west.Spec.Placement.SwitchIDs()[0]
	bad := host.Released{Number: 5, Packets: 1, State: switching.HandOver{Packets: []switching.HeldPacket{{In: 99}}}}
	west.Do(host.Order{Release: []host.ReleaseOrder{{Switch: id, Number: 4, To: 7}}})
	_, err := west.Order(context.Background(), host.Order{
		Number: 1,
		Take:   []host.TakeOrder{{Switch: id, From: 7, Above: 5, Released: bad}}, SignalAll: true,
	})
	require.ErrorContains(t, err, "unusable hand-over")
	s, err := west.Counters(context.Background(), host.CountersRequest{Number: 1, Ends: true, Applied: true})
	require.NoError(t, err)
	require.Empty(t, s.Applied.Away)
	handed := s.Flows[len(s.Flows)-1]
	require.Equal(t, weft.End{Node: id.Node(), Port: weft.NoPort}, handed.End)
	require.Equal(t, link.Flow{LastFrom: 4, LastTo: 4, Mine: 5, Peer: 5, Taken: 1}, handed.Flow)
	require.Zero(t, s.Held)
	r.all(host.Order{SignalAll: true})
	r.up(0)
}
