package harness_test

import (
	"fmt"
	"math"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/link"
)

// Live and virtual are the same pipeline. What follows must not depend on which of them it is, and
// is compared; what may is how long things take, see docs/explanation/virtual.md.

// both runs body live and in virtual time.
func both[T any](t *testing.T, spec string, body func(h *harness.Harness) T, options ...harness.Option) (live,
	virtual T,
) {
	t.Helper()
	live = body(harness.New(t, spec, options...))
	virtual = body(harness.New(t, spec, append(options, harness.Virtual())...))
	return live, virtual
}

// hop is a decision without its times.
type hop struct {
	Switch     weft.SwitchID
	In, Out    weft.PortID
	InVC, VC   weft.VC
	Rule       string
	Fields     weft.Fields
	Candidates int
}

// way is what a packet went through, and how it ended.
type way struct {
	Packet harness.Packet
	Hops   []hop
	End    weft.Account
	At     string
	Rule   string
}

func ways(h *harness.Harness) (list []way) {
	for _, p := range h.Paths() {
		w := way{Packet: p.Packet, End: p.End, At: p.At, Rule: p.Rule}
		for _, s := range p.Hops {
			w.Hops = append(w.Hops, hop{s.Switch, s.In, s.Out, s.InVC, s.OutVC, s.Rule, s.After, s.Alternatives})
		}
		list = append(list, w)
	}
	return list
}

// counts are the figures of a report that no clock has a say in.
type counts struct {
	What                                    string
	Detected                                map[string]string // how, by end
	Lost, Rerouted, Discarded, Reordered, N uint64
	ByRule                                  map[string]uint64
}

func costs(h *harness.Harness) (list []counts) {
	h.Fabric().CloseReports()
	for _, r := range h.Faults() {
		c := counts{
			What: r.What, Detected: map[string]string{}, Lost: r.Lost(), Rerouted: r.Rerouted, Discarded: r.Discarded,
			Reordered: r.Reordered, N: r.Extra.Packets, ByRule: r.DiscardedBy,
		}
		for _, d := range r.Detected {
			c.Detected[d.End] = d.How
		}
		list = append(list, c)
	}
	return list
}

// outcome is how a run ended.
type outcome struct {
	Ways   []way
	Ledger fabric.Ledger
	Costs  []counts
	Hops   uint64
}

// noSender is a NIC whose link is cut: what it sent would wait for that.
const noSender = "n010"

// creditsKnown reports whether every port of a switch that is up knows that its neighbour has all
// its room: selection looks at credits, and live they may still be on their way when a packet has
// arrived. They have all come only if they are eager.
func creditsKnown(h *harness.Harness) error {
	for _, s := range h.Topology().Switches {
		for p, port := range h.Fabric().Switch(s.ID).Ports {
			for _, v := range port.VCs {
				if port.State == link.Up && v.Credits < buffer {
					return fmt.Errorf("%s port %d: %d credits of %d", s.Name, p, v.Credits, buffer)
				}
			}
		}
	}
	return nil
}

// buffer is the room of a VC, in packets.
const buffer = 2

// oneByOne sends packets one at a time through a fabric that is cut to pieces and healed, so that
// the firmware alone says where each goes.
func oneByOne(h *harness.Harness) outcome {
	n := len(h.Topology().NICs)
	send := func(every int) {
		for src := 0; src < n; src += every {
			for dst := range n {
				if src == dst || h.Topology().NICs[src].Name == noSender {
					continue
				}
				p := h.Send(h.Topology().NICs[src].Name, h.Topology().NICs[dst].Name)
				h.Eventually(func() error {
					if h.Path(p).End == 0 {
						return assert.AnError
					}
					return creditsKnown(h)
				})
			}
		}
	}
	send(1)
	h.Cut("s1.00", "s2.00")
	send(2)
	h.Crash("s0.01")
	send(3)
	h.Apply(
		fault.Spec{Do: fault.VerbCut, A: "n010-s2.01"},
		fault.Spec{Do: fault.VerbCut, A: "s1.10", B: "s2.11"},
		fault.Spec{Do: fault.VerbRestart, A: "s0.01"},
	)
	send(2)
	h.Heal()
	send(1)
	return outcome{Ledger: h.RequireLedger(), Ways: ways(h), Costs: costs(h), Hops: h.Fabric().PacketHops()}
}

func TestLiveAndVirtualTakePacketsTheSameWays(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, fw := range []string{
		"misroute-vector", "deterministic-switch", "updown",
		"deterministic-link",
	}[:testenv.N(4, 1)] {
		t.Run(fw, func(t *testing.T) {
			t.Parallel()
			live, virtual := both(t, tree, oneByOne, harness.FirmwareByName(fw), harness.Seed(5), harness.NoLiveness(),
				harness.Switches(settings.Switch{EagerCredits: true, InputBuffer: buffer}))
			require.Len(t, virtual.Ways, int(virtual.Ledger.Injected))
			for i := range virtual.Ways {
				require.Equal(t, live.Ways[i], virtual.Ways[i])
			}
			assert.Equal(t, live.Ledger, virtual.Ledger, "discards by rule and losses by link too")
			assert.Equal(t, live.Costs, virtual.Costs)
			assert.Equal(t, live.Hops, virtual.Hops)
			require.Positive(t, virtual.Ledger.Discarded+virtual.Ledger.Delivered)
		})
	}
}

// Many packets at once meet in queues, live in any order; who arrives, and in which order within a
// flow, is fixed all the same.
func TestLiveAndVirtualDeliverTheSamePacketsInTheOrderOfTheirFlows(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	burst := func(h *harness.Harness) map[string][2]uint64 {
		h.Cut("s1.00", "s2.00")
		h.Cut("s2.01", "n010")
		for range 20 {
			for _, src := range h.Topology().NICs {
				for _, dst := range h.Topology().NICs {
					if src.ID != dst.ID && src.Name != noSender {
						h.Send(src.Name, dst.Name)
					}
				}
			}
		}
		l := h.RequireLedger()
		require.Zero(t, h.Fabric().Totals().Reordered)
		require.EqualValues(t, 20*7*7, l.Injected)
		got := map[string][2]uint64{}
		for _, p := range h.Paths() {
			k := h.Topology().NICs[p.Packet.Src].Name + " to " + h.Topology().NICs[p.Packet.Dst].Name + ", " + p.End.String() +
				" " + p.Rule
			c := got[k]
			got[k] = [2]uint64{c[0] + 1, c[1] + p.Packet.Seq}
		}
		return got
	}
	live, virtual := both(t, tree, burst, harness.FirmwareByName("deterministic-link"), harness.NoLiveness())
	require.Equal(t, live, virtual)
}

// Eight packets follow each other over links on which each takes 100 ms: from the first at the
// first switch to the last at the last, four links on, there are 11 times that. Live it is no less,
// and as much more as the machine is busy: a tenth more must come out once and not always.
func TestLiveLatencyOverPacedLinksIsWhatVirtualTimePredicts(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	span := func(h *harness.Harness) float64 {
		var sent []harness.Packet
		for range 8 {
			sent = append(sent, h.Send("n000", "n111"))
		}
		last := h.RequireDelivered(sent[len(sent)-1])
		first := h.Path(sent[0])
		require.Len(t, last.Hops, 5)
		return (last.Hops[4].At - first.Hops[0].At).Duration().Seconds() * 1000 // milliseconds
	}
	paced := harness.Options(harness.FirmwareByName("updown"), harness.Links(settings.Link{Rate: 5_120, Paced: true}),
		harness.NoLiveness())

	predicted := span(harness.New(t, tree, paced, harness.Virtual()))
	assert.InDelta(t, 550, predicted, 0.01)
	h := harness.New(t, tree, paced)
	h.Eventually(func() error {
		live := span(h)
		require.Greater(t, live, predicted-0.01)
		if live > 1.1*predicted {
			return fmt.Errorf("%.1f ms live, %.1f ms in virtual time", live, predicted)
		}
		t.Logf("%.1f ms live, %.1f ms in virtual time", live, predicted)
		return nil
	})
}

// A fifth of the packets is lost, give or take five standard deviations of so many draws, both live
// and in virtual time.
func TestLiveLossOverAnImpairedLinkIsWhatVirtualTimePredicts(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	const packets = 1600
	lost := func(h *harness.Harness) float64 {
		h.Impair("n000", "s2.00", fault.Impair{Loss: new(fault.Percent(20))}, harness.OneWay)
		for range packets {
			h.Send("n000", "n111")
		}
		l := h.RequireLedger()
		require.Equal(t, l.Lost, l.LostOn["s2.00-n000"].Wire)
		return float64(l.Lost)
	}
	live, virtual := both(t, tree, lost, harness.FirmwareByName("updown"), harness.Buffers(64, 2),
		harness.Links(settings.Link{Rate: 512_000, Paced: true}), // a packet in each frame, so that each has its own draw
		harness.Liveness(20*time.Millisecond, 255))
	const sigma = 16 // of 1600 draws of 0.2
	t.Logf("of %d packets live %v are lost, in virtual time %v", packets, live, virtual)
	assert.InDelta(t, packets/5, virtual, 5*sigma)
	assert.InDelta(t, packets/5, live, 5*sigma)
}

// What a paced fabric shows is what virtual time predicts, also where the machine has four times as
// much to do as it can: its clock goes slower then.
func TestALiveFabricShowsTheNetworkAndNotTheMachine(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	const packets = 5_000
	type figures struct{ p50, p90, mean, rate float64 }
	measure := func(h *harness.Harness) (f figures) {
		watch, at := h.Fabric().WatchTotals(), h.Fabric().Now()
		from, _ := watch.Read(at)
		h.Eventually(func() error {
			if n := h.Fabric().Totals().Delivered - from.Delivered; n < packets {
				return fmt.Errorf("%d delivered", n)
			}
			return nil
		})
		now := h.Fabric().Now()
		to, latency := watch.Read(now)
		f.p50, f.p90, f.mean = latency.P50, latency.P90, latency.Mean
		f.rate = float64(to.Delivered-from.Delivered) / (now - at).Duration().Seconds()
		require.Zero(t, to.Missing+to.Reordered, "by a deterministic routing")
		return f
	}
	near := func(got, want figures) bool {
		tenth := func(a, b float64) bool { return math.Abs(a-b) <= b/10 }
		return tenth(got.p50, want.p50) && tenth(got.p90, want.p90) && tenth(got.mean, want.mean) &&
			tenth(got.rate, want.rate)
	}
	options := harness.Options(harness.FirmwareByName("deterministic-link"), harness.Traffic("uniform:0.3"),
		harness.Links(settings.Link{Rate: 256_000, Paced: true}), harness.Patience(5*time.Minute))
	predicted := measure(harness.New(t, "kary-ntree:4,2", options, harness.Virtual()))
	h := harness.New(t, "kary-ntree:4,2", options)
	agrees := func(how string) {
		h.Eventually(func() error { // once is enough: what there was before the clock went slower is the machine's
			live := measure(h)
			if !near(live, predicted) {
				return fmt.Errorf("%s: %.0f live, %.0f in virtual time", how, live, predicted)
			}
			t.Logf("%s: %.0f live, %.0f in virtual time; %v", how, live, predicted, h.Fabric().Tempo().Factor)
			return nil
		})
	}
	agrees("as the machine is")
	for range 4 {
		loop := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		require.NoError(t, loop.Start())
		t.Cleanup(func() { _ = loop.Wait() }) // it is killed
	}
	agrees("four loops beside it")
	h.SetTraffic("none")
	require.Zero(t, h.RequireLedger().Lost)
}
