package harness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// everyWay are a live fabric and one in virtual time.
var everyWay = map[string]harness.Option{"live": harness.Options(), "virtual": harness.Virtual()}

func TestRequirePathHoldsForTheSwitchesThatAFlowTook(t *testing.T) {
	t.Parallel()
	for name, way := range everyWay {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, tree, harness.FirmwareByName("updown"), way)
			for range 3 {
				h.Send("n000", "n011")
				h.Send("n100", "n000")
			}
			h.RequirePath("n000", "n011", "s2.00", "s1.01", "s2.01")
			h.RequirePath("n100", "n000", "s2.10", "s1.10", "s0.00", "s1.00", "s2.00")
			h.RequireInOrder("n000", "n011")
		})
	}
}

func TestRequirePathPrintsThePathExpectedAndTheOneTaken(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, tree, harness.FirmwareByName("updown"), harness.Seed(7), harness.Virtual())
		h.Send("n000", "n011")
		h.RequirePath("n000", "n011", "s2.00", "s1.00", "s2.01")
	})
	require.True(t, failed)
	require.Equal(t, `1 of 1 packets from n000 to n011 did not arrive by the path expected
  expected: s2.00 s1.00 s2.01
  actual:   s2.00 s1.01 s2.01
packet n000 -> n011 #0: delivered at n011
  s2.00    in p0 vc0, out p3 vc0 to s1.01     1: up
  s1.01    in p0 vc0, out p1 vc0 to s2.01     2: down
  s2.01    in p3 vc0, out p1 vc0 to n011      2: down
run it again: go test -run '^TestMine$' -count=1 -weft.seed=7
`, text)
}

func TestRequirePathFailsForPacketsThatDidNotArriveAndForNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body func(h *harness.Harness)
		want string
	}{
		{"discarded", func(h *harness.Harness) {
			h.Send("n100", "n000")
			h.RequirePath("n100", "n000", "s2.10", "s1.10", "s0.00", "s1.00", "s2.00")
			h.Cut("s0.00", "s1.00")
			h.Send("n100", "n000")
			h.RequirePath("n100", "n000", "s2.10", "s1.10", "s0.00")
		}, "2 of 2 packets from n100 to n000 did not arrive by the path expected"},
		{"discarded by the path", func(h *harness.Harness) {
			h.Cut("s0.00", "s1.00")
			h.Send("n100", "n000")
			h.RequirePath("n100", "n000", "s2.10", "s1.10", "s0.00")
		}, `discarded at s0.00 by rule "2: the down link is dead"`},
		{
			"none for a path", func(h *harness.Harness) { h.RequirePath("n100", "n000", "s2.10") },
			"no traced packet of the flow from n100 to n000 has ended",
		},
		{
			"none in order", func(h *harness.Harness) { h.RequireInOrder("n100", "n000") },
			"no traced packet of the flow from n100 to n000 has arrived",
		},
		{
			"unknown switch", func(h *harness.Harness) { h.RequirePath("n100", "n000", "s2.1O") },
			`unknown switch "s2.1O": did you mean "s2.10"?`,
		},
		{"unknown NIC", func(h *harness.Harness) { h.RequireInOrder("n100", "n002") }, `unknown NIC "n002"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, failed := failing(t, "TestMine", func(t testing.TB) {
				c.body(harness.New(t, tree, harness.FirmwareByName("updown"), harness.Virtual()))
			})
			require.True(t, failed)
			assert.Contains(t, text, c.want)
		})
	}
}

// around sends the first packet of every flow on the long way around a ring of four, back, and the
// others the short way, on.
func around(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	switch {
	case uint32(sw.Place().Switch) == uint32(pkt.Dst):
		return switching.To(sw, 2, 0, pkt.Fields, "deliver")
	case pkt.Seq == 0:
		return switching.To(sw, 0, 0, pkt.Fields, "back")
	}
	return switching.To(sw, 1, 0, pkt.Fields, "on")
}

func TestRequireInOrderNamesThePacketThatWasOvertaken(t *testing.T) {
	t.Parallel()
	for name, way := range everyWay {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, failed := failing(t, "TestMine", func(t testing.TB) {
				h := harness.New(t, "ring:4", routed("around", around), way)
				h.Impair("s3", "s0", fault.Impair{Delay: new(fault.Duration(100 * time.Millisecond))})
				h.Send("n0", "n1")
				h.RequireDelivered(h.Send("n0", "n1"))
				h.Send("n0", "n1")
				h.RequireInOrder("n0", "n1")
			})
			require.True(t, failed)
			assert.Regexp(t,
				`packet #0 of the flow from n0 to n1 arrived after #[12]\npacket n0 -> n1 #0: delivered at n1\n  s0 `, text)
			assert.Regexp(t, `\npacket n0 -> n1 #[12]: delivered at n1\n  s0 `, text)
		})
	}
}

func TestALoopIsPrintedOnce(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, "ring:4", routed("endless", endless), harness.Virtual(), harness.Patience(time.Hour))
		h.RequireDelivered(h.Send("n0", "n1"))
	})
	require.True(t, failed)
	assert.Contains(t, text, "packet n0 -> n1 #0: discarded at s0 by rule \"looping: too many hops\"")
	assert.Contains(t, text, "\n  s1       in p0 vc0, out p1 vc0 to s2        on\n")
	assert.Contains(t, text, "\n  the same 4 hops 8,190 times more\n")
	assert.Less(t, strings.Count(text, "\n"), 14, text)
}

// endless never delivers.
func endless(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	return switching.To(sw, 1, 0, pkt.Fields, "on")
}

// panics has a mistake in one switch.
type panics struct{ ports []weft.PortID }

func (f panics) Route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out := weft.PortID(1)
	switch {
	case uint32(sw.Place().Switch) == uint32(pkt.Dst):
		out = 2
	case sw.Place().Name == "s2":
		out = f.ports[pkt.Dst]
	}
	return switching.To(sw, out, 0, pkt.Fields, "on")
}

func TestAPanicInRouteFailsTheTestAndSaysWhereAndHowToRunItAgain(t *testing.T) {
	t.Parallel()
	for name, way := range everyWay {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, failed := failing(t, "TestMine", func(t testing.TB) {
				h := harness.New(t, "ring:4", routed("panics", panics{}.Route), harness.Seed(7), way)
				h.RequireDelivered(h.Send("n0", "n2"))
				h.RequireDelivered(h.Send("n0", "n3"))
			})
			require.True(t, failed)
			assert.Regexp(t, `^Route failed at switch s2, in p0 vc0 from peer, with packet n0 -> n3 #0: `+
				`runtime error: index out of range \[3\] with length 0\n  fields \{.*\}\n`+
				`  github.com/weft-fabric/weft/harness_test.panics.Route\n    .*flow_test.go:\d+\n`+
				`packet was not delivered\npacket n0 -> n3 #0: discarded at s2 by rule "the firmware panicked"\n`, text)
			assert.Equal(t, 1, strings.Count(text, "run it again: go test -run '^TestMine$' -count=1 -weft.seed=7\n"))
			assert.Equal(t, 1, strings.Count(text, "Route failed"))
		})
	}
}

func TestAPanicInRouteFailsATestThatHoldsOtherwise(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, "ring:4", routed("panics", panics{}.Route), harness.Seed(7), harness.Virtual())
		for range 5 {
			h.RequireDiscarded(h.Send("n0", "n3"), switching.RulePanicked)
		}
		h.RequireLedger()
	})
	require.True(t, failed)
	assert.Equal(t, 3, strings.Count(text, "Route failed at switch s2"))
	assert.Contains(t, text, "\nRoute failed for 2 packets more\n")
	assert.True(t, strings.HasSuffix(text, "\nrun it again: go test -run '^TestMine$' -count=1 -weft.seed=7\n"), text)
}

// The seed is the one of the fabric that failed, not of the whole.
func TestAPanicInRouteOfManySeedsNamesTheSeed(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		harness.One(t, 5, "ring:4", func(h *harness.Harness) { h.RequireDiscarded(h.Send("n0", "n3"), "") },
			routed("panics", panics{}.Route))
	})
	require.True(t, failed)
	assert.Contains(t, text, "Route failed at switch s2")
	assert.Contains(t, text, "-weft.seed=5\n")
}

func TestAPacketThatWaitsForADeadLinkSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"s0", "s1", "  s0       in p2 vc0, waits for the link at p1 to s1, which is down\n"},
		{"s0", "n0", "  n0       waits for the link to s0, which is down\n"},
	} {
		text, failed := failing(t, "TestMine", func(t testing.TB) {
			h := harness.New(t, "ring:4", routed("waitsForPort1", waitsForPort1), harness.Virtual(),
				harness.Patience(time.Second))
			h.Cut(c.a, c.b)
			h.RequireDelivered(h.Send("n0", "n1"))
		})
		require.True(t, failed)
		assert.Contains(t, text, fmt.Sprintf("packet is still in flight after 1s\npacket n0 -> n1 #0: in flight\n%s", c.want))
	}
}
