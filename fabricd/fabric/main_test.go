package fabric_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// No goroutine outlives Stop. The test binary is also a process that runs a host, or is a switch.
func TestMain(m *testing.M) {
	if err := subnet.Add(failing()); err != nil {
		panic(err)
	}
	rig.Be(hosttest.RunProcess)
	goleak.VerifyTestMain(m)
}

const (
	tree      = "kary-ntree:4,3" // 48 switches, 64 NICs, 128 links between switches
	three     = "kary-ntree:3,3" // 27 switches, 27 NICs, 54 links between switches
	smallTree = "kary-ntree:2,3" // 12 switches, 8 NICs, 16 links between switches
)

// linkFirmware are the firmwares that heal dead links. The re-route vector expires soon, so that
// tests of many faults in a row need not wait; it still exceeds the life of a packet.
var linkFirmware = map[string]switching.Firmware{
	"adaptive-link":      firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(),
	"deterministic-link": firmware.DeterministicLink(),
}

// loadedTree is what tests of many cuts load: the tree at soak, else one of half its links and
// NICs, with the same kinds of switches.
func loadedTree() (spec string, nics int) {
	if !testenv.Soak() {
		return three, 27
	}
	return tree, 64
}

// saturating is a load that no machine carries, however fast its links, for a topology of so many
// NICs. Short send queues soon show it as back-pressure. Much beyond what is carried, generating
// what is then refused would take all the time.
func saturating(nics int) harness.Option {
	packets := 1_000_000.0 // a second
	if testenv.Race {
		packets = 200_000
	}
	return harness.Options(
		harness.Links(settings.Link{Rate: packets / float64(nics) * nic.DefaultPacketBytes}),
		harness.Traffic("uniform:1"), shortQueues,
	)
}

// loaded is uniform traffic that a loaded machine carries too. Should it not, short send queues
// keep what must drain at the end short.
func loaded() harness.Option {
	if testenv.Race {
		return harness.Options(harness.Traffic("uniform:0.1"), roomForAll)
	}
	return harness.Options(harness.Traffic("uniform:0.3"), roomForAll)
}

// shortQueue is room for so many bytes in a send queue: what waits when traffic ends has to drain.
var shortQueue = map[bool]int{false: 16 << 10, true: 8 << 10}[testenv.Race]

var (
	shortQueues = harness.NICs(settings.NIC{QueueBytes: shortQueue})
	roomForAll  = harness.NICs(settings.NIC{QueueBytes: 16 << 10}) // for a packet to each of 64 NICs
)

// saturated waits until a packet has been refused for want of room in a send queue.
func saturated(h *harness.Harness) {
	h.Eventually(func() error {
		for _, n := range h.Topology().NICs {
			if h.Fabric().NIC(n.ID).Stats.Refused > 0 {
				return nil
			}
		}
		return fmt.Errorf("the fabric is not saturated")
	})
}

// more waits until n more packets have been delivered: the fabric carries traffic.
func more(h *harness.Harness, n uint64) { moreThan(h, delivered(h), n) }

// moreThan is more since so many had been.
func moreThan(h *harness.Harness, before, n uint64) {
	h.Eventually(func() error {
		if d := delivered(h) - before; d < n {
			return fmt.Errorf("%d of %d packets were delivered", d, n)
		}
		return nil
	})
}

func delivered(h *harness.Harness) (n uint64) {
	for _, id := range h.Topology().NICs {
		n += h.Fabric().NIC(id.ID).Stats.Delivered
	}
	return n
}

// rerouted waits until a packet has been sent another way since there were n.
func rerouted(h *harness.Harness, n uint64) {
	h.Eventually(func() error {
		if reroutes(h) == n {
			return fmt.Errorf("no packet is sent another way")
		}
		return nil
	})
}

func reroutes(h *harness.Harness) (n uint64) {
	for _, s := range h.Topology().Switches {
		n += h.Fabric().Switch(s.ID).Stats.Rerouted
	}
	return n
}

// fresh waits until every register is zero.
func fresh(h *harness.Harness) {
	h.Eventually(func() error {
		for _, s := range h.Topology().Switches {
			for _, r := range h.Fabric().Switch(s.ID).Registers {
				if r.Value != 0 {
					return fmt.Errorf("%s of %s is %b", r.Name, s.Name, r.Value)
				}
			}
		}
		return nil
	})
}

func betweenSwitches(g *topology.Graph) (links []topology.Link) {
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			links = append(links, l)
		}
	}
	return links
}

func ends(h *harness.Harness, l topology.Link) (a, b string) {
	return h.Topology().Name(l.A.Node), h.Topology().Name(l.B.Node)
}

// cut cuts a link under load and waits until packets go another way.
func cut(h *harness.Harness, l topology.Link) {
	before := reroutes(h)
	h.Cut(ends(h, l))
	rerouted(h, before)
}

func restore(h *harness.Harness, l topology.Link) { h.Restore(ends(h, l)) }

// allPairs sends a packet from every NIC to every other and requires that all arrive.
func allPairs(t *testing.T, h *harness.Harness) {
	t.Helper()
	before := h.Quiesce().Delivered
	nics := weft.NICID(len(h.Topology().NICs))
	for src := range nics {
		for dst := range nics {
			if src != dst {
				_, err := h.Fabric().Send(src, dst, false)
				require.NoError(t, err)
			}
		}
	}
	require.EqualValues(t, nics*(nics-1), h.RequireLedger().Delivered-before)
}
