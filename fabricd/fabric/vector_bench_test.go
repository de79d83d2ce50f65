package fabric_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// vectorForms are the adaptive firmwares with each place that the re-route vector can have. No
// timer runs out meanwhile.
var vectorForms = []struct {
	name string
	fw   firmware.Firmware
}{
	{"adaptive-link", firmware.AdaptiveLink{VectorTimeout: weft.Second * 3600}.Firmware()},
	{"adaptive-link-digit", firmware.AdaptiveLink{
		Vector:        firmware.VectorPerDigit,
		VectorTimeout: weft.Second * 3600,
	}.Firmware()},
	{"misroute-vector", firmware.MisrouteVector{}.Firmware()},
	{"adaptive-switch", firmware.AdaptiveSwitch{VectorTimeout: weft.Second * 3600}.Firmware()},
	{
		"adaptive-switch-digit",
		firmware.AdaptiveSwitch{Vector: firmware.VectorPerDigit, VectorTimeout: weft.Second * 3600}.Firmware(),
	},
	{"adaptive-switch-header", firmware.AdaptiveSwitch{Vector: firmware.VectorInHeader}.Firmware()},
}

// The ways in which the second faults can lie to the first.
const (
	apart   = "apart"   // any links
	same    = "same"    // three of the links up from one switch, and again three of them
	sibling = "sibling" // three of the links up from one switch, and then from another of its switch group
)

// twoRounds draws k-1 links to be cut first, and k-1 to be cut when those are repaired.
func twoRounds(r *rand.Rand, g *topology.Graph, where string) (rounds [2][]verify.Element) {
	links, _ := elements(g)
	from := [2][]verify.Element{links, links}
	if where != apart {
		first, _ := above(r, g)
		from = [2][]verify.Element{first, first}
	}
	if where == sibling {
		link := g.Links[from[0][0].ID]
		from[1] = nil
		for _, l := range betweenSwitches(g) {
			if l.A.Node == link.A.Node && l.B.Node != link.B.Node {
				from[1] = up(g, l.B.Node)
			}
		}
	}
	for i := range rounds {
		for _, j := range r.Perm(len(from[i]))[:3] {
			rounds[i] = append(rounds[i], from[i][j])
		}
	}
	return rounds
}

// up are the links up from a switch.
func up(g *topology.Graph, below weft.Node) (links []verify.Element) {
	for _, l := range betweenSwitches(g) {
		if l.B.Node == below {
			links = append(links, verify.Element{ID: uint32(l.ID)})
		}
	}
	return links
}

// stale cuts k-1 links under load, repairs them and cuts k-1 others, all within the timeout of the
// vector. No packet lives through both, so that what is discarded was lost to what the vector
// remembered. Bits too many take candidates away as more dead links would: packets can then also
// wait for each other until the timer runs out, which is reported too.
func stale(tb testing.TB, fw firmware.Firmware, r *rand.Rand, where string) (l fabric.Ledger, deadlock bool) {
	tb.Helper()
	h := harness.New(tb, tree, harness.Firmware(fw), saturating(64), shortQueues)
	defer h.Fabric().Stop()
	load := h.Fabric().Traffic()
	for _, set := range twoRounds(r, h.Topology(), where) {
		require.NoError(tb, h.Fabric().SetTraffic(load))
		more(h, 300)
		h.Apply(orders(h.Topology(), set)...)
		before := delivered(h)
		if deadlocks(h, func() bool { return delivered(h) >= before+2000 }) {
			return h.Fabric().Ledger(), true
		}
		require.NoError(tb, h.Fabric().StopTraffic())
		if deadlocks(h, func() bool { l = h.Fabric().Ledger(); return l.Balanced && l.InFlight == 0 }) {
			return h.Fabric().Ledger(), true
		}
		h.Heal()
	}
	return l, false
}

// deadlocks waits until it is done, or until channels wait for each other and no packet has moved
// for long.
func deadlocks(h *harness.Harness, done func() bool) (yes bool) {
	const long = 200 // looks, a millisecond or more apart
	last, same := uint64(0), 0
	h.Eventually(func() error {
		if done() {
			return nil
		}
		if hops := h.Fabric().PacketHops(); hops != last {
			last, same = hops, 0
		}
		if same++; same > long && len(h.Fabric().Deadlock()) > 0 {
			yes = true
			return nil
		}
		return fmt.Errorf("%d packet-hops and counting", last)
	})
	return yes
}

// Packets discarded after k-1 faults, their repair and k-1 others before the vector's timeout, per
// form of the vector. b.N counts pairs of fault sets, each in a fabric of its own. Run with
// -benchtime=20x.
func BenchmarkStaleVectors(b *testing.B) {
	for _, form := range vectorForms {
		for _, where := range []string{apart, same, sibling} {
			b.Run("routing="+form.name+"/faults="+where, func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 5))
				var discarded, delivered, hit, stuck uint64
				for range b.N {
					l, deadlock := stale(b, form.fw, r, where)
					if deadlock {
						stuck++
					}
					discarded, delivered = discarded+l.Discarded, delivered+l.Delivered
					if l.Discarded > 0 {
						hit++
					}
				}
				b.ReportMetric(float64(discarded)/float64(discarded+delivered)*1e6, "discarded/M")
				b.ReportMetric(float64(hit)/float64(b.N)*100, "%discarding")
				b.ReportMetric(float64(stuck)/float64(b.N)*100, "%deadlocked")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// The vector in the header is never stale, whatever came and went; one in the switch is, and one
// per digit where the same way down was dead before.
func TestWhatAReRouteVectorRemembersCostsPacketsAfterARepair(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for i, form := range vectorForms {
		for where, costs := range map[string]bool{
			same:    form.name != "misroute-vector" && form.name != "adaptive-switch-header",
			sibling: form.name == "adaptive-link" || form.name == "adaptive-switch",
		} {
			if !testenv.Soak() && (i%2 == 0) != (where == sibling) {
				continue // each form has one of them
			}
			r := rand.New(rand.NewPCG(1, 5))
			most := 1
			if costs { // only if a packet meets the vector with no clear bit on a live port
				most = 50
			}
			cost := false
			for try := 0; try < most && !cost; try++ {
				l, deadlock := stale(t, form.fw, r, where)
				cost = l.Discarded > 0 || deadlock
			}
			require.Equal(t, costs, cost, "%s, %s", form.name, where)
		}
	}
}

// Packets that a saturated 4-ary 3-tree with k-1 dead links delivers, per NIC and packet time of a
// link (1 is the rate of the links), per form of the vector. Links are paced, far below what a core
// carries, so that the fabric is the limit and not the machine.
func BenchmarkVectorThroughput(b *testing.B) {
	for _, form := range vectorForms {
		for _, where := range []string{"none", "apart", "close"} {
			b.Run("routing="+form.name+"/faults="+where, func(b *testing.B) {
				const rate = 250 // packets per second and link
				h := harness.New(b, tree, harness.Firmware(form.fw), harness.Traffic("uniform:1"), shortQueues,
					harness.Links(settings.Link{Rate: rate * 256, Paced: true}))
				r := rand.New(rand.NewPCG(1, 6))
				if where != "none" {
					h.Apply(orders(h.Topology(), faultsOf(r, h.Topology(), verify.Links, 3, where == "close"))...)
				}
				saturated(h)
				more(h, 5000)
				before, began := delivered(h), time.Now()
				timer := time.NewTimer(testenv.For(b, 500*time.Millisecond, 10*time.Second))
				<-timer.C
				took := time.Since(began)
				b.ReportMetric(float64(delivered(h)-before)/took.Seconds()/rate/64, "of-link-rate")
				b.ReportMetric(float64(h.Fabric().Ledger().Discarded), "discarded")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
