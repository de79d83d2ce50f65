package measure

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
)

func TestWhatCannotBeMeasuredIsNamed(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(c *Config){
		"topology: none is given":                                      func(c *Config) { c.Topology = nil },
		`unknown routing "dddrc": did you mean "ddrc"?`:                func(c *Config) { c.Routing = "dddrc" },
		`routing: firmware updn: unknown option "layer": did you mean`: func(c *Config) { c.Routing = "updn:layer=2" },
		"routing: firmware updn:root=s9: root=s9":                      func(c *Config) { c.Routing = "updn:root=s9" },
		"needs 2 virtual channels, there are 1":                        func(c *Config) { c.Switch.VCs = 1 },
		"switch.vcs: expected 1 to 16, found 17":                       func(c *Config) { c.Switch.VCs = 17 },
		"switch.input_buffer: expected 1 to 4096, found -1":            func(c *Config) { c.Switch.InputBuffer = -1 },
		"switch.output_buffer: expected 1 to 4096":                     func(c *Config) { c.Switch.OutputBuffer = 5000 },
		`switch.queueing: unknown queueing "fifi"`:                     func(c *Config) { c.Switch.Queueing = "fifi" },
		"nic: there are neither notices nor":                           func(c *Config) { c.NIC.Notices = "1s" },
		"neither notices nor traces":                                   func(c *Config) { c.NIC.TraceEvery = 1 },
		"nic.packet_bytes: expected 1 to":                              func(c *Config) { c.NIC.PacketBytes = -1 },
		"nic.queue_bytes: a send queue of 255 bytes cannot hold a packet of 256": func(c *Config) {
			c.NIC.QueueBytes = 255
		},
		"of 1000 bytes cannot hold a packet of 1500": func(c *Config) {
			c.NIC.QueueBytes, c.Traffic.Sizes = 1000, nic.Sizes{{Bytes: 64, Share: 0.5}, {Bytes: 1500, Share: 0.5}}
		},
		"of 899 bytes cannot hold a packet of 900": func(c *Config) {
			trace, err := nic.ReadTrace(strings.NewReader("time_us,src,dst,bytes\n0,0,1,64\n1,0,1,900\n2,0,1,3\n"))
			require.NoError(t, err)
			c.NIC.QueueBytes, c.Traffic = 899, nic.Traffic{Pattern: "trace", File: "x", Trace: trace}
		},
		"bytes_per_cycle must be":           func(c *Config) { c.BytesPerCycle = -5 },
		"cycle must be":                     func(c *Config) { c.Cycle = -1 },
		"wire delay must be":                func(c *Config) { c.WireDelay = -1 },
		"routing delay must be":             func(c *Config) { c.RoutingDelay = 2 * weft.Second },
		"crossbar delay must be":            func(c *Config) { c.CrossbarDelay = -1 },
		"window must be":                    func(c *Config) { c.Window = -1 },
		"most_cycles must be":               func(c *Config) { c.MostCycles = -1 },
		"most cycles: a hunt":               func(c *Config) { c.Hunt = true },
		"stop when safe: only a hunt":       func(c *Config) { c.StopWhenSafe = true },
		"warmup_batches must be 2 to 100":   func(c *Config) { c.Warmup.Batches = 1 },
		"warm-up tolerance is relative":     func(c *Config) { c.Warmup.Tolerance = math.NaN() },
		"register_expire must be":           func(c *Config) { c.RegisterExpire = -2 },
		"the load is the share":             func(c *Config) { c.Traffic.Load = 1.5 },
		"fault kind must be link or switch": func(c *Config) { c.FaultKind = "nic" },
		"has 16 of kind link that can die beside those named, so 17 is too many": func(c *Config) {
			c.FaultCount = 17
		},
		"has 8 of kind switch that can die beside those named, so 9 is too many": func(c *Config) {
			c.FaultCount, c.FaultKind = 9, SwitchFaults
		},
		"up to 1000000000 cycles of 1s each are": func(c *Config) { c.Cycle, c.MostCycles = weft.Second, maxCycles },
		"up to 900000000 cycles of 1s each are":  func(c *Config) { c.Cycle, c.ReconfigureAfter = weft.Second, 900_000_000 },
		"up to 800000000 cycles of 1s each are":  func(c *Config) { c.Cycle, c.RegisterExpire = weft.Second, 800_000_000 },
		"up to 3000003000 cycles of 2ms each are": func(c *Config) {
			c.Warmup.Most, c.Cycle, c.Faults = maxCycles, 2*weft.Millisecond, []Fault{{Link: "s0.00-s1.00", At: maxCycles}}
		},
		"fault 1: name either a link or a switch":       func(c *Config) { c.Faults = []Fault{{}} },
		`fault 1: unknown switch "s9.00": did you mean`: func(c *Config) { c.Faults = []Fault{{Switch: "s9.00"}} },
		"fault 2: at must be 0 to": func(c *Config) {
			c.Faults = []Fault{{Switch: "s0.00"}, {Switch: "s0.00", At: -1}}
		},
	} {
		c := config(t, "kary-ntree:2,3", "deterministic-link", 0.5)
		change(&c)
		_, err := Run(t.Context(), c)
		require.ErrorIs(t, err, ErrConfig, want)
		require.ErrorContains(t, err, want)
	}
	for _, routing := range []string{"deterministic-link", DDRC} {
		c := config(t, "mesh:3x3", routing, 0.5)
		require.ErrorContains(t, c.Validate(t.Context()), "trees only", routing)
		require.ErrorIs(t, c.Validate(t.Context()), ErrConfig)
	}
}
