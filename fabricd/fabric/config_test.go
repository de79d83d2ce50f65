package fabric_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// spread is updown with every flow in a virtual channel of its own choice, so that all are used.
func spread(vcs int) switching.Firmware {
	fw := firmware.UpDown{}.Firmware()
	route := fw.Route
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := route(pkt, at, sw)
		for i := range d.Candidates {
			d.Candidates[i].VC = weft.VC(int(8*pkt.Src+pkt.Dst) % vcs)
		}
		return d
	}
	return fw
}

// used are the virtual channels in which switches have received packets.
func used(h *harness.Harness) map[int]bool {
	vcs := map[int]bool{}
	for _, s := range h.Topology().Switches {
		for _, p := range h.Fabric().Switch(s.ID).Ports {
			for vc, v := range p.VCs {
				if v.Epoch.Received > 0 {
					vcs[vc] = true
				}
			}
		}
	}
	return vcs
}

func TestTheLedgerBalancesInEveryConfigurationAtSaturation(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, o := range []settings.Switch{
		{VCs: 1, InputBuffer: 1, OutputBuffer: 1, Batch: 1},
		{VCs: 1, InputBuffer: 64, OutputBuffer: 1, Batch: 1024},
		{VCs: 2, InputBuffer: 1, OutputBuffer: 64, Batch: 3},
		{VCs: 5, InputBuffer: 2, OutputBuffer: 2, Selection: "random"},
		{VCs: 16, InputBuffer: 1, OutputBuffer: 1, Selection: "round-robin"},
		{VCs: 16, InputBuffer: 64, OutputBuffer: 64, EagerCredits: true},
		{VCs: 1, InputBuffer: 2, OutputBuffer: 2, Queueing: "fifo", Selection: "random"},
		{VCs: 3, InputBuffer: 8, OutputBuffer: 3, Queueing: "fifo", Selection: "round-robin", Batch: 2},
		{VCs: 2, InputBuffer: 3, OutputBuffer: 4, Queueing: "fifo", Selection: "most-credits", EagerCredits: true},
		{VCs: 2, InputBuffer: 2, OutputBuffer: 2, Waiting: "one"},
	} {
		for _, f := range []switching.Firmware{
			spread(o.VCs), linkFirmware["adaptive-link"],
			linkFirmware["deterministic-link"],
		} {
			if f.VCs > o.VCs {
				continue // it needs two
			}
			t.Run(fmt.Sprintf("%s %+v", f.Name, o), func(t *testing.T) {
				t.Parallel()
				h := harness.New(t, smallTree, saturating(8), harness.Switches(o), harness.Firmware(f))
				l := betweenSwitches(h.Topology())[5]
				saturated(h)
				h.Cut(ends(h, l))
				more(h, 50)
				restore(h, l)
				more(h, 200)
				h.RequireLedger()
				if f.Name == "updown" {
					assert.Len(t, used(h), o.VCs, "virtual channels in use")
				}
			})
		}
	}
}

func TestDeterministicLinkKeepsTheOrderOfEveryFlowWithoutFaults(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	packets := testenv.Levels(20_000, 2000, 2000)
	for _, pattern := range []string{"uniform:1", "pairwise:1"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, tree, saturating(64), harness.Firmware(firmware.DeterministicLink()), harness.Traffic(pattern))
			more(h, uint64(packets))
			l := h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
			totals := h.Fabric().Totals()
			assert.Equal(t, l.Injected, totals.Delivered)
			assert.Zero(t, totals.Reordered)
			assert.Zero(t, totals.Rerouted)
			assert.Zero(t, totals.Duplicated)
			assert.InDelta(t, 1, totals.Stretch, 1e-9)
		})
	}
}

func TestAPacedLinkSendsAtItsRate(t *testing.T) {
	t.Parallel()
	const perSecond, size = 200, 256 // slow, for a loaded machine wakes us late
	h := harness.New(t, "ring:3", harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}),
		harness.NICs(settings.NIC{PacketBytes: size}), harness.Buffers(16, 16),
		harness.Links(settings.Link{Rate: perSecond * size, Paced: true}))
	from, before := time.Now(), delivered(h)
	for range 2 * perSecond {
		h.Send("n0", "n1")
	}
	moreThan(h, before, perSecond)
	due := float64(delivered(h)-before) / perSecond // seconds, read before the clock: a busy machine makes it later only
	assert.Greater(t, time.Since(from).Seconds(), 0.8*due)
}

func TestADelayedLinkKeepsEachPacketForItsDelay(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	const delay, links = 50 * time.Millisecond, 3
	h := harness.New(t, "ring:3", harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}),
		harness.Links(settings.Link{Delay: settings.Duration(delay.String())}), harness.Buffers(100, 100))
	from := time.Now()
	h.RequireDelivered(h.Send("n0", "n1"))
	assert.Greater(t, time.Since(from), links*delay)
	// latencies are kept to 1 in 100
	assert.Greater(t, h.Fabric().Totals().Latency.P50, 0.98*float64((links*delay).Microseconds()))
	// Many share the delay, for it is no rate: one after the other they would take longer than the
	// patience of the harness.
	const many = uint64(2 * harness.DefaultPatience / delay)
	before := delivered(h)
	for range many {
		h.Send("n0", "n1")
	}
	moreThan(h, before, many)
	h.RequireLedger(harness.LostAtMost(0))
}

func TestOptionsThatNoFabricCanHaveAreRefused(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, smallTree)
	ok := fabric.Options{Topology: g, Firmware: firmware.UpDown{}.Firmware()}
	for want, change := range map[string]func(o *fabric.Options){
		"topology, firmware and transport are required": func(o *fabric.Options) {
			o.Firmware = switching.Firmware{}
		},
		"fabric: link.rate: expected 1 to 1e+15, found -1":       func(o *fabric.Options) { o.Link.Rate = -1 },
		"link.rate: expected 1 to 1e+15, found 1e+16":            func(o *fabric.Options) { o.Link.Rate = 1e16 },
		"link.rate: expected 1 to 1e+15, found NaN":              func(o *fabric.Options) { o.Link.Rate = math.NaN() },
		"link.delay: expected 0s to 24h0m0s, found -1ns":         func(o *fabric.Options) { o.Link.Delay = "-1ns" },
		"link.delay: expected 0s to 24h0m0s, found 25h0m0s":      func(o *fabric.Options) { o.Link.Delay = "25h" },
		"link.delay: 50 is not a duration":                       func(o *fabric.Options) { o.Link.Delay = "50" },
		"nic.notices: expected 0s to 24h0m0s, found 25h0m0s":     func(o *fabric.Options) { o.NIC.Notices = "25h" },
		"nic.queue_bytes: expected 1 to 1073741824, found 1073":  func(o *fabric.Options) { o.NIC.QueueBytes = 1<<30 + 1 },
		"nic.trace_every: expected 0 to 1000000000, found -1":    func(o *fabric.Options) { o.NIC.TraceEvery = -1 },
		"nic.packet_bytes: expected 1 to 1048576, found 1048577": func(o *fabric.Options) { o.NIC.PacketBytes = 1<<20 + 1 },
		"switch.vcs: expected 1 to 16, found 17":                 func(o *fabric.Options) { o.Switch.VCs = 17 },
		"switch.input_buffer: expected 1 to 4096, found 5000":    func(o *fabric.Options) { o.Switch.InputBuffer = 5000 },
		"switch.output_buffer: expected 1 to 4096, found -1":     func(o *fabric.Options) { o.Switch.OutputBuffer = -1 },
		`switch.queueing: unknown queueing "voq"`:                func(o *fabric.Options) { o.Switch.Queueing = "voq" },
		"liveness.multiplier: expected 1 to ":                    func(o *fabric.Options) { o.Liveness.Multiplier = -1 },
		"nic.queue_bytes: expected 1 to 1073741824, found -1":    func(o *fabric.Options) { o.NIC.QueueBytes = -1 },
		"adopted only if all nodes are on hosts":                 func(o *fabric.Options) { o.Adopt = new(fabric.State) },
		"the load is the share of the link capacity": func(o *fabric.Options) {
			o.Traffic = nic.Traffic{Pattern: "uniform", Load: 2}
		},
	} {
		m := wire.NewMemory()
		o := ok
		o.Transport = m
		change(&o)
		_, err := fabric.New(o)
		assert.ErrorContains(t, err, want)
		require.NoError(t, m.Close())
	}
	h := harness.New(t, smallTree)
	f := h.Fabric()
	_, _, err := f.Cut(1000)
	require.ErrorIs(t, err, fabric.ErrUnknown)
	_, err = f.Restore(t.Context(), 1000)
	require.ErrorIs(t, err, fabric.ErrUnknown)
	_, _, err = f.Crash(1000)
	require.ErrorIs(t, err, fabric.ErrUnknown)
	_, err = f.Restart(t.Context(), 1000)
	require.ErrorIs(t, err, fabric.ErrUnknown)
	_, err = f.Send(1000, 0, false)
	require.ErrorIs(t, err, fabric.ErrUnknown)
	_, err = f.Send(0, 1000, false)
	require.ErrorIs(t, err, nic.ErrNoSuchNIC)
}
