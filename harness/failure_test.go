package harness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

const tree = "kary-ntree:2,3" // 12 switches, 8 NICs

// The paths and messages below are those of updown, the firmware whose decisions nothing but the
// topology determines.
func TestAFailurePrintsThePathOfThePacketAndTheCommandThatReplaysIt(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine/of (two)", func(t testing.TB) {
		h := harness.New(t, tree, harness.FirmwareByName("updown"), harness.Seed(7))
		h.Cut("s0.00", "s1.00")
		h.RequireDelivered(h.Send("n100", "n000"))
		t.Errorf("not reached")
	})
	require.True(t, failed)
	require.Equal(t, `packet was not delivered
packet n100 -> n000 #0: discarded at s0.00 by rule "2: the down link is dead"
  s2.10    in p0 vc0, out p2 vc0 to s1.10     1: up
  s1.10    in p0 vc0, out p2 vc0 to s0.00     1: up
  s0.00    in p1 vc0  2: the down link is dead
run it again: go test -run '^TestMine$/^of \(two\)$' -count=1 -weft.seed=7
`, text)
}

func TestAFailureOfTheLedgerPrintsWhatWasDroppedLast(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, tree, harness.FirmwareByName("updown"))
		h.Cut("s0.00", "s1.00")
		h.RequireDiscarded(h.Send("n100", "n000"), "")
		h.RequireLedger(harness.NoneDiscarded)
	})
	require.True(t, failed)
	assert.Contains(t, text, "the fabric discarded 1 packet: 1 by \"2: the down link is dead\"\n"+
		"the last one: packet n100 -> n000 #0: discarded at s0.00")
	assert.Contains(t, text, "  s1.10    in p0 vc0, out p2 vc0 to s0.00     1: up")
	assert.Contains(t, text, "-weft.seed=")
}

func TestAFailureNamesTheRuleThatDiscardedInsteadOfTheOneExpected(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, tree, harness.FirmwareByName("updown"))
		h.Cut("s2.00", "n000")
		h.RequireDiscarded(h.Send("n100", "n000"), "my rule")
	})
	require.True(t, failed)
	assert.Contains(t, text, `packet was not discarded by rule "my rule"`)
	assert.Contains(t, text, `discarded at s2.00 by rule "2: the down link is dead"`)
}

func TestAFailureSaysWhereAPacketIsBlockedAndForWhat(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, "ring:4", routed("waitsForPort1", waitsForPort1), harness.Patience(100*time.Millisecond))
		h.Cut("s0", "s1")
		h.RequireDelivered(h.Send("n0", "n1"))
	})
	require.True(t, failed)
	assert.Contains(t, text, "packet is still in flight after 100ms\npacket n0 -> n1 #0: in flight\n  s0       in p2 "+
		"vc0, waits for the link at p1 to s1, which is down\nrun it again")
}

func TestAPacketLostOnTheWireFailsAtOnceAndNotWhenPatienceEnds(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, "ring:4", routed("clockwise", clockwise), harness.Patience(time.Hour),
			harness.Links(settings.Link{Delay: "200ms"}))
		p := h.Send("n0", "n1")
		h.Eventually(func() error { // it has left n0
			if h.Fabric().NIC(0).Counters.Sent == 0 {
				return assert.AnError
			}
			return nil
		})
		h.Cut("s0", "n0")
		h.RequireDelivered(p)
	})
	require.True(t, failed)
	assert.Contains(t, text, "packet n0 -> n1 #0: lost on the wire")
}

func TestAFailureByOtherMeansIsToldHowToRunAgain(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		harness.New(t, tree, harness.Seed(9))
		t.Errorf("my own")
	})
	require.True(t, failed)
	require.Equal(t, "my own\nrun it again: go test -run '^TestMine$' -count=1 -weft.seed=9\n", text)
}

func TestATestThatHoldsPrintsNothing(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, tree)
		h.RequireDelivered(h.Send("n100", "n000"))
		h.RequireLedger()
	})
	require.False(t, failed)
	require.Empty(t, text)
}

func TestMistakesInATestAreNamedWithWhatMayHaveBeenMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body func(t testing.TB)
		want string
	}{
		{
			"firmware", func(t testing.TB) { harness.New(t, tree, harness.FirmwareByName("updwon")) },
			`harness: unknown routing "updwon": did you mean "updown"?`,
		},
		{"topology", func(t testing.TB) { harness.New(t, "kary-tree:4,3") }, `did you mean "kary-ntree"?`},
		{
			"traffic", func(t testing.TB) { harness.New(t, tree, harness.Traffic("uniform")) },
			`unusable traffic "uniform": expected a load`,
		},
		{
			"place", func(t testing.TB) { harness.New(t, "ring:4", harness.FirmwareByName("updown")) },
			"firmware updown routes trees only",
		},
		{
			"tables", func(t testing.TB) { harness.New(t, "ring:4", harness.FirmwareByName("deterministic-table")) },
			"harness: firmware deterministic-table: Algorithm 1 fills tables for trees only, and ring:4 is none",
		},
		{"channels", func(t testing.TB) {
			harness.New(t, tree, harness.FirmwareByName("deterministic-link"), harness.VCs(1))
		}, "needs 2 virtual channels, there are 1"},
		{
			"two at once", func(t testing.TB) { harness.New(t, "kary-tree:4,3", harness.FirmwareByName("x")) },
			"unknown routing \"x\"",
		},
		{
			"link", func(t testing.TB) { harness.New(t, tree).Cut("s0.00", "s1.0O") },
			`unknown switch or NIC "s1.0O": did you mean "s1.00"?`,
		},
		{
			"not linked", func(t testing.TB) { harness.New(t, tree).Cut("s0.00", "s2.00") },
			"s0.00 and s2.00 are not linked: s0.00 is linked to s1.00, s1.10",
		},
		{"NIC", func(t testing.TB) { harness.New(t, tree).Send("n000", "n002") }, `unknown NIC "n002": did you mean "n000"?`},
		{
			"switch", func(t testing.TB) { harness.New(t, tree).Crash("s3.00") },
			`unknown switch "s3.00": did you mean "s0.00"?`,
		},
		{"cut twice", func(t testing.TB) {
			h := harness.New(t, tree)
			h.Cut("s0.00", "s1.00")
			h.Cut("s1.00", "s0.00")
		}, "cut s1.00-s0.00: it is cut already"},
		{
			"restore nothing", func(t testing.TB) { harness.New(t, tree).Restore("s0.00", "s1.00") },
			"restore s0.00-s1.00: it is not cut, nor impaired",
		},
		{"crash twice", func(t testing.TB) {
			h := harness.New(t, tree)
			h.Crash("s0.00")
			h.Crash("s0.00")
		}, "crash s0.00: it has crashed already"},
		{
			"restart nothing", func(t testing.TB) { harness.New(t, tree).Restart("s0.00") },
			"restart s0.00: it has not crashed",
		},
		{"later traffic", func(t testing.TB) { harness.New(t, tree).SetTraffic("unifrom:0.2") }, `did you mean "uniform"?`},
		{
			"nothing stuck", func(t testing.TB) { harness.New(t, tree).QuiesceStuck() },
			"expected packets to be stuck, got <nil>",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, failed := failing(t, "TestMine", c.body)
			assert.True(t, failed)
			assert.Contains(t, text, c.want)
		})
	}
}
