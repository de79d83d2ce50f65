package leader_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
)

// at is a step of a table: an event so long after the one before, and what it asks for.
type at struct {
	after weft.Time
	takes leader.Event
	asks  []string
}

// What is ordered of all hosts that have NICs.
const (
	stopAll  = "orders; host 1: hold; host 2: hold; host 3: hold"
	startAll = "orders; host 1: inject; host 2: inject; host 3: inject"
)

func timer(at string) string { return "SetTimer{Fault:0 At:" + at + "}" }

// What is decided of a hold and of traffic, each step by what it asks for.
func TestWhatNICsDo(t *testing.T) {
	t.Parallel()
	const (
		ms         = weft.Millisecond
		noTimer    = "StopTimer{Fault:0}"
		soon       = "CheckpointSoon{}"
		checkpoint = "Checkpoint{}"
		held       = "publish held "
		resumed    = "publish resumed "
		gone       = ": whoever held them has asked for nothing in 30ms: tables are as they were left"
		goneOnce   = ": whoever held them under the leader before has asked for nothing since: tables are as they were left"
		asBefore   = ": as they were under the leader before"
		changes    = "publish traffic : uniform:0.5"
		load       = "orders; host 1: traffic uniform:0.5; host 2: traffic uniform:0.5; host 3: traffic uniform:0.5"
		all        = "generation 0 hold traffic uniform:0.5"
	)
	uniform := leader.Traffic{What: nic.Traffic{Pattern: "uniform", Load: 0.5}, Draws: []byte("draws")}
	for name, c := range map[string]struct {
		restored leader.Restored
		steps    []at
	}{
		"held until somebody says otherwise": {steps: []at{
			{ms, leader.Hold{For: weft.Never}, []string{noTimer, checkpoint, stopAll, held}},
			{ms, leader.Hold{For: weft.Never}, []string{noTimer, soon}}, // nobody counts holds
			{ms, leader.Hold{}, []string{noTimer, checkpoint, startAll, resumed}},
			{ms, leader.Hold{}, []string{noTimer, soon}},
		}},
		"whoever held them has gone": {steps: []at{
			{ms, leader.Hold{For: 30 * ms}, []string{timer("31ms"), checkpoint, stopAll, held}},
			{30 * ms, leader.TimerDue{At: 31 * ms}, []string{noTimer, checkpoint, startAll, resumed + gone}},
		}},
		"a hold that was made longer does not end when it would have": {steps: []at{
			{0, leader.Hold{For: 20 * ms}, []string{timer("20ms"), checkpoint, stopAll, held}},
			{20 * ms, leader.Hold{For: 30 * ms, Longer: true}, []string{timer("50ms"), soon}},
			{0, leader.TimerDue{At: 20 * ms}, []string{}}, // it was on its way
			{30 * ms, leader.TimerDue{At: 50 * ms}, []string{noTimer, checkpoint, startAll, resumed + gone}},
		}},
		"a second holder counts, whether it holds for longer, shorter or for good": {steps: []at{
			{0, leader.Hold{For: 50 * ms}, []string{timer("50ms"), checkpoint, stopAll, held}},
			{0, leader.Hold{For: 20 * ms}, []string{timer("20ms"), soon}},
			{0, leader.Hold{For: weft.Never}, []string{noTimer, soon}},
			{50 * ms, leader.TimerDue{At: 50 * ms}, []string{}},
			{0, leader.Hold{For: 30 * ms}, []string{timer("80ms"), soon}},
			{30 * ms, leader.TimerDue{At: 80 * ms}, []string{noTimer, checkpoint, startAll, resumed + gone}},
		}},
		"who has gone on does not end the next hold": {steps: []at{
			{0, leader.Hold{For: 20 * ms}, []string{timer("20ms"), checkpoint, stopAll, held}},
			{0, leader.Hold{}, []string{noTimer, checkpoint, startAll, resumed}},
			{0, leader.Hold{For: 30 * ms}, []string{timer("30ms"), checkpoint, stopAll, held}},
			{20 * ms, leader.TimerDue{At: 20 * ms}, []string{}},
		}},
		"nothing is made longer that is not held": {steps: []at{{0, leader.Hold{For: ms, Longer: true}, []string{}}}},
		"a hold goes on under the next leader as long as it would have lasted": {leader.Restored{HeldUntil: 40 * ms}, []at{
			{10 * ms, leader.Resume{}, []string{timer("40ms"), held + asBefore}},
			{30 * ms, leader.TimerDue{At: 40 * ms}, []string{noTimer, checkpoint, startAll, resumed + goneOnce}},
		}},
		"it is taken up by who holds under the next": {leader.Restored{HeldUntil: 40 * ms}, []at{
			{10 * ms, leader.Resume{}, []string{timer("40ms"), held + asBefore}},
			{10 * ms, leader.Hold{For: 30 * ms, Longer: true}, []string{timer("50ms"), soon}},
			{20 * ms, leader.TimerDue{At: 40 * ms}, []string{}},
			{10 * ms, leader.TimerDue{At: 50 * ms}, []string{noTimer, checkpoint, startAll, resumed + gone}},
		}},
		"a hold without end stays one": {leader.Restored{HeldUntil: weft.Never}, []at{
			{ms, leader.Resume{}, []string{noTimer, held + asBefore}},
			{ms, leader.Hold{}, []string{noTimer, checkpoint, startAll, resumed}},
		}},
		"nobody held them": {steps: []at{{ms, leader.Resume{}, []string{}}}},
		"traffic is set while NICs are held": {steps: []at{
			{0, leader.Hold{For: weft.Never}, []string{noTimer, checkpoint, stopAll, held}},
			{0, leader.SetTraffic{Traffic: uniform}, []string{changes, checkpoint, load}},
			{0, leader.SetTraffic{Traffic: uniform}, []string{checkpoint, load}}, // drawn anew, and no news
			{0, leader.Resync{Host: east}, []string{"brief host 2: " + all}},
			{0, leader.Hold{}, []string{noTimer, checkpoint, startAll, resumed}},
		}},
		"traffic goes on under the next leader": {leader.Restored{HeldUntil: weft.Never, Traffic: uniform}, []at{
			{
				0,
				leader.Resync{Host: east, Applied: &leader.Applied{Traffic: "uniform:0.5", Draws: []byte("others")}},
				[]string{"brief host 2: " + all},
			},
			{
				0,
				leader.Resync{Host: east, Applied: &leader.Applied{Traffic: "uniform:0.4", Draws: []byte("draws")}},
				[]string{"brief host 2: " + all},
			},
			{
				0,
				leader.Resync{Host: east, Applied: &leader.Applied{Traffic: "uniform:0.5", Draws: []byte("draws")}},
				[]string{"brief host 2: generation 0 hold"},
			},
			{0, leader.SetTraffic{Traffic: uniform}, []string{checkpoint, load}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lead(t)
			require.NoError(t, l.Restore(c.restored))
			for i, step := range c.steps {
				l.now += step.after
				asks := []string{}
				for _, e := range l.Step(l.now, step.takes) {
					asks = append(asks, l.words(e))
					if p, ok := e.(leader.Publish); ok && p.Event.Detail != "" {
						asks[len(asks)-1] += ": " + p.Event.Detail
					}
				}
				require.Equal(t, step.asks, asks, "step %d: %+v", i, step.takes)
			}
		})
	}
}

// The processes of a switch have no NICs: they are told of no traffic, and of no hold but when they
// are told all.
func TestSwitchProcessesAreToldOfNoTraffic(t *testing.T) {
	t.Parallel()
	l := lead(t)
	const process ledger.HostID = 9
	l.takes(0, leader.HostAdded{Host: leader.Host{ID: process, Name: "s0.0", Process: true}})
	require.Equal(t, stopAll, l.takes(0, leader.Hold{For: weft.Never})[2])
	got := l.takes(0, leader.SetTraffic{Traffic: leader.Traffic{What: nic.Traffic{Pattern: "uniform", Load: 0.5}}})
	require.NotContains(t, got[2], "host 9")
	assert.Equal(t, []string{"brief host 9: generation 0 hold"}, l.takes(0, leader.Resync{Host: process}))
}

// Sources that were made for one order are in no other: they go on from where they are.
func TestSourcesAreGivenOnce(t *testing.T) {
	t.Parallel()
	l := lead(t)
	what := leader.Traffic{What: nic.Traffic{Pattern: "uniform", Load: 0.5}, Sources: make([]nic.Source, 4)}
	var orders []leader.Order
	for _, e := range l.Step(0, leader.SetTraffic{Traffic: what}) {
		if o, ok := e.(leader.Orders); ok {
			orders = o.List
		}
	}
	require.Len(t, orders, 3)
	require.Equal(t, what, *orders[0].Traffic)
	require.Nil(t, l.Step(0, leader.Resync{Host: own})[0].(leader.ResyncOrder).Order.Traffic.Sources)
}
