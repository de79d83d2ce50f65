package leader_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// The hosts of the fabrics of these tests: the leader's own, and two others.
const (
	own ledger.HostID = iota + 1
	east
	west
	alone // of one switch, see leaderRig.alone
)

// leaderRig is a leader of kary-ntree:2,2 whose switches s1.0 and s1.1 are on hosts east and west,
// with their NICs.
type leaderRig struct {
	*leader.State
	g     *topology.Graph
	now   weft.Time
	moved weft.SwitchID
}

// alone adds a host of one switch alone.
func (l *leaderRig) alone(t *testing.T, name string) {
	t.Helper()
	var err error
	l.moved, err = l.g.SwitchByName(name)
	require.NoError(t, err)
	h := leader.Host{ID: alone, Name: name, Label: "process 7", Remote: true, Process: true, Switch: l.moved}
	for _, k := range l.g.Links {
		if k.A.Node == l.moved.Node() || k.B.Node == l.moved.Node() {
			h.Border = append(h.Border, k.ID)
		}
	}
	l.takes(0, leader.HostAdded{Host: h})
}

func lead(t *testing.T) *leaderRig {
	t.Helper()
	g, err := topology.Parse("kary-ntree:2,2")
	require.NoError(t, err)
	c := leader.Config{
		Graph: g, Seed: 1, PacketBytes: 256, Detection: 30 * weft.Millisecond, Bin: 10 * weft.Millisecond,
		Hosts: []leader.Host{
			{ID: own, Label: "this process"},
			{ID: east, Name: "east", Label: "host east", Remote: true},
			{ID: west, Name: "west", Label: "host west", Remote: true},
		},
		Switches: make([]ledger.HostID, len(g.Switches)), NICs: make([]ledger.HostID, len(g.NICs)),
	}
	for i := range c.Switches {
		c.Switches[i] = own
	}
	for i, name := range []string{"s1.0", "s1.1"} {
		id, err := g.SwitchByName(name)
		require.NoError(t, err)
		c.Switches[id] = east + ledger.HostID(i)
	}
	for i := range c.NICs {
		sw, _ := g.SwitchOf(weft.NICID(i))
		c.NICs[i] = c.Switches[sw]
	}
	home := func(n weft.Node) ledger.HostID {
		if n.IsSwitch() {
			return c.Switches[n.Index]
		}
		return c.NICs[n.Index]
	}
	var links []ledger.Link
	for _, l := range g.Links {
		links = append(links, ledger.Link{A: l.A, B: l.B})
		a, b := home(l.A.Node), home(l.B.Node)
		for i := range c.Hosts {
			h := &c.Hosts[i]
			switch {
			case a == h.ID && b == h.ID:
				h.Inside = append(h.Inside, l.ID)
			case a == h.ID || b == h.ID:
				h.Border = append(h.Border, l.ID)
			}
		}
	}
	return &leaderRig{State: leader.New(c, ledger.New(links)), g: g}
}

// takes steps the state and puts what it asks for into words.
func (l *leaderRig) takes(after weft.Time, ev leader.Event) []string {
	l.now += after
	if _, ok := ev.(leader.Tick); ok {
		ev = leader.Tick{Asked: l.now}
	}
	list := []string{}
	for _, e := range l.Step(l.now, ev) {
		list = append(list, l.words(e))
	}
	return list
}

func (l *leaderRig) end(e weft.End) string { return fmt.Sprintf("%s:%d", l.g.Name(e.Node), e.Port) }

func (l *leaderRig) directions(list []leader.Direction) string {
	words := make([]string, len(list))
	for i, d := range list {
		words[i] = l.g.Links[d.Link].Name + map[bool]string{false: ">", true: "<"}[d.Back]
	}
	return strings.Join(words, " ")
}

func (l *leaderRig) words(e leader.Effect) string {
	switch e := e.(type) {
	case leader.Cut:
		return "cut " + l.directions(e.Directions)
	case leader.Restore:
		return "restore " + l.directions(e.Directions)
	case leader.Orders:
		words := []string{"orders"}
		for i := range e.List {
			words = append(words, l.order(&e.List[i]))
		}
		return strings.Join(words, "; ")
	case leader.ResyncOrder:
		return "brief " + l.order(&e.Order)
	case leader.Publish:
		word := "publish " + e.Event.Kind + " " + e.Event.Link + e.Event.Switch + e.Event.Node
		if e.Event.Fault != nil {
			word += fmt.Sprintf(" #%d", e.Event.Fault.ID)
		}
		return word
	}
	return strings.TrimPrefix(fmt.Sprintf("%T%+v", e, e), "leader.")
}

func (l *leaderRig) order(o *leader.Order) string {
	words := []string{fmt.Sprintf("host %d:", o.Host)}
	for _, list := range []struct {
		word string
		dirs []leader.Direction
	}{{"cut", o.Cut}, {"restore", o.Restored}} {
		if len(list.dirs) > 0 {
			words = append(words, list.word, l.directions(list.dirs))
		}
	}
	for _, i := range o.Impair {
		words = append(words, "impair", l.end(i.End), i.Suffers.String())
	}
	for _, s := range o.Crash {
		words = append(words, "crash", l.g.Name(s.Node()))
	}
	for _, c := range o.Carrier {
		words = append(words, map[bool]string{true: "up", false: "down"}[c.Up], l.end(c.End))
	}
	for _, s := range o.Restart {
		words = append(words, "restart", l.g.Name(s.Node()))
	}
	if o.Generation != nil {
		words = append(words, fmt.Sprintf("generation %d", *o.Generation))
	}
	if o.Hold != nil {
		words = append(words, map[bool]string{true: "hold", false: "inject"}[*o.Hold])
	}
	if o.Traffic != nil {
		words = append(words, "traffic", o.Traffic.What.String())
	}
	return strings.Join(words, " ")
}

func (l *leaderRig) link(t *testing.T, name string) *topology.Link {
	t.Helper()
	k, err := l.g.LinkByName(name)
	require.NoError(t, err)
	return &l.g.Links[k.ID]
}

// comesUp gives all ends carrier, and has them see their links up.
func (l *leaderRig) comesUp() {
	var all []weft.LinkID
	for _, k := range l.g.Links {
		all = append(all, k.ID)
	}
	l.takes(0, leader.Sync{Links: all})
	for _, k := range l.g.Links {
		l.changes(k.A, true)
		l.changes(k.B, true)
	}
}

func (l *leaderRig) changes(e weft.End, up bool) []string {
	return l.takes(0, leader.PortChanged{End: e, Up: up, At: l.now, Why: weft.BySignal, Started: !up})
}

func cut(name string) fault.Spec { return fault.Spec{Do: fault.VerbCut, A: name} }

// The clock of a host may be behind. Then it dates the loss of carrier before the cut that is the
// cause. A silence before the cut has another cause.
func TestAnEndWhoseClockIsBehindHasFoundOut(t *testing.T) {
	t.Parallel()
	for why, found := range map[weft.Cause]int{weft.BySignal: 1, weft.BySilence: 0} {
		l := lead(t)
		l.comesUp()
		k := l.link(t, "s0.0-s1.0")
		l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{cut(k.Name)}})
		l.takes(0, leader.PortChanged{End: k.B, At: l.now - weft.Millisecond, Why: why, Started: true})
		l.takes(0, leader.Acted{Action: 1})
		report := l.Outcomes(1)[0].Fault
		require.Len(t, report.Detected, found)
		assert.Zero(t, report.SeenAfter)
		for _, d := range report.Detected {
			assert.Zero(t, d.AfterSeconds)
		}
	}
}

// A cut that follows another at once is not the cause of what the first one did.
func TestALossOfCarrierHasOneCause(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	k := l.link(t, "s0.0-s1.0")
	first, again := cut(k.Name), cut(k.Name)
	again.Silent = true
	l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{first}})
	l.changes(k.A, false)
	l.changes(k.B, false)
	l.takes(0, leader.Acted{Action: 1})
	require.Len(t, l.Outcomes(1)[0].Fault.Detected, 2)
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestore, A: k.Name}}})
	l.changes(k.A, true)
	l.changes(k.B, true)
	l.takes(weft.Millisecond, leader.Apply{Specs: []fault.Spec{again}})
	l.takes(0, leader.Acted{Action: 3})
	assert.Empty(t, l.Outcomes(3)[0].Fault.Detected)
}

// A cut from beginning to end, each step by what it asks for.
func TestACutStepByStep(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	k := l.link(t, "s0.0-s1.0")

	assert.Equal(t, []string{
		"Checkpoint{}",
		"cut s0.0-s1.0> s0.0-s1.0<", // before any end is told
		"orders; host 2: cut s0.0-s1.0> s0.0-s1.0< down s1.0:2; host 1: down s0.0:0",
		"Changed{}",
		"Begun{Action:1}",
	}, l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{cut(k.Name)}}))
	assert.Empty(t, l.changes(k.A, false))
	assert.Equal(t, []string{"Notice{}"}, l.changes(k.B, false), "the last of its ends has found out")
	assert.Equal(t, []string{
		"orders; host 1: generation 1; host 2: generation 1; host 3: generation 1",
		"publish cut s0.0-s1.0 #1",
	}, l.takes(weft.Millisecond, leader.Acted{Action: 1}))
	out := l.Outcomes(1)
	require.Len(t, out, 1)
	assert.Len(t, out[0].Fault.Detected, 2)
	assert.Equal(t, leader.LinkCut, l.LinkState(k.ID))
	l.takes(0, leader.Drop{Action: 1})

	assert.Equal(t, []string{
		"StopTimer{Fault:1}",
		"Checkpoint{}",
		"restore s0.0-s1.0> s0.0-s1.0<",
		"orders; host 2: restore s0.0-s1.0> s0.0-s1.0< up s1.0:2 up s1.0:2; host 1: up s0.0:0 up s0.0:0", // per direction
		"Changed{}",
		"Begun{Action:2}",
	}, l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestore, A: k.Name}}}))
	assert.Empty(t, l.takes(0, leader.Acted{Action: 2}), "repairs are published when they are seen")
	assert.Contains(t, l.Back(2), k.ID)
	assert.False(t, l.IsBack(k.ID))
	l.changes(k.A, true)
	l.changes(k.B, true)
	assert.True(t, l.IsBack(k.ID))
	assert.Equal(t, []string{
		"publish restore s0.0-s1.0", "orders; host 1: generation 2; host 2: generation 2; host 3: generation 2",
	}, l.takes(weft.Millisecond, leader.Finished{Action: 2}))
	assert.Empty(t, l.takes(ledger.Settle/2, leader.Tick{}))
	before := l.now
	assert.Empty(t, l.Step(before+ledger.Settle, leader.Tick{Asked: before}), "it was not due when hosts were asked")
	assert.Equal(t, []string{"publish report  #1", "Changed{}"}, l.takes(ledger.Settle, leader.Tick{}))
	assert.False(t, l.Reports(l.now, 0)[0].Open)
}

// What cannot be done is refused, and nothing of the rest is done.
func TestAllOrNone(t *testing.T) {
	t.Parallel()
	l := lead(t)
	list := l.Step(0, leader.Apply{Specs: []fault.Spec{cut("s0.0-s1.0"), cut("s0.0-s9.9")}})
	require.Len(t, list, 1)
	require.ErrorContains(t, list[0].(leader.Refused).Err, "s9.9")
	assert.Empty(t, l.Incidents)
	assert.False(t, l.IsCut(0, 0))
}

// A fault that lasts for a time ends by its timer, and whoever drives the state waits on its
// behalf.
func TestAFaultEndsByItsTimer(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	spec := cut("s0.0-s1.0")
	spec.For = fault.Duration(3 * time.Second)
	list := l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{spec}})
	assert.Contains(t, list, fmt.Sprintf("SetTimer{Fault:1 At:%v}", 4*weft.Second))
	list = l.takes(3*weft.Second, leader.TimerDue{Fault: 1})
	assert.Contains(t, list, "Attend{Action:2}")
	assert.Contains(t, list, "restore s0.0-s1.0> s0.0-s1.0<")
	assert.Empty(t, l.takes(0, leader.TimerDue{Fault: 1}), "it is over")
}

// Nobody waits for a repaired link that another fault has taken.
func TestARepairThatAnotherFaultTakesIsNotAwaited(t *testing.T) {
	t.Parallel()
	for _, by := range []fault.Spec{cut("s0.0-s1.0"), {Do: fault.VerbCrash, A: "s1.0"}} {
		l := lead(t)
		l.comesUp()
		k := l.link(t, "s0.0-s1.0")
		l.takes(0, leader.Apply{Specs: []fault.Spec{cut(k.Name)}})
		l.changes(k.A, false)
		l.changes(k.B, false)
		l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestore, A: k.Name}}})
		assert.False(t, l.IsBack(k.ID))
		l.takes(0, leader.Apply{Specs: []fault.Spec{by}})
		assert.True(t, l.IsBack(k.ID), by)
	}
}

// The loss of a host takes carrier from its neighbours; when it is back they get it again.
func TestAHostFailsAndComesBack(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	assert.Equal(t, []string{"publish host_suspect east #1"},
		l.takes(weft.Second, leader.HostSuspect{Host: east, Heard: l.now, What: "east does not answer"}))
	assert.Empty(t, l.takes(0, leader.HostSuspect{Host: east, What: "east does not answer"}), "it is known already")
	assert.Equal(t, []string{
		"orders; host 1: down s0.0:0 down s0.1:0; host 2: down s1.0:2 down s1.0:3", "Concerns{Incident:1}",
	}, l.takes(0, leader.HostFailed{Host: east, What: "east is gone"}))
	assert.Equal(t, leader.LinkDown, l.LinkState(l.link(t, "s0.0-s1.0").ID))
	assert.Equal(t, []string{"Changed{}", "publish host_failed east #1"},
		l.takes(0, leader.HostWrittenOff{Host: east, Incident: 1}))
	l.takes(0, leader.HostAnswers{Host: east})
	resync := l.Step(l.now, leader.Resync{Host: east, Applied: &leader.Applied{Cut: []leader.Direction{{Link: 0}}}})
	require.Len(t, resync, 1)
	order := resync[0].(leader.ResyncOrder).Order
	assert.Equal(t, []leader.Direction{{Link: 0}}, order.Restored, "what nobody has decided is undone")
	list := l.takes(0, leader.HostBack{Host: east})
	assert.Contains(t, list, "Concerns{Incident:1}")
	assert.Contains(t, list, "Begun{Action:1}")
}

// A connection that is back ends all that its losses have done: those of links that it does not
// carry any more too, and of none.
func TestAConnectionThatIsBackEndsItsLosses(t *testing.T) {
	t.Parallel()
	for name, losses := range map[string][][]weft.LinkID{
		"of links": {{0, 1}}, "of no link": {{}}, "twice": {{0, 1}, {1, 2}},
		"twice, and none of the links of before": {{0}, {2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lead(t)
			l.comesUp()
			l.takes(0, leader.BrokerLost{Shard: 1, Links: []weft.LinkID{0}})
			for _, links := range losses {
				l.takes(weft.Second, leader.BrokerLost{Shard: 0, Links: links})
				for _, id := range links {
					require.False(t, l.Alive(id))
				}
			}
			list := l.takes(weft.Second, leader.BrokerBack{Shard: 0})
			require.Equal(t, "Begun{Action:1}", list[len(list)-1])
			l.takes(0, leader.Finished{Action: 1})
			for i := range l.Links {
				assert.Equal(t, i != 0, l.Alive(weft.LinkID(i)), "link %d", i)
			}
			reports := l.Reports(l.now, 0)
			require.Len(t, reports, 1+len(losses))
			for _, r := range reports[1:] {
				assert.Positive(t, r.RestoredAt, r.What)
			}
			assert.Zero(t, reports[0].RestoredAt, "the other connection")
		})
	}
}

// Losses of which no end has told anything that explains them get a report of their own: when the
// broker is gone for a host and for the leader at once, nobody hears of its silences.
func TestLossesThatNobodyHasExplainedAreASilence(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	k := l.link(t, "s1.0-n00")
	l.Ledger.Step(l.now, ledger.HostStarted{Host: east, Incarnation: 1})
	l.Ledger.Step(l.now, &ledger.Answer{Host: east, Incarnation: 1, Seq: 1, Counted: ledger.Counted{
		Wire: []ledger.LinkLost{{Link: k.ID, Wire: [2]uint64{3, 1}}},
	}})
	require.EqualValues(t, 4, l.Ledger.Unattributed().Sum())
	assert.Empty(t, l.takes(weft.Second, leader.Tick{}), "what explains it may come yet")
	assert.Equal(t, []string{"publish silence s1.0-n00 #1"}, l.takes(weft.Second, leader.Tick{})[:1])
	assert.Zero(t, l.Ledger.Unattributed())
	assert.EqualValues(t, 4, l.Reports(l.now, 0)[0].Lost())
	l.takes(weft.Second, leader.Tick{})
	assert.Len(t, l.Reports(l.now, 0), 1)

	l.Ledger.Step(l.now, &ledger.Answer{Host: east, Incarnation: 1, Seq: 2, Counted: ledger.Counted{
		Wire: []ledger.LinkLost{{Link: k.ID, Wire: [2]uint64{3, 1}}, {Link: k.ID + 1, Wire: [2]uint64{5, 0}}},
	}})
	l.takes(0, leader.Close{})
	assert.Zero(t, l.Ledger.Unattributed(), "nothing comes any more")
}

// What a switch has lost inside becomes known when the report of its crash is closed: its host was
// not reached by then. It is on a report all the same.
func TestLossesInsideASwitchThatBecomeKnownLateAreReported(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	sw, err := l.g.SwitchByName("s1.0")
	require.NoError(t, err)
	l.Ledger.Step(l.now, ledger.HostStarted{Host: east, Incarnation: 1})
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCrash, A: "s1.0"}}})
	l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestart, A: "s1.0"}}})
	l.takes(0, leader.Finished{Action: 2})
	l.takes(2*weft.Second, leader.Tick{})
	l.takes(weft.Second, leader.Tick{})
	require.False(t, l.Reports(l.now, 0)[0].Open)

	l.Ledger.Step(l.now, &ledger.Answer{Host: east, Incarnation: 1, Seq: 1, Counted: ledger.Counted{
		Crash: []ledger.NodeLost{{Switch: sw, Packets: 4}},
	}})
	require.EqualValues(t, 4, l.Ledger.Unattributed().Sum())
	assert.Empty(t, l.takes(weft.Second, leader.Tick{}), "what explains it may come yet")
	assert.Equal(t, "publish silence s1.0 #2", l.takes(weft.Second, leader.Tick{})[0])
	assert.Zero(t, l.Ledger.Unattributed())
	assert.EqualValues(t, 4, l.Reports(l.now, 1)[0].Lost())
	l.takes(2*weft.Second, leader.Tick{})
	l.takes(2*weft.Second, leader.Tick{})
	assert.False(t, l.Reports(l.now, 1)[0].Open)
	assert.Len(t, l.Reports(l.now, 0), 2)
}

// A switch whose process is gone is repaired when that is written off, and not before: until then
// it would be nobody's.
func TestASwitchWhoseProcessIsBeingWrittenOffStaysDown(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	l.alone(t, "s0.0")
	sw := l.moved
	const process = alone
	l.takes(0, leader.MoveBegins{Move: leader.Move{Switch: sw, From: own, To: process}})
	l.takes(0, leader.MoveEnds{Switch: sw})
	l.takes(0, leader.HostFailed{Host: process, What: "it is gone"})
	repair := leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestart, A: "s0.0"}}}
	require.NotContains(t, l.takes(0, repair), fmt.Sprintf("TakeBack{Switch:%v}", sw))
	require.NotZero(t, l.Crashed[sw])
	l.takes(0, leader.HostAnswers{Host: process, Suspect: true})
	l.takes(0, leader.HostLeft{Host: process})
	require.Contains(t, l.takes(0, repair), fmt.Sprintf("TakeBack{Switch:%v}", sw))
	require.Zero(t, l.Crashed[sw])
}
