package fabric_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Set by make soak and make calm.
var (
	soakTime = flag.Duration("weft.soak", 10*time.Second, "how long the soak runs")
	soakSeed = flag.Uint64("weft.soak-seed", 0, "seed of the soak's faults; 0 draws one")
	calmTime = flag.Duration("weft.calm", 5*time.Second, "how long a saturated fabric must not take a live neighbour for dead")
)

// soak draws faults and repairs. At most six are in force, so that packets find a way most of the time.
type soak struct {
	*fabric.Fabric
	rand  *rand.Rand
	force []fault.Spec // orders in force
}

const (
	soakMost  = 6
	soakDrain = 30 * time.Second // between two moments at which every packet must be accounted for
)

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
		spec.Flap = &fault.Flap{Period: fault.Duration(20*time.Millisecond) + some(400*time.Millisecond), Jitter: some(5 * time.Millisecond)}
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

// step orders one to three faults at one instant, repairs one, or everything.
func (s *soak) step(ctx context.Context) error {
	switch what := s.rand.IntN(20); {
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
	s.force = append(s.force, specs...)
	_, err := s.Apply(ctx, specs...)
	return err
}

// Random faults of every kind at moderate load: whenever the fabric is drained, every packet is accounted for, and neither
// memory nor goroutines grow.
func TestSoakAccountsForEveryPacketAndDoesNotGrow(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("run it again: go test ./fabricd/fabric -run Soak -weft.soak %v -weft.soak-seed %d", *soakTime, seed)
	g := topologytest.Parse(t, tree)
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "soak", NoListen: true})
	require.NoError(t, err)
	defer b.Shutdown()
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "soak", Broker: b})
	require.NoError(t, err)
	defer tr.Close()
	load := nic.Traffic{Pattern: "uniform", Load: 0.2}
	f, err := fabric.New(fabric.Options{
		// Not adaptive-link, which is proven free of deadlock for as many dead links as its paper claims, and here are more.
		Topology: g, Firmware: firmware.DeterministicLink{}, Transport: tr, Seed: seed,
		Traffic: load, NIC: fabric.NICOptions{QueueBytes: 16 << 10}, Switch: fabric.SwitchOptions{VCs: 2, Requeue: seed%2 == 0},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	defer f.Stop()

	s := &soak{Fabric: f, rand: rand.New(rand.NewPCG(seed, 1))}
	end := time.Now().Add(*soakTime)
	pause := time.NewTimer(0)
	defer pause.Stop()
	var base growth
	faults := 0
	for round := 1; time.Now().Before(end); round++ {
		require.NoError(t, f.SetTraffic(load))
		for until := time.Now().Add(min(soakDrain, *soakTime/3)); time.Now().Before(until); faults++ {
			require.NoError(t, s.step(t.Context()))
			pause.Reset(time.Duration(s.rand.Int64N(int64(200 * time.Millisecond))))
			<-pause.C
		}
		s.force = nil
		_, err := f.Heal(t.Context())
		require.NoError(t, err)
		require.NoError(t, f.StopTraffic())
		l, err := f.Quiesce(t.Context())
		require.NoError(t, err)
		require.True(t, l.Balanced && l.InFlight == 0, "%+v", l)
		require.NoError(t, f.CreditsHome())
		require.Empty(t, f.LinksDown())
		f.CloseReports()
		require.NoError(t, f.LossesReported(), "the reports account for every loss")
		now := measure()
		t.Logf("round %d: %d orders, %v, injected %d, lost %d, discarded %d", round, faults, now, l.Injected, l.Lost, l.Discarded)
		if base.goroutines == 0 {
			base = now
		}
		require.LessOrEqual(t, now.goroutines, base.goroutines+5, "goroutines")
		// Histograms, flow tables and 4096 reports fill up in the first minutes.
		require.Less(t, now.heap, base.heap+64<<20, "heap")
	}
	attack.Seen(t, "random faults of every kind under load", faults)
}

// growth is what must not grow.
type growth struct {
	goroutines int
	heap       uint64 // bytes in use after a collection
}

func (g growth) String() string {
	return fmt.Sprintf("%d goroutines, heap %.1f MB", g.goroutines, float64(g.heap)/(1<<20))
}

func measure() growth {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return growth{runtime.NumGoroutine(), m.HeapAlloc}
}

// At saturation on a machine that has other things to do, 50 ms x 3 must not take a live neighbour for dead.
func TestASaturatedFabricOnABusyMachineTakesNobodyForDead(t *testing.T) {
	g := topologytest.Parse(t, tree)
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "calm", NoListen: true})
	require.NoError(t, err)
	defer b.Shutdown()
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "calm", Broker: b})
	require.NoError(t, err)
	defer tr.Close()
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: firmware.AdaptiveLink{}, Transport: tr, Seed: 1,
		Traffic: nic.Traffic{Pattern: "uniform", Load: 1}, NIC: fabric.NICOptions{QueueBytes: 16 << 10},
		Link: fabric.LinkOptions{Rate: 4_000_000},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	defer f.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), *calmTime)
	defer cancel()
	busy(t, runtime.NumCPU()) // the other things
	<-ctx.Done()
	require.Positive(t, f.Totals().Refused, "it was saturated")
	for _, e := range f.Events().Kept(0) {
		require.NotEqual(t, fabric.EventLinkDown, e.Kind, "%+v", e)
	}
	t.Logf("%v, %d packet-hops", *calmTime, f.PacketHops())
	attack.Count(t, "a saturated fabric beside busy loops", 1)
}
