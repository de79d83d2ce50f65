package fabric_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestAReadingIsWhatTheFabricSaysWhenItIsQuiet(t *testing.T) {
	t.Parallel()
	lasting := firmware.AdaptiveLink{VectorTimeout: 3600 * weft.Second}.Firmware() // no register expires between two looks
	h := harness.New(t, "kary-ntree:2,3", saturating(8), harness.Firmware(lasting))
	s := h.Fabric().NewSampler()
	cut := h.Topology().Links[3]
	h.Eventually(func() error { // some are lost in a queue
		h.Apply(fault.Spec{Do: fault.VerbCut, A: cut.Name})
		h.Apply(fault.Spec{Do: fault.VerbRestore, A: cut.Name})
		if h.Fabric().Ledger().LostQueued == 0 {
			return errors.New("no packet was lost in a queue")
		}
		return nil
	})
	before := len(h.Faults())
	out := h.Apply(
		fault.Spec{Do: fault.VerbCut, A: cut.Name, Direction: fault.To, Silent: true},
		fault.Spec{Do: fault.VerbCrash, A: "s0.01"},
		fault.Spec{Do: fault.VerbImpair, A: h.Topology().Links[8].Name, Impair: &fault.Impair{Loss: new(fault.Percent(10))}},
	)
	s.Read()
	h.AwaitSeen(*out[0].Fault, 2)
	h.RequireLedger()
	r := s.Read()
	l := h.Fabric().Ledger()
	l.LostOn = nil
	require.Equal(t, l, r.Ledger)
	totals := h.Fabric().Totals()
	r.Totals.Latency, totals.Latency = fabric.Latency{}, fabric.Latency{} // up to a second old
	require.Equal(t, totals, r.Totals)
	for i, l := range h.Fabric().LinkStates() {
		require.Equal(t, fabric.LinkReading{
			State: l.State, Cut: [2]string{l.CutAB, l.CutBA}, Flapping: l.Flapping, Suffers: [2]string{l.SuffersAB, l.SuffersBA},
			Up: [2]bool{l.AUp, l.BUp}, Held: [2]bool{l.HeldA, l.HeldB}, Sent: [2]uint64{l.SentAB, l.SentBA},
			Lost: l.LostWire + l.LostQueued,
		}, r.Links[i], l.Link)
	}
	for i, w := range r.Switches {
		sn := h.Fabric().Switch(weft.SwitchID(i))
		require.Equal(t, fabric.SwitchReading{
			State: h.Fabric().SwitchState(weft.SwitchID(i)), Held: sn.Held, Blocked: len(sn.Blocked),
			Rerouted: sn.Stats.Rerouted, UTurns: sn.Stats.UTurns,
			Registers: fabric.RegisterText(sn.Registers),
		}, w)
	}
	reports := s.Faults(before + 1)
	require.Len(t, reports, 2)
	require.Equal(t, "s0.01", reports[0].Target)
	counts := h.Fabric().FaultCounts()
	require.Equal(t, 1, counts["crash"].Open)
	require.EqualValues(t, before+1, counts["cut"].Begun)
	lost := uint64(0)
	for _, c := range counts {
		lost += c.Lost
	}
	require.Equal(t, r.Ledger.Lost, lost)
}

func TestAReadingTellsHowManyPacketsItsLatencyIsOf(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2")
	s := h.Fabric().NewSampler()
	h.Send("n00", "n10")
	h.RequireLedger()
	r := s.Read()
	require.Equal(t, []uint64{1, 1}, []uint64{r.Timed, r.Totals.Delivered})
	h.Eventually(func() error { // far sooner than latencies are added up again
		h.Send("n00", "n10")
		h.RequireLedger()
		if r = s.Read(); r.Timed == r.Totals.Delivered {
			return errors.New("they were added up just now")
		}
		return nil
	})
	require.Less(t, r.Timed, r.Totals.Delivered)
}

func TestAReadingDoesNotWaitForARepair(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.Liveness(time.Second, 20))
	s := h.Fabric().NewSampler()
	h.Apply(
		fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"},
		fault.Spec{Do: fault.VerbImpair, A: "s0.0-s1.1", Impair: &fault.Impair{Delay: new(fault.Duration(time.Hour))}},
	)
	link := func(name string) fabric.LinkReading {
		l, err := h.Topology().LinkByName(name)
		require.NoError(t, err)
		return s.Read().Links[l.ID]
	}
	require.Equal(t, fabric.LinkCut, link("s0.0-s1.0").State)
	// which ends what it had, and it does not come back within the hour
	h.Apply(fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.1"})
	done := make(chan error, 1)
	go func() {
		_, err := h.Fabric().Apply(t.Context(),
			fault.Spec{Do: fault.VerbRestore, A: "s0.0-s1.1"}, fault.Spec{Do: fault.VerbCut, A: "s0.1-s1.0"})
		done <- err
	}()
	h.Eventually(func() error {
		if link("s0.1-s1.0").State != fabric.LinkCut || link("s0.0-s1.1").Cut[0] != "" {
			return errors.New("the order is not being carried out, or nothing is told of it")
		}
		return nil
	})
	require.Len(t, s.Faults(0), 4)
	id, err := h.Topology().SwitchByName("s0.1")
	require.NoError(t, err)
	require.Equal(t, fabric.SwitchUp, h.Fabric().SwitchState(id))
	h.Apply(fault.Spec{Do: fault.VerbCut, A: "s0.1-s1.1"}, fault.Spec{Do: fault.VerbCrash, A: "s0.1"})
	require.Equal(t, fabric.SwitchDown, h.Fabric().SwitchState(id))
	require.Contains(t, h.Fabric().CutLinks(), "s0.1-s1.1")
	select {
	case err := <-done:
		t.Fatalf("the restore does not wait any more: %v", err)
	default:
	}

	h.Apply(fault.Spec{Do: fault.VerbCrash, A: "s1.1"})
	require.NoError(t, <-done, "nobody waits for a link that another fault has taken")
}

func TestADeadlockIsSeenByWhoWatchesAndNoneWhereThereIsNone(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", saturating(4), harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}),
		harness.Buffers(1, 1))
	s := h.Fabric().NewSampler()
	h.Eventually(func() error {
		s.Read()
		if len(s.Deadlock()) != 4 {
			return errors.New("the cycle is not found")
		}
		return nil
	})
	seen := map[weft.LinkID]bool{}
	for _, c := range s.Deadlock() {
		l := h.Topology().Links[c.Link]
		require.True(t, l.BetweenSwitches())
		require.Equal(t, l.Name == "s0-s3", c.Dir == 1,
			"clockwise is from the lower number to the higher, but for the last: %s", l.Name)
		seen[c.Link] = true
	}
	require.Len(t, seen, 4)

	free := harness.New(t, "kary-ntree:2,3", saturating(1))
	s = free.Fabric().NewSampler()
	looks := 0 // at which packets were blocked
	free.Eventually(func() error {
		blocked := 0
		for _, w := range s.Read().Switches {
			blocked += w.Blocked
		}
		require.Empty(t, s.Deadlock())
		if looks += min(blocked, 1); looks < 20 {
			return fmt.Errorf("packets were blocked at %d looks of 20", looks)
		}
		return nil
	})
}

// BenchmarkReading is what one look of all viewers together costs.
func BenchmarkReading(b *testing.B) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:36,2", "irregular:1000,4000,1"} {
		b.Run(spec, func(b *testing.B) {
			h := harness.New(b, spec, harness.Firmware(firmware.None()), harness.NoLiveness())
			s := h.Fabric().NewSampler()
			s.Read()
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				s.Read()
			}
		})
	}
}
