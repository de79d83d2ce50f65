package ledger

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
)

// line is nic 0 - switch 0 - switch 1 - nic 1. Each node is on a host of its own: 1, 2, 3 and 4.
func line() *desk {
	s0, s1, n0, n1 := weft.SwitchID(0).Node(), weft.SwitchID(1).Node(), weft.NICID(0).Node(), weft.NICID(1).Node()
	links := []Link{
		{weft.End{Node: s0}, weft.End{Node: n0}},
		{weft.End{Node: s0, Port: 1}, weft.End{Node: s1}},
		{weft.End{Node: s1, Port: 1}, weft.End{Node: n1}},
	}
	d := &desk{Ledger: New(links), links: links, answers: map[HostID]*Answer{}}
	for i, n := range []weft.Node{n0, s0, s1, n1} {
		d.Step(d.now, HostStarted{HostID(i + 1), Incarnation(i + 1), []weft.Node{n}})
		d.answers[HostID(i+1)] = &Answer{Host: HostID(i + 1), Incarnation: Incarnation(i + 1)}
	}
	return d
}

// desk is a ledger with what hosts have told it.
type desk struct {
	*Ledger
	now     weft.Time
	links   []Link
	answers map[HostID]*Answer
}

// hears has a host answer. through are what its ends have sent and received, in the order of links.
func (d *desk) hears(h HostID, state link.State, injected, delivered uint64, through ...[2]uint64) []Order {
	d.now++
	a := *d.answers[h]
	a.Seq, a.Asked, a.Flows, a.Sent, a.Received = a.Seq+1, d.now, nil, 0, 0
	a.Counters.NICs.Injected, a.Counters.NICs.Delivered = injected, delivered
	a.Held = injected - delivered
	for _, k := range d.links {
		for side, e := range []weft.End{k.A, k.B} {
			if d.placed(e.Node) != h || len(through) == 0 {
				continue
			}
			f := Flow{End: e, Peer: d.answers[d.placed([]weft.End{k.B, k.A}[side].Node)].Incarnation, Flow: link.Flow{
				State: state, Mine: 1, Peer: 1, Sent: through[0][0], Received: through[0][1], Taken: through[0][1],
				LastFrom: 1, LastTo: 1, LastSent: through[0][0],
			}}
			if state == link.Down {
				f.Flow.Mine = 2
			}
			a.Flows, a.Sent, a.Received, through = append(a.Flows, f), a.Sent+f.Flow.Sent, a.Received+f.Flow.Received,
				through[1:]
		}
	}
	a.Held += a.Received - a.Sent
	if h == 1 || h == 4 {
		a.Held, a.Queued = 0, a.Held
	}
	d.answers[h] = &a
	return d.Step(d.now, &a)
}

func (d *desk) does(ev Event) []Order { d.now++; return d.Step(d.now, ev) }

// Ten packets went from one end to the other, over two switches that both fail with what they have
// passed on untold: all ten have come through, in whichever order the two fail.
func TestPacketsBetweenTwoHostsThatFailWereNotLost(t *testing.T) {
	t.Parallel()
	for _, order := range [][]HostID{{2, 3}, {3, 2}} {
		d := line()
		d.hears(2, link.Up, 0, 0, [2]uint64{0, 0}, [2]uint64{0, 0})
		d.hears(3, link.Up, 0, 0, [2]uint64{0, 0}, [2]uint64{0, 0})
		for _, h := range order {
			d.does(HostFailed{Host: h})
		}
		d.hears(1, link.Down, 10, 0, [2]uint64{10, 0})
		s := d.Balance()
		require.Equal(t, InFlight{Doubt: 10}, s.Waiting, "the other end has not been asked")
		require.True(t, s.Balanced)
		require.Equal(t, []HostID{2, 3}, s.Uncertain)
		d.hears(4, link.Down, 0, 10, [2]uint64{0, 10})
		s = d.Balance()
		require.True(t, s.Balanced)
		require.Zero(t, s.Lost+s.InFlight)
		require.Empty(t, s.Uncertain)
	}
}

// Two neighbours stand still with packets between them, fail, and answer one after the other: what
// was written off is put right at each answer, in either order.
func TestTwoStoppedNeighboursThatAnswerOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, order := range [][]HostID{{2, 3}, {3, 2}} {
		d := line()
		for _, h := range []HostID{2, 3} {
			d.does(HostSuspect{Host: h})
			d.does(HostFailed{Host: h})
		}
		d.hears(1, link.Down, 10, 0, [2]uint64{10, 0})
		d.hears(4, link.Down, 0, 3, [2]uint64{0, 3})
		s := d.Balance()
		require.Equal(t, []uint64{7, 7, 7}, []uint64{s.Lost, s.LostCrash, s.WrittenOff}, "seven of ten are with them")
		costs := uint64(0)
		for _, in := range d.Incidents(0) {
			costs += in.Lost.Crash
		}
		require.EqualValues(t, 7, costs)

		// Switch 0 holds two and has sent eight; switch 1 has received six of them, holds three and
		// has sent three.
		answers := map[HostID]func(){
			2: func() { d.hears(2, link.Down, 0, 0, [2]uint64{0, 10}, [2]uint64{8, 0}) },
			3: func() { d.hears(3, link.Down, 0, 0, [2]uint64{0, 6}, [2]uint64{3, 0}) },
		}
		for _, h := range order {
			answers[h]()
			s = d.Balance()
			require.True(t, s.Balanced, "%+v", s)
		}
		require.Equal(t, []uint64{2, 0, 5}, []uint64{s.LostWire, s.LostCrash, s.Waiting.Switches})
		require.Empty(t, s.Uncertain)
		for _, in := range d.Incidents(0) {
			require.Zero(t, in.Lost.Crash)
			require.NotEqual(t, weft.Never, in.Repaired)
		}
	}
}

// A switch process is stopped while packets go through it, and the fabric ends: what went through
// before it was stopped, and after it was last asked, is not counted twice.
func TestAFrozenSwitchProcessIsStoppedWhileTheFabricEnds(t *testing.T) {
	t.Parallel()
	d := line()
	d.hears(2, link.Up, 0, 0, [2]uint64{0, 5}, [2]uint64{3, 0}) // it holds two
	d.does(HostSuspect{Host: 2})
	d.hears(1, link.Init, 20, 0, [2]uint64{20, 0})
	d.hears(3, link.Init, 0, 0, [2]uint64{0, 17}, [2]uint64{17, 0})
	d.hears(4, link.Up, 0, 17, [2]uint64{0, 17})
	s := d.Balance()
	require.True(t, s.Balanced, "%+v", s)
	require.Equal(t, InFlight{Suspect: 3}, s.Waiting)
	orders := d.does(HostEnded{Host: 2})
	require.Equal(t, []Order{{Kind: Query, Host: 1}, {Kind: Query, Host: 3}}, orders)
	require.Equal(t, InFlight{Doubt: 3}, d.Balance().Waiting)
	d.hears(1, link.Down, 20, 0, [2]uint64{20, 0})
	d.hears(3, link.Down, 0, 0, [2]uint64{0, 18}, [2]uint64{18, 0})
	d.hears(4, link.Up, 0, 18, [2]uint64{0, 18})
	s = d.Balance()
	require.True(t, s.Balanced, "%+v", s)
	require.Equal(t, []uint64{2, 2, 0}, []uint64{s.Lost, s.WrittenOff, s.InFlight})
	require.Empty(t, s.Uncertain)
}

// A host that injected packets and failed before it told has injected them all the same.
func TestAHostThatFailsHasInjectedWhatLeftIt(t *testing.T) {
	t.Parallel()
	d := line()
	d.does(HostFailed{Host: 1})
	d.hears(2, link.Down, 0, 0, [2]uint64{0, 4}, [2]uint64{4, 0})
	d.hears(3, link.Up, 0, 0, [2]uint64{0, 4}, [2]uint64{4, 0})
	d.hears(4, link.Up, 0, 4, [2]uint64{0, 4})
	s := d.Balance()
	require.True(t, s.Balanced)
	require.Equal(t, []uint64{4, 4, 0}, []uint64{s.Injected, s.Unheard, s.Lost})
}

// What a link loses is on the latest incident there, and what was lost before on the one before.
func TestALossIsOnTheLatestIncidentOfItsLink(t *testing.T) {
	t.Parallel()
	d := line()
	lose := func(n uint64) {
		a := *d.answers[2]
		a.Seq, a.Queue = a.Seq+1, []EndLost{{weft.End{Port: 1, Node: weft.SwitchID(0).Node()}, n}}
		d.answers[2] = &a
		d.does(&a)
	}
	lose(1)
	cut := func() int { d.does(FaultBegan{Kind: "cut", Links: []weft.LinkID{1}}); return d.Last() }
	first := cut()
	lose(3)
	second := cut()
	lose(7)
	d.does(FaultEnded{second})
	lose(8)
	d.now += Settle
	d.does(Tick{})
	lose(16) // the second is closed
	costs := d.Incidents(0)
	require.Equal(t, []int{first, second}, []int{costs[0].ID, costs[1].ID})
	require.Equal(t, Losses{Queued: 2 + 8}, costs[0].Lost)
	require.Equal(t, Losses{Queued: 4 + 1}, costs[1].Lost)
	require.Equal(t, Losses{Queued: 1}, d.Unattributed())
	require.True(t, costs[0].Active() && !costs[1].Active() && costs[0].Open && !costs[1].Open)
	require.Len(t, d.Incidents(first), 1)
}

// An end forgets what passed with an incarnation that it is no longer asked for, and may then be
// asked for it by a question that was made before: what it told stays, and nothing is lost.
func TestWhatAnEndHasForgottenIsNotLost(t *testing.T) {
	t.Parallel()
	d := line()
	d.hears(1, link.Up, 10, 0, [2]uint64{10, 0})
	d.hears(2, link.Up, 0, 0, [2]uint64{0, 10}, [2]uint64{7, 0})
	d.hears(3, link.Up, 0, 0, [2]uint64{0, 7}, [2]uint64{7, 0})
	d.hears(4, link.Up, 0, 7, [2]uint64{0, 7})
	before := d.Balance()
	require.True(t, before.Balanced && before.Lost == 0, "%+v", before)
	a := *d.answers[3]
	a.Seq, a.Flows = a.Seq+1, slices.Clone(a.Flows)
	a.Flows[0].Flow = link.Flow{State: link.Down, Mine: 2}
	d.does(&a)
	require.Equal(t, before, d.Balance())
}

// What a link has lost that no incident has goes to the first that is noticed late, whatever else
// begins on the link meanwhile.
func TestALossOfNoIncidentWaitsForOneThatIsNoticedLate(t *testing.T) {
	t.Parallel()
	d := line()
	a := *d.answers[2]
	a.Seq, a.Queue = a.Seq+1, []EndLost{{weft.End{Port: 1, Node: weft.SwitchID(0).Node()}, 3}}
	d.does(&a)
	d.does(FaultBegan{Kind: "cut", Links: []weft.LinkID{1}})
	require.EqualValues(t, 3, d.Unattributed().Queued)
	d.does(FaultBegan{Kind: "silence", Links: []weft.LinkID{1}, Late: true})
	in, _ := d.Incident(d.Last())
	require.EqualValues(t, 3, in.Lost.Queued)
	require.Zero(t, d.Unattributed())
}

// The incident of a host that is gone for good, which the ledger has begun, ends at once and is
// closed like others, of one that only a neighbour knows too.
func TestTheIncidentOfAHostThatIsGoneIsClosed(t *testing.T) {
	t.Parallel()
	d := line()
	d.hears(1, link.Up, 0, 0, [2]uint64{0, 0})
	a := *d.answers[1]
	a.Seq++
	a.Flows = append(slices.Clone(a.Flows), Flow{End: a.Flows[0].End, Peer: 77})
	d.does(&a)
	d.does(HostEnded{Host: 3})
	list := d.Incidents(0)
	require.Len(t, list, 2)
	for _, in := range list {
		require.Equal(t, KindHost, in.Kind)
		require.NotEqual(t, weft.Never, in.Repaired, in.Target)
		require.False(t, in.Active())
	}
	d.now += Settle
	d.does(Tick{})
	for _, in := range d.Incidents(0) {
		require.False(t, in.Open, in.Target)
	}
}

// However often hosts come back anew and faults come and go, the state does not grow.
func TestTheStateDoesNotGrow(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	d := line()
	most := 0
	for i := range 2 * maxIncidents {
		d.does(HostFailed{Host: 2})
		d.hears(1, link.Down, 0, 0, [2]uint64{0, 0})
		d.hears(3, link.Down, 0, 0, [2]uint64{0, 0}, [2]uint64{0, 0})
		n := Incarnation(10 + i)
		d.does(HostStarted{Host: 2, Incarnation: n})
		d.answers[2].Incarnation, d.answers[2].Seq = n, 0
		d.now += 2 * weft.Second
		d.does(Tick{})
		if i%16 == 0 { // to look is what takes long
			most = max(most, len(d.State().Hosts)+len(d.State().Sessions))
		}
	}
	require.Less(t, most, 200)
	require.Len(t, d.State().Incidents, maxIncidents)
	require.Len(t, d.State().Folded, maxFolded)
	require.EqualValues(t, maxIncidents, d.State().Forgotten[0].Begun)
}

// Every counter that there is is added up, or is the greatest, and taken away again.
func TestEveryCounterIsAddedUp(t *testing.T) {
	t.Parallel()
	var a, b Counters
	next := uint64(0)
	var each func(t reflect.StructTag, x, y, z reflect.Value, do func(most bool, x, y, z reflect.Value))
	each = func(tag reflect.StructTag, x, y, z reflect.Value, do func(most bool, x, y, z reflect.Value)) {
		if x.Kind() != reflect.Struct {
			do(tag.Get("count") == "max", x, y, z)
			return
		}
		for i := range x.NumField() {
			each(x.Type().Field(i).Tag, x.Field(i), y.Field(i), z.Field(i), do)
		}
	}
	number := func(v reflect.Value) uint64 {
		if v.CanInt() {
			return uint64(v.Int())
		}
		return v.Uint()
	}
	va, vb := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	each("", va, vb, va, func(_ bool, x, y, _ reflect.Value) {
		for _, v := range []reflect.Value{x, y} {
			if next += 3; v.CanInt() {
				v.SetInt(int64(next))
			} else {
				v.SetUint(next)
			}
		}
	})
	total := a
	total.Add(&b)
	count := 0
	each("", va, vb, reflect.ValueOf(&total).Elem(), func(most bool, x, y, z reflect.Value) {
		count++
		want := number(x) + number(y)
		if most {
			want = max(number(x), number(y))
		}
		assert.Equal(t, want, number(z))
	})
	require.Greater(t, count, 20)
	greatest := [2]int{total.NICs.MostHops, total.NICs.MostExtra}
	total.sub(&b)
	require.Equal(t, greatest, [2]int{total.NICs.MostHops, total.NICs.MostExtra})
	total.NICs.MostHops, total.NICs.MostExtra = a.NICs.MostHops, a.NICs.MostExtra
	require.Equal(t, a, total)
	a.sub(&total)
	a.sub(&total)
	a.NICs.MostHops, a.NICs.MostExtra = 0, 0
	require.Zero(t, a, "nothing gets below 0")
}

// A counter more is a field more: it is added up, and sent.
func TestACounterMore(t *testing.T) {
	t.Parallel()
	stats := reflect.TypeFor[nic.Stats]()
	var fields []reflect.StructField
	for i := range stats.NumField() {
		fields = append(fields, stats.Field(i))
	}
	more := reflect.StructOf(append(fields, reflect.StructField{Name: "More", Type: reflect.TypeFor[uint64]()},
		reflect.StructField{Name: "MostMore", Type: reflect.TypeFor[int](), Tag: `count:"max"`}))
	a, b := reflect.New(more), reflect.New(more)
	a.Elem().FieldByName("More").SetUint(3)
	a.Elem().FieldByName("MostMore").SetInt(7)
	b.Elem().FieldByName("More").SetUint(4)
	b.Elem().FieldByName("MostMore").SetInt(5)
	add(a.UnsafePointer(), b.UnsafePointer(), numbersOf(more, 0))
	data, err := msgpack.Marshal(a.Interface())
	require.NoError(t, err)
	got := reflect.New(more)
	require.NoError(t, msgpack.Unmarshal(data, got.Interface()))
	require.EqualValues(t, 7, got.Elem().FieldByName("More").Uint())
	require.EqualValues(t, 7, got.Elem().FieldByName("MostMore").Int())
}

// What cannot be is refused by name, and changes nothing.
func TestWhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	end := weft.End{Node: weft.SwitchID(0).Node()}
	for want, a := range map[string]Answer{
		"numbered from 1":           {Host: 0, Incarnation: 7},
		"the incarnation is host 2": {Host: 3, Incarnation: 2, Seq: 1},
		"not in order, or of what":  {Host: 2, Incarnation: 2, Seq: 1, Counted: Counted{Wire: []LinkLost{{Link: 3}}}},
		"losses are not in order": {
			Host: 2, Incarnation: 2, Seq: 1,
			Counted: Counted{Queue: []EndLost{{end, 1}, {end, 2}}},
		},
		"no link at switch 0 p9": {
			Host: 2, Incarnation: 2, Seq: 1,
			Flows: []Flow{{End: weft.End{Node: end.Node, Port: 9}, Peer: 3}},
		},
		"no link at switch 9 p-": {
			Host: 2, Incarnation: 2, Seq: 1,
			Flows: []Flow{{End: weft.End{Node: weft.SwitchID(9).Node(), Port: weft.NoPort}, Peer: 3}},
		},
		"switch 0 p0 is with incarnation 2": {Host: 2, Incarnation: 2, Seq: 1, Flows: []Flow{{End: end, Peer: 2}}},
	} {
		d := line()
		orders := d.does(&a)
		require.Len(t, orders, 1, want)
		assert.Equal(t, Refuse, orders[0].Kind)
		assert.Contains(t, orders[0].Why, want)
		assert.True(t, d.Balance().Balanced)
	}
	d := line()
	for _, ev := range []Event{
		HostSuspect{Host: 9},
		HostFailed{Host: 9},
		HostEnded{Host: 0},
		NodeMoved{Node: weft.SwitchID(77).Node(), To: 1},
		FaultEnded{5},
		HostStarted{},
	} {
		assert.Empty(t, d.does(ev))
	}
	assert.Len(t, d.State().Hosts, 4)
}

// A checkpoint is all there is, and says which version it is of.
func TestACheckpointIsTheState(t *testing.T) {
	t.Parallel()
	d := line()
	d.hears(2, link.Up, 0, 0, [2]uint64{0, 5}, [2]uint64{3, 0})
	d.does(FaultBegan{Kind: "cut", Target: "s0-s1", Links: []weft.LinkID{1}})
	d.does(HostFailed{Host: 3})
	data, err := d.Checkpoint(maxIncidents)
	require.NoError(t, err)
	l, err := Restore(data, d.links)
	require.NoError(t, err)
	require.Equal(t, d.State(), l.State())
	again, err := l.Checkpoint(maxIncidents)
	require.NoError(t, err)
	require.Equal(t, data, again)
	_, err = json.Marshal(l.State())
	require.NoError(t, err)

	_, err = Restore(append([]byte{99}, data[1:]...), d.links)
	require.ErrorIs(t, err, errVersion)
	require.ErrorContains(t, err, "it is version 99, and this fabricd reads version 1")
	_, err = Restore(data[:len(data)/2], d.links)
	require.ErrorContains(t, err, "read the checkpoint")
	_, err = Restore(data, d.links[:1])
	require.ErrorContains(t, err, "does not fit the fabric")
}

// Whatever a checkpoint holds, it is refused or can be gone on with.
func FuzzRestore(f *testing.F) {
	d := line()
	d.hears(2, link.Up, 0, 0, [2]uint64{0, 5}, [2]uint64{3, 0})
	d.does(FaultBegan{Kind: "cut", Links: []weft.LinkID{1}})
	d.does(HostFailed{Host: 3})
	data, err := d.Checkpoint(maxIncidents)
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) {
		l, err := Restore(data, d.links)
		if err != nil {
			return
		}
		l.Step(weft.Second, LeaderChanged{})
		l.Step(100*weft.Second, d.answers[2])
		l.Step(200*weft.Second, Tick{})
		l.Balance()
		l.Links()
		l.Incidents(0)
	})
}

// A host was made for a switch, tells once that its ends are down, and then answers no more: the
// switch never came. What a neighbour of the switch held when it failed cannot have gone there.
func TestAHostThatRunsNothingHasNobodyInDoubt(t *testing.T) {
	t.Parallel()
	d := line()
	for h := HostID(1); h <= 4; h++ {
		d.hears(h, link.Up, 0, 0, [2]uint64{}, [2]uint64{})
	}
	d.hears(1, link.Up, 7, 0, [2]uint64{7, 0})
	d.hears(2, link.Up, 0, 0, [2]uint64{0, 7}, [2]uint64{0, 0})
	const made, life = HostID(5), Incarnation(5)
	d.does(HostStarted{Host: made, Incarnation: life})
	a := Answer{Host: made, Incarnation: life, Seq: 1, Asked: d.now}
	a.Flows = []Flow{{End: d.links[1].B, Peer: 2, Flow: link.Flow{State: link.Down, Mine: 9}}}
	d.does(&a)
	d.does(HostFailed{Host: 2})
	d.hears(1, link.Down, 7, 0, [2]uint64{7, 0})
	d.hears(3, link.Down, 0, 0, [2]uint64{0, 0}, [2]uint64{0, 0})
	b := d.Balance()
	require.Empty(t, b.Uncertain)
	require.EqualValues(t, 7, b.WrittenOff)
	require.True(t, b.Balanced && b.InFlight == 0, "%+v", b)
}
