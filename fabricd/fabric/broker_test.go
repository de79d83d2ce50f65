package fabric_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

// registerText are the events of a kind so far.
func registerText(l *loadedFabric, kind string) (events []fabric.Event) {
	for _, e := range l.Events().Since(0) {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

func TestABrokerThatDiesTakesAllLinksDownAndGivesThemBack(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]natstest.Release{"newest": natstest.Newest, "debian": natstest.Debian} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "newest" {
				testenv.Long(t)
			}
			server := natstest.Start(t, release)
			l := startTaped(t, connect(t, server), firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(), nil)
			l.flows(300)
			cut := "s0.00-s1.00"
			l.apply(fault.Spec{Do: fault.VerbCut, A: cut})
			l.flows(100)

			server.Kill()
			links := len(l.Topology().Links)
			l.until("all links are down", func() bool { return len(l.LinksDown()) == links })
			l.until("it is told", func() bool { return len(registerText(l, fabric.EventBrokerLost)) > 0 })
			balance := l.Ledger()

			server.Start()
			l.until("the links are back", func() bool { return slices.Equal(l.LinksDown(), []string{cut}) })
			l.flows(300)
			require.NotEmpty(t, registerText(l, fabric.EventBrokerBack))
			_, err := l.Heal(t.Context())
			require.NoError(t, err)
			end := l.sound()
			reports := l.judge(end)
			assert.GreaterOrEqual(t, end.Lost, balance.Lost)
			var broker []fault.Report
			for _, r := range reports {
				if r.Kind == fabric.KindBroker {
					broker = append(broker, r)
					assert.Positive(t, r.RestoredAt)
					assert.NotEmpty(t, r.Detected)
					for _, d := range r.Detected {
						assert.Equal(t, fault.ByBroker, d.How)
					}
				}
			}
			assert.NotEmpty(t, broker)
			attack.Count(t, "the NATS server of a fabric killed under load, each release", 1)
		})
	}
}

// A broker that is stopped for a moment is a silence on all links at once, and no more.
func TestABrokerThatIsPausedIsFoundOutBySilence(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	server := natstest.Start(t, natstest.Newest)
	l := startTaped(t, connect(t, server), firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(), nil)
	l.flows(300)
	server.Pause()
	links := len(l.Topology().Links)
	l.until("all links are down", func() bool { return len(l.LinksDown()) == links })
	server.Resume()
	l.until("the links are back", func() bool { return len(l.LinksDown()) == 0 })
	l.flows(300)
	l.sound()
	for _, e := range registerText(l, fabric.EventLinkDown) {
		assert.Contains(t, []string{fault.BySilence, fault.ByNeighbour}, e.Detail)
	}
	attack.Count(t, "the NATS server of a fabric frozen under load", 1)
}

func TestABrokerThatTakesOnlySmallMessagesGetsSmallFrames(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, natstest.Newest, "max_payload: 512")
	l := startTaped(t, connect(t, server), firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(),
		func(o *fabric.Options) {
			o.Switch.InputBuffer, o.Switch.OutputBuffer = 32, 32
			o.Liveness = patientLiveness
			o.Link.Rate = 20_000_000
		})
	l.flows(uint64(testenv.N(5000, 500)))
	balance := l.sound()
	require.Zero(t, balance.Lost)
	require.Empty(t, registerText(l, fabric.EventTooLarge))
}
