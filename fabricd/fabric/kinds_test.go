package fabric_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// tape is the packets' own record: every one of them is traced, and what became of it is written
// down where it happened.
type tape struct {
	graph *topology.Graph

	mu      sync.Mutex
	arrived uint64
	trips   []trip // of packets that were re-routed
	account map[weft.Account]uint64
	rules   map[string]uint64
	gone    []weft.Time // when packets were discarded
	turns   uint64      // decisions to go another way, of packets that ended here
	late    []weft.Time // arrivals after a later packet of their flow: adaptive routing has them without faults too
	next    map[[2]weft.NICID]uint64

	heldUp atomic.Int64 // the longest that the machine has kept this process from running, in nanoseconds
}

// trip is the arrival of a packet that was re-routed.
type trip struct {
	at    weft.Time
	extra int // hops beyond the shortest way
}

func newTape(g *topology.Graph) *tape {
	return &tape{
		graph: g, account: map[weft.Account]uint64{}, rules: map[string]uint64{},
		next: map[[2]weft.NICID]uint64{},
	}
}

func (t *tape) Record(now weft.Time, _ weft.Node, a *weft.Actions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range a.Drops {
		t.account[d.Account]++
		t.turns += uint64(d.Header.Reroutes)
		if d.Account == weft.Discarded {
			t.rules[d.Rule]++
			t.gone = append(t.gone, now)
		}
	}
	for _, h := range a.Arrived {
		t.arrived++
		t.turns += uint64(h.Reroutes)
		flow := [2]weft.NICID{h.Src, h.Dst}
		if h.Seq < t.next[flow] {
			t.late = append(t.late, now)
		}
		t.next[flow] = max(t.next[flow], h.Seq+1)
		if h.Reroutes > 0 {
			t.trips = append(t.trips, trip{now, int(h.Hops) - t.graph.Distance(h.Src, h.Dst)})
		}
	}
}

// watchMachine notes how long the machine keeps this process from running, until ctx ends.
func (t *tape) watchMachine(ctx context.Context) {
	const tick = 10 * time.Millisecond
	for began := time.Now(); ; began = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(tick):
			t.heldUp.Store(max(t.heldUp.Load(), int64(time.Since(began)-tick)))
		}
	}
}

// loadedFabric is one under load with its tape.
type loadedFabric struct {
	*fabric.Fabric
	*tape
	t *testing.T
}

func startTaped(t *testing.T, tr wire.Transport, fw switching.Firmware, change func(*fabric.Options)) *loadedFabric {
	t.Helper()
	g := topologytest.Parse(t, smallTree)
	tape := newTape(g)
	rate := 1_000_000.0
	if testenv.Race {
		rate = 128_000
	}
	o := fabric.Options{
		Topology: g, Firmware: fw, Transport: tr, Record: tape, Seed: 7,
		NIC:     settings.NIC{TraceEvery: 1, QueueBytes: 16 << 10},
		Traffic: nic.Traffic{Pattern: "uniform", Load: 0.3}, Link: settings.Link{Rate: rate},
	}
	if change != nil {
		change(&o)
	}
	f, err := fabric.New(o)
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(f.Stop)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tape.watchMachine(t.Context())
	}()
	t.Cleanup(func() { <-watched })
	return &loadedFabric{f, tape, t}
}

func (l *loadedFabric) apply(specs ...fault.Spec) []fabric.Outcome {
	l.t.Helper()
	out, err := l.Apply(l.t.Context(), specs...)
	require.NoError(l.t, err)
	return out
}

func (l *loadedFabric) until(what string, ok func() bool) {
	l.t.Helper()
	rig.Until(l.t, ok, what)
}

// flows waits until n more packets are delivered.
func (l *loadedFabric) flows(n uint64) {
	l.t.Helper()
	delivered := func() (sum uint64) { // Totals merges histograms, too slow to ask for again and again
		for _, nic := range l.Topology().NICs {
			sum += l.NIC(nic.ID).Stats.Delivered
		}
		return sum
	}
	before := delivered()
	l.until("packets are delivered", func() bool { return delivered() >= before+n })
}

// sound requires that the fabric is as it was before any fault, and that the ledger balances.
func (l *loadedFabric) sound() fabric.Ledger {
	l.t.Helper()
	require.NoError(l.t, l.StopTraffic())
	balance, err := l.Quiesce(l.t.Context())
	require.NoError(l.t, err)
	require.True(l.t, balance.Balanced, "%+v", balance)
	require.Empty(l.t, l.LinksDown())
	require.Empty(l.t, l.CrashedSwitches())
	require.NoError(l.t, l.CreditsHome())
	l.until("registers are zero", func() bool {
		for _, s := range l.Topology().Switches {
			for _, r := range l.Switch(s.ID).Registers {
				if r.Value != 0 {
					return false
				}
			}
		}
		return true
	})
	nics := weft.NICID(len(l.Topology().NICs))
	before := l.Totals()
	for src := range nics {
		for dst := range nics {
			if src != dst {
				_, err := l.Send(src, dst, true)
				require.NoError(l.t, err)
			}
		}
	}
	after, err := l.Quiesce(l.t.Context())
	require.NoError(l.t, err)
	require.EqualValues(l.t, uint64(nics)*uint64(nics-1), after.Delivered-balance.Delivered, "all pairs are connected")
	require.Equal(l.t, before.Rerouted, l.Totals().Rerouted, "by the direct ways")
	return after
}

// judge requires that the reports agree with the ledger and with the packets' own record.
func (l *loadedFabric) judge(balance fabric.Ledger) []fault.Report {
	l.t.Helper()
	l.CloseReports()
	reports := l.Faults()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Equal(l.t, balance.Delivered, l.arrived)
	require.Equal(l.t, balance.LostQueued, l.account[weft.LostQueued])
	require.Equal(l.t, balance.LostCrash, l.account[weft.LostCrash])
	require.Equal(l.t, balance.Discarded, l.account[weft.Discarded])
	require.Equal(l.t, balance.LostWire,
		balance.Injected-l.arrived-l.account[weft.LostQueued]-l.account[weft.LostCrash]-l.account[weft.Discarded])
	var wire, queued, crash uint64
	for _, r := range reports {
		require.False(l.t, r.Open, r.What)
		wire, queued, crash = wire+r.LostWire, queued+r.LostQueued, crash+r.LostCrash
	}
	require.Equal(l.t, []uint64{balance.LostWire, balance.LostQueued, balance.LostCrash},
		[]uint64{wire, queued, crash}, "what the reports say was lost: %+v", reports)
	if len(reports) == 1 && reports[0].CountedFrom-reports[0].At < 0.05 { // else it was noticed late
		r := reports[0]
		// What the report counts all over the fabric it counts from one moment to another, read
		// from node to node. To read all nodes takes a busy machine long.
		slack := (250*time.Millisecond + 10*time.Duration(l.heldUp.Load())).Seconds()
		among := func(times []weft.Time, slack float64) (n uint64) {
			for _, t := range times {
				if at := t.Duration().Seconds(); at >= r.CountedFrom-slack && at <= r.CountedTo+slack {
					n++
				}
			}
			return n
		}
		require.GreaterOrEqual(l.t, r.Discarded, among(l.gone, -slack))
		require.LessOrEqual(l.t, r.Discarded, among(l.gone, slack))
		if len(l.rules) > 0 && r.Discarded == l.account[weft.Discarded] {
			require.Equal(l.t, l.rules, r.DiscardedBy)
		}
		require.GreaterOrEqual(l.t, r.Reordered, among(l.late, -slack))
		require.LessOrEqual(l.t, r.Reordered, among(l.late, slack))
		require.Zero(l.t, r.Duplicated)
		var trips []weft.Time
		most, sum := 0, 0
		for _, t := range l.trips {
			trips = append(trips, t.at)
			most, sum = max(most, t.extra), sum+t.extra
		}
		require.GreaterOrEqual(l.t, r.Extra.Packets, among(trips, -slack))
		require.LessOrEqual(l.t, r.Extra.Packets, among(trips, slack))
		require.LessOrEqual(l.t, r.Extra.Most, most)
		if all := uint64(len(trips)); all > 0 && r.Extra.Packets == all {
			require.Equal(l.t, most, r.Extra.Most)
			require.InDelta(l.t, float64(sum)/float64(all), r.Extra.Mean, 1e-9)
			require.NotNil(l.t, r.FirstReroute)
			// A packet that was lost on the wire took the record of its turns along.
			require.GreaterOrEqual(l.t, r.Rerouted, l.turns)
			if balance.LostWire == 0 {
				require.Equal(l.t, l.turns, r.Rerouted)
			}
		}
		require.Empty(l.t, r.Shared)
		require.Positive(l.t, r.RestoredAt)
	}
	return reports
}

// kinds are all kinds of fault of a link, as orders.
func kinds(link string) map[string]fault.Spec {
	loss, delay, jitter := fault.Percent(20), fault.Duration(3*time.Millisecond), fault.Duration(time.Millisecond)
	rate := fault.Rate(100_000)
	specs := map[string]fault.Spec{
		"flap": {Do: fault.VerbFlap, A: link, Flap: &fault.Flap{Period: fault.Duration(60 * time.Millisecond)}},
		"silent flap": {
			Do: fault.VerbFlap, A: link, Silent: true,
			Flap: &fault.Flap{Period: fault.Duration(80 * time.Millisecond)},
		},
		"loss":         {Do: fault.VerbImpair, A: link, Impair: &fault.Impair{Loss: &loss}},
		"delay":        {Do: fault.VerbImpair, A: link, Impair: &fault.Impair{Delay: &delay, Jitter: &jitter}},
		"rate":         {Do: fault.VerbImpair, A: link, Impair: &fault.Impair{Rate: &rate}},
		"one way loss": {Do: fault.VerbImpair, A: link, Direction: fault.From, Impair: &fault.Impair{Loss: &loss}},
	}
	for _, d := range fault.Directions() {
		for _, silent := range []bool{false, true} {
			specs[fmt.Sprintf("cut %s silent=%v", d, silent)] = fault.Spec{
				Do: fault.VerbCut, A: link, Direction: d,
				Silent: silent,
			}
		}
	}
	return specs
}

// transports are those every kind of fault is shown over.
func transports(t *testing.T) map[string]func(t *testing.T) wire.Transport {
	t.Helper()
	return map[string]func(t *testing.T) wire.Transport{
		"memory": func(t *testing.T) wire.Transport {
			m := wire.NewMemory()
			t.Cleanup(func() { _ = m.Close() })
			return m
		},
		"embedded broker": func(t *testing.T) wire.Transport {
			return bustest.Links(t, bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})})
		},
		"outside broker": func(t *testing.T) wire.Transport { return connect(t, natstest.Start(t, natstest.Newest)) },
	}
}

// connect opens the links of a fabric at a server that is not ours.
func connect(t *testing.T, s *natstest.Server) wire.Transport {
	t.Helper()
	tr := bustest.Links(t, bus.NATSConfig{Fabric: "kinds", URL: s.URL})
	require.Equal(t, wire.EnforcedAtEnds, tr.Enforcement())
	return tr
}

// patientLiveness takes no neighbour for dead because the machine is busy.
var patientLiveness = settings.Liveness{Interval: "200ms", Multiplier: 5}

// ends are links with each kind of end: a NIC, a leaf, a middle and a top switch.
var linkKinds = map[string]string{"nic-leaf": "s2.00-n000", "leaf-middle": "s1.10-s2.10", "middle-top": "s0.01-s1.01"}

func TestEveryKindOfFaultOnEveryKindOfLinkIsReportedAsThePacketsSawItAndHealed(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	open := transports(t)
	for i, over := range slices.Sorted(maps.Keys(open)) {
		for j, where := range slices.Sorted(maps.Keys(linkKinds)) {
			link := linkKinds[where]
			specs := kinds(link)
			for k, kind := range slices.Sorted(maps.Keys(specs)) {
				if !testenv.Soak() && (i != k%3 || j != k/3%3) {
					continue // each kind is shown once, over another transport or on another link than the next
				}
				spec := specs[kind]
				t.Run(over+"/"+where+"/"+kind, func(t *testing.T) {
					t.Parallel()
					l := startTaped(t, open[over](t), firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(),
						func(o *fabric.Options) {
							// So long that a busy machine tells a neighbour what an end has noticed
							// before its own patience ends.
							o.Liveness = patientLiveness
						})
					l.flows(200)
					out := l.apply(spec)
					require.True(t, out[0].Changed)
					require.Equal(t, link, out[0].Target)
					if spec.Do == fault.VerbCut {
						l.until("both ends find out", func() bool { return len(l.Faults()[0].Detected) == 2 })
					}
					l.flows(400)
					_, err := l.Heal(t.Context())
					require.NoError(t, err)
					l.flows(200)
					r := l.judge(l.sound())[0]
					hows := []string{}
					for _, d := range r.Detected {
						hows = append(hows, d.How)
					}
					slices.Sort(hows)
					switch {
					case spec.Do != fault.VerbCut:
					case spec.Direction == fault.Both && spec.Silent:
						assert.Contains(t, hows, fault.BySilence)
						assert.NotContains(t, hows, fault.BySignal)
					case spec.Silent: // the end that hears nothing finds out, and tells the other
						assert.Equal(t, []string{fault.ByNeighbour, fault.BySilence}, hows)
					case spec.Direction == fault.Both:
						assert.Equal(t, []string{fault.BySignal, fault.BySignal}, hows)
					default:
						assert.Equal(t, []string{fault.ByNeighbour, fault.BySignal}, hows)
					}
				})
			}
		}
	}
}

func TestEveryKindOfSwitchCrashesAndComesBack(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	once := map[string]string{"memory": "top", "embedded broker": "middle", "outside broker": "leaf"}
	for over, open := range transports(t) {
		for kind, sw := range map[string]string{"top": "s0.00", "middle": "s1.10", "leaf": "s2.11"} {
			if !testenv.Soak() && once[over] != kind {
				continue
			}
			t.Run(over+"/"+kind, func(t *testing.T) {
				t.Parallel()
				l := startTaped(t, open(t), firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(),
					func(o *fabric.Options) { o.Liveness = patientLiveness })
				l.flows(200)
				l.apply(fault.Spec{Do: fault.VerbCrash, A: sw})
				l.flows(400)
				l.apply(fault.Spec{Do: fault.VerbRestart, A: sw})
				l.flows(200)
				r := l.judge(l.sound())[0]
				links := 4
				if kind == "top" {
					links = 2
				}
				require.Len(t, r.Detected, links)
			})
		}
	}
}
