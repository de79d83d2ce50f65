package fabric_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// soak draws faults and repairs, and failures of what the fabric runs on. At most six faults and
// three failures are in force, so that packets find a way most of the time.
type soak struct {
	*soakSite
	rand     *rand.Rand
	force    []fault.Spec // faults in force
	failures []failure    // in force
	deck     []failureKind
	orders   int
	dealt    int            // how many failures
	counts   map[string]int // of failures and faults by their kind, and of events
	seen     uint64         // the last event that was counted
}

const (
	soakMost     = 6
	failuresMost = 3
	failureSteps = 40 // after so many steps a failure has ended, or before
)

// failure is one in force.
type failure struct {
	what  string
	steps int // until it ends
	end   func()
}

// fail has a failure end after some steps. One of the same thing that is in force ends first.
func (s *soak) fail(what string, begin, end func()) {
	s.endFailure(what)
	begin()
	s.failures = append(s.failures, failure{what, 1 + s.rand.IntN(failureSteps), end})
}

func (s *soak) endFailure(what string) {
	s.failures = slices.DeleteFunc(s.failures, func(f failure) bool {
		if f.what == what {
			f.end()
		}
		return f.what == what
	})
}

// age ends the failures whose time has come, and the oldest of too many.
func (s *soak) age() {
	for i := range s.failures {
		s.failures[i].steps--
	}
	s.failures = slices.DeleteFunc(s.failures, func(f failure) bool {
		if f.steps <= 0 {
			f.end()
		}
		return f.steps <= 0
	})
	if len(s.failures) > failuresMost {
		s.endFailure(s.failures[0].what)
	}
}

func (s *soak) draw() fault.Spec {
	g := s.Topology()
	of := func(n int) int { return s.rand.IntN(n) }
	some := func(most time.Duration) fault.Duration { return fault.Duration(1 + s.rand.Int64N(int64(most))) }
	spec := fault.Spec{A: g.Links[of(len(g.Links))].Name, Direction: fault.Directions()[of(3)], Silent: of(2) == 0}
	if of(3) == 0 {
		spec.For = fault.Duration(20*time.Millisecond) + some(time.Second)
	}
	switch kind := of(10); {
	case kind < 4:
		spec.Do = fault.VerbCut
	case kind < 6:
		spec.Do = fault.VerbFlap
		period := fault.Duration(20*time.Millisecond) + some(400*time.Millisecond)
		spec.Flap = &fault.Flap{Period: period, Jitter: some(5 * time.Millisecond)}
	case kind < 9:
		spec.Do, spec.Silent = fault.VerbImpair, false
		loss, delay, rate := fault.Percent(of(30)), some(5*time.Millisecond), fault.Rate(64_000+of(500_000))
		jitter := delay / 2
		spec.Impair = &fault.Impair{Loss: &loss, Delay: &delay, Jitter: &jitter, Rate: &rate}
	default:
		spec = fault.Spec{Do: fault.VerbCrash, A: g.Switches[of(len(g.Switches))].Name, For: spec.For}
	}
	return spec
}

// step has one thing fail, or orders one to three faults at one instant, repairs one, or
// everything.
func (s *soak) step(ctx context.Context) error {
	s.age()
	s.orders++
	what := s.rand.IntN(40)
	switch {
	case what >= 20:
		s.failNext()
		return nil
	case what == 0 || len(s.force) >= soakMost && what < 5:
		s.force = nil
		_, err := s.Heal(ctx)
		return err
	case len(s.force) >= soakMost || what < 8 && len(s.force) > 0:
		last := len(s.force) - 1
		i := s.rand.IntN(last + 1)
		spec := fault.Spec{Do: fault.VerbRestore, A: s.force[i].A}
		s.force[i] = s.force[last]
		s.force = s.force[:last]
		_, err := s.Apply(ctx, spec)
		return err
	}
	var specs []fault.Spec
	for range 1 + s.rand.IntN(3) {
		specs = append(specs, s.draw())
	}
	for _, spec := range specs {
		s.counts[string(spec.Do)+" ordered"]++
	}
	s.force = append(s.force, specs...)
	_, err := s.Apply(ctx, specs...)
	return err
}

// failNext has the next of the deck fail, which is shuffled anew when each of it was drawn.
func (s *soak) failNext() {
	if len(s.deck) == 0 {
		s.deck = slices.Clone(s.kinds())
		s.rand.Shuffle(len(s.deck), func(i, j int) { s.deck[i], s.deck[j] = s.deck[j], s.deck[i] })
	}
	k := s.deck[0]
	s.deck = s.deck[1:]
	s.counts[k.name]++
	s.dealt++
	s.Logf("order %d: %s", s.orders, k.name)
	k.do(s)
}

// count counts what the leader has told of since it was called last.
func (s *soak) count() {
	for _, e := range s.Events().Since(s.seen) {
		s.seen = e.Seq
		s.counts["event "+e.Kind]++
	}
}

// Random faults of every kind, and failures of hosts, switch processes, brokers and leaders, at
// moderate load: whenever the fabric is drained, every packet is accounted for, and neither memory
// nor goroutines grow.
func TestSoakAccountsForEveryPacketAndDoesNotGrow(t *testing.T) {
	testenv.Nightly(t)
	seed, long := testenv.Seed(t, 1), testenv.For(t, 5*time.Second, time.Hour)
	orders := 0
	t.Run("the leader has nodes, and switches are processes",
		func(t *testing.T) { orders += soaked(t, seed, long/2, true) })
	t.Run("hosts have all nodes, and leaders are replaced",
		func(t *testing.T) { orders += soaked(t, seed, long/2, false) })
	attack.Seen(t, "random faults, and failures of hosts, processes, brokers and leaders, under load", orders)
}

// soaked is a soak of so long at least, and how many orders were given in it.
func soaked(t *testing.T, seed uint64, long time.Duration, own bool) int {
	load := nic.Traffic{Pattern: "uniform", Load: 0.2}
	s := &soak{soakSite: startSoak(t, seed, own, load), rand: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}}
	began := time.Now()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var base growth
	for round := 1; time.Since(began) < long; round++ {
		require.NoError(t, s.SetTraffic(load))
		for s.dealt < round*len(s.kinds()) { // and not for a time: the seed says all
			if err := s.step(t.Context()); err != nil { // whoever is to carry it out may not be there
				s.counts["orders of which something is missing"]++
			}
			s.count()
			pause.Reset(time.Duration(s.rand.Int64N(int64(200 * time.Millisecond))))
			<-pause.C
		}
		l := s.drained()
		now := measure()
		t.Logf("round %d: %d orders, %v, injected %d, lost %d, discarded %d",
			round, s.orders, now, l.Injected, l.Lost, l.Discarded)
		if base.goroutines == 0 {
			base = now
		}
		// Those of connections that were cut end a moment later.
		few := func() bool { return runtime.NumGoroutine() <= base.goroutines+5 }
		rig.Until(t, few, "few goroutines: %v, and at first %v\n%v", now, base, &goroutines{})
		// Histograms, flow tables and 4096 reports fill up in the first minutes.
		require.Less(t, now.heap, base.heap+64<<20, "heap")
	}
	for _, kind := range slices.Sorted(maps.Keys(s.counts)) {
		t.Logf("%6d %s", s.counts[kind], kind)
	}
	for _, k := range s.kinds() {
		require.GreaterOrEqual(t, s.counts[k.name], s.dealt/len(s.kinds()), k.name)
	}
	require.GreaterOrEqual(t, s.counts["event moved"], s.dealt/len(s.kinds())/4, "switches that have moved")
	s.end() // before the processes that the test ends are missed
	return s.orders
}

// drained ends all faults and failures, and requires that everything is there again and every
// packet is accounted for.
func (s *soak) drained() fabric.Ledger {
	t := s.T
	for len(s.failures) > 0 {
		s.endFailure(s.failures[0].what)
	}
	s.force = nil
	s.moving.Wait()
	s.well()
	require.NoError(t, s.StopTraffic())
	l, err := s.Quiesce(t.Context())
	if err != nil || !l.Balanced {
		t.Log(s.Accounts())
	}
	require.NoError(t, err)
	require.True(t, l.Balanced && l.InFlight == 0, "%+v", l)
	require.NoError(t, s.CreditsHome())
	s.well() // again: a move that nobody waited for may have ended just now
	s.CloseReports()
	require.NoError(t, s.LossesReported(), "the reports account for every loss")
	s.leave()
	s.count()
	return l
}

// well waits until all hosts and processes answer and all links are up.
func (s *soak) well() {
	var why reason
	rig.Until(s.T, func() bool { why.error = s.unwell(); return why.error == nil }, "all is well again: %v", &why)
}

// reason is an error that is read late.
type reason struct{ error }

// unwell is what keeps all from being well, after one more attempt to repair it; nil: nothing.
func (s *soak) unwell() error {
	if _, err := s.Heal(s.Context()); err != nil {
		return err
	}
	for _, h := range s.Hosts() {
		if h.State != fabric.SwitchUp {
			return fmt.Errorf("host %s is %s", h.Host, h.State)
		}
	}
	for _, p := range s.SwitchProcesses() {
		if !p.Answers {
			return fmt.Errorf("the process of %s does not answer", p.Switch)
		}
	}
	if down := s.LinksDown(); len(down) > 0 {
		return fmt.Errorf("links are down: %v", down)
	}
	return nil
}

// growth is what must not grow.
type growth struct {
	goroutines int
	heap       uint64 // bytes in use after a collection
}

func (g growth) String() string {
	return fmt.Sprintf("%d goroutines, heap %.1f MB", g.goroutines, float64(g.heap)/(1<<20))
}

// goroutines are those that run when it is read.
type goroutines struct{}

func (*goroutines) String() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}

func measure() growth {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return growth{runtime.NumGoroutine(), m.HeapAlloc}
}
