package leader_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// driven is a leader that a random script drives, and what its effects come to.
type driven struct {
	*leaderRig
	t         *testing.T
	draw      *rand.Rand
	all       []string // what was asked for, in words
	cut       map[leader.Direction]bool
	carrier   map[weft.End]bool
	timers    map[int]weft.Time
	begun     []int // actions that have not been dropped
	absent    map[ledger.HostID]int
	noCarrier map[int]bool
	moves     int                    // that have begun
	held      map[ledger.HostID]bool // as hosts were told
	loads     map[ledger.HostID]string
}

func drive(t *testing.T, seed uint64) *driven {
	t.Helper()
	d := &driven{
		leaderRig: lead(t), t: t, draw: rand.New(rand.NewPCG(seed, 0)), cut: map[leader.Direction]bool{},
		carrier: map[weft.End]bool{},
		timers:  map[int]weft.Time{}, absent: map[ledger.HostID]int{}, noCarrier: map[int]bool{},
		held: map[ledger.HostID]bool{}, loads: map[ledger.HostID]string{},
	}
	d.alone(t, "s0.0")
	return d
}

// take steps the state and carries out what it asks for.
func (d *driven) take(ev leader.Event) (list []leader.Effect) {
	list = d.Step(d.now, ev)
	ordered := false
	for _, e := range list {
		d.all = append(d.all, d.words(e))
		switch e := e.(type) {
		case leader.Cut:
			require.False(d.t, ordered, "frames stop before any end is told")
			for _, k := range e.Directions {
				d.cut[k] = true
			}
		case leader.Restore:
			for _, k := range e.Directions {
				delete(d.cut, k)
			}
		case leader.Orders:
			ordered = true
			for i := range e.List {
				d.ordered(&e.List[i])
			}
		case leader.SetTimer:
			d.timers[e.Fault] = e.At
		case leader.StopTimer:
			delete(d.timers, e.Fault)
		case leader.Begun:
			d.begun = append(d.begun, e.Action)
		case leader.Attend:
			d.begun = append(d.begun, e.Action)
		case leader.ResyncOrder:
			for end := range d.ends(e.Order.Host) {
				d.carrier[end] = true
			}
			d.ordered(&e.Order)
		}
	}
	d.holds()
	return list
}

// times sets the timers that were asked for.
func (d *driven) times(list []leader.Effect) {
	for _, e := range list {
		if e, ok := e.(leader.SetTimer); ok {
			d.timers[e.Fault] = e.At
		}
	}
}

func (d *driven) ordered(o *leader.Order) {
	for _, c := range o.Carrier {
		d.carrier[c.End] = c.Up
	}
	if o.Hold != nil {
		d.held[o.Host] = *o.Hold
	}
	if o.Traffic != nil {
		d.loads[o.Host] = o.Traffic.What.String()
	}
}

// ends are those of a host.
func (d *driven) ends(id ledger.HostID) map[weft.End]bool {
	list := map[weft.End]bool{}
	h := d.Host(id)
	for _, k := range slices.Concat(h.Inside, h.Border) {
		for _, e := range []weft.End{d.g.Links[k].A, d.g.Links[k].B} {
			sw := weft.SwitchID(e.Node.Index)
			if !e.Node.IsSwitch() {
				sw, _ = d.g.SwitchOf(weft.NICID(e.Node.Index))
			}
			if name := d.g.Switches[sw].Name; name == map[ledger.HostID]string{east: "s1.0", west: "s1.1"}[id] {
				list[e] = true
			}
		}
	}
	return list
}

// holds checks what is true after every step.
func (d *driven) holds() {
	inForce := map[int]bool{}
	for i := range d.Links {
		l, id := &d.Links[i], weft.LinkID(i)
		for dir := range 2 {
			require.Equal(d.t, d.IsCut(id, dir), d.cut[leader.Direction{Link: id, Back: dir == 1}],
				"the transport cuts what is cut")
			require.Equal(d.t, l.Impaired[dir] == 0, l.Suffers[dir].IsZero())
			for _, by := range []int{l.Cut[dir], l.Impaired[dir]} {
				if inForce[by] = true; by != 0 {
					require.NotNil(d.t, d.Fault(by), "what is done to a link has a fault")
				}
			}
		}
		for side, e := range []weft.End{d.g.Links[i].A, d.g.Links[i].B} {
			if !d.Alive(id) {
				require.False(d.t, l.Carrier[side], "%s has carrier at %s and is dead", d.g.Links[i].Name, d.end(e))
			}
			if h := d.runner(e); !d.Host(h).Failed {
				require.Equal(d.t, l.Carrier[side], d.carrier[e], "carrier of %s at %s", d.g.Links[i].Name, d.end(e))
			}
		}
	}
	for _, h := range d.Hosts {
		if h.Process {
			continue // it has no NICs
		}
		require.Equal(d.t, d.Held(), d.held[h.ID], "every host was told whether NICs are held")
		if load, known := d.loads[h.ID]; known || !d.Traffic.What.Idle() {
			require.Equal(d.t, d.Traffic.What.String(), load, "and what they inject")
		}
	}
	ends, timed := d.timers[0]
	require.Equal(d.t, d.Held() && d.HeldUntil != weft.Never, timed, "a hold that ends by itself has a timer")
	if timed {
		require.Equal(d.t, d.HeldUntil, ends)
	}
	for _, by := range d.Crashed {
		if inForce[by] = true; by != 0 {
			require.True(d.t, d.Fault(by).Crash)
		}
	}
	for _, n := range d.Incidents {
		require.Equal(d.t, inForce[n.Report.ID], d.Fault(n.Report.ID) != nil, "a fault in force is in force somewhere")
		if f := d.Fault(n.Report.ID); f != nil {
			require.True(d.t, n.Report.Open)
			require.Equal(d.t, f.Spec.For > 0 || f.Spec.Do == fault.VerbFlap, d.timers[f.ID] > 0,
				"what ends by itself has a timer")
		}
	}
}

func (d *driven) runner(e weft.End) ledger.HostID {
	sw := weft.SwitchID(e.Node.Index)
	if !e.Node.IsSwitch() {
		sw, _ = d.g.SwitchOf(weft.NICID(e.Node.Index))
	}
	switch d.g.Switches[sw].Name {
	case "s1.0":
		return east
	case "s1.1":
		return west
	}
	return own
}

// spec draws a fault or a repair; some of them cannot be done.
func (d *driven) spec() fault.Spec {
	s := fault.Spec{A: d.g.Links[d.draw.IntN(len(d.g.Links))].Name}
	if d.draw.IntN(2) == 0 {
		s.Direction = []fault.Direction{fault.To, fault.From}[d.draw.IntN(2)]
	}
	lasts := func() {
		if d.draw.IntN(3) == 0 {
			s.For = fault.Duration(time.Duration(1+d.draw.IntN(2000)) * time.Millisecond)
		}
	}
	switch s.Do = fault.Verbs()[d.draw.IntN(len(fault.Verbs()))]; s.Do {
	case fault.VerbCut:
		s.Silent = d.draw.IntN(3) == 0
		lasts()
	case fault.VerbFlap:
		s.Flap = &fault.Flap{Period: fault.Duration(100 * time.Millisecond), Jitter: fault.Duration(10 * time.Millisecond)}
		lasts()
	case fault.VerbImpair:
		s.Impair = &fault.Impair{Loss: new(fault.Percent(d.draw.IntN(100)))}
		lasts()
	case fault.VerbCrash, fault.VerbRestart:
		s.A, s.Direction = d.g.Switches[d.draw.IntN(len(d.g.Switches))].Name, ""
		if s.Do == fault.VerbCrash {
			lasts()
		}
	case fault.VerbHeal:
		s.A, s.Direction = "", ""
	}
	return s
}

// next draws an event, which can happen now.
func (d *driven) next() {
	d.now += weft.Time(d.draw.IntN(200)) * weft.Millisecond
	for _, id := range slices.Sorted(maps.Keys(d.timers)) {
		for at, ok := d.timers[id]; ok && at <= d.now; at, ok = d.timers[id] {
			delete(d.timers, id)
			d.take(leader.TimerDue{Fault: id, At: at})
		}
	}
	switch d.draw.IntN(14) {
	case 13:
		d.move()
	case 0, 1, 2:
		specs := make([]fault.Spec, 1+d.draw.IntN(3))
		for i := range specs {
			specs[i] = d.spec()
		}
		d.take(leader.Apply{Specs: specs})
	case 3, 4:
		k := d.g.Links[d.draw.IntN(len(d.g.Links))]
		e := []weft.End{k.A, k.B}[d.draw.IntN(2)]
		d.take(leader.PortChanged{End: e, Up: d.draw.IntN(2) == 0, At: d.now, Why: weft.Cause(d.draw.IntN(4)), Started: true})
	case 5:
		if len(d.begun) > 0 {
			id := d.begun[0]
			d.begun = d.begun[1:]
			d.take(leader.Acted{Action: id})
			d.take(leader.Finished{Action: id, Damped: d.Back(id)})
			d.take(leader.Drop{Action: id})
		}
	case 6:
		d.take(leader.Sampled{Delivered: uint64(d.now / weft.Millisecond)})
		d.take(leader.Tick{Asked: d.now})
	case 7:
		d.take(leader.Rerouted{At: d.now})
		d.take(leader.Seen{})
	case 8:
		d.host([]ledger.HostID{east, west}[d.draw.IntN(2)])
	case 9:
		shard := d.draw.IntN(2)
		if d.noCarrier[shard] = !d.noCarrier[shard]; d.noCarrier[shard] {
			for range 1 + d.draw.IntN(2) { // a connection may break again before it is back
				d.take(leader.BrokerLost{Shard: shard, Links: d.carried(shard)})
			}
		} else {
			d.take(leader.BrokerBack{Shard: shard})
			d.connected(shard)
		}
	case 10:
		load := nic.Traffic{Pattern: "uniform", Load: float64(1+d.draw.IntN(3)) / 10}
		d.take(leader.SetTraffic{Traffic: leader.Traffic{What: load, Draws: []byte{byte(d.draw.IntN(2))}}})
		d.take(leader.Managed{Round: leader.Round{
			Died:  []weft.LinkID{weft.LinkID(d.draw.IntN(len(d.g.Links)))},
			Began: d.now,
		}})
		d.take(leader.Settled{})
	case 11:
		if d.draw.IntN(8) == 0 {
			d.take(leader.Close{})
		}
	case 12:
		most := []weft.Time{0, 500 * weft.Millisecond, 2 * weft.Second, weft.Never}[d.draw.IntN(4)]
		d.take(leader.Hold{For: most, Longer: most > 0 && d.draw.IntN(2) == 0})
	}
}

// move has the switch that moves begin to, or come where it moves to, or its host of its own end.
func (d *driven) move() {
	h := d.Host(alone)
	switch m := d.Moving(d.moved); {
	case m != nil:
		d.take(leader.MoveEnds{Switch: d.moved})
	case h.Runs && d.draw.IntN(3) == 0 && d.Crashed[d.moved] == 0:
		for _, e := range d.take(leader.HostFailed{Host: alone, What: "gone"}) {
			if e, ok := e.(leader.Concerns); ok {
				d.take(leader.HostWrittenOff{Host: alone, Incident: e.Incident})
			}
		}
		d.Step(d.now, leader.HostAnswers{Host: alone})
		d.dropCarrier()
		d.take(leader.HostLeft{Host: alone})
		require.NotZero(d.t, d.Crashed[d.moved])
	default:
		from, to := own, alone
		if h.Runs {
			from, to = alone, own
		}
		d.moves++
		d.dropCarrier()
		d.take(leader.MoveBegins{Move: leader.Move{Switch: d.moved, Number: weft.Epoch(d.moves), From: from, To: to}})
	}
	moves, runs := d.Moving(d.moved) != nil, d.Host(alone).Runs
	require.Equal(d.t, moves || runs, d.away(own, nil), "a home that was made anew must not run it")
	require.Equal(d.t, !moves && runs, d.away(own, &leader.Applied{}), "of one that was there who moves it knows best")
	require.Equal(d.t, moves || !runs, d.away(alone, nil))
}

// away reports whether a host is told that another one runs the switch that moves.
func (d *driven) away(id ledger.HostID, applied *leader.Applied) bool {
	for _, e := range d.Step(d.now, leader.Resync{Host: id, Applied: applied}) {
		if e, ok := e.(leader.ResyncOrder); ok {
			return slices.Contains(e.Order.Away, d.moved)
		}
	}
	return false
}

// dropCarrier has the ends of the switch that moves be without carrier, as they are where it goes.
func (d *driven) dropCarrier() {
	for _, l := range d.g.Links {
		for _, e := range []weft.End{l.A, l.B} {
			if e.Node == d.moved.Node() {
				d.carrier[e] = false
			}
		}
	}
}

// carried are links that a connection carries now: some of those that it can carry, perhaps none.
func (d *driven) carried(shard int) (list []weft.LinkID) {
	for i := range d.g.Links {
		if i%2 == shard && d.draw.IntN(3) == 0 {
			list = append(list, weft.LinkID(i))
		}
	}
	return list
}

// connected checks that nothing is left of the losses of a connection that is back.
func (d *driven) connected(shard int) {
	for i := range d.Links {
		for _, o := range d.Links[i].Outages {
			require.NotEqual(d.t, shard, o.Shard, "%s has an outage of a connection that is back", d.g.Links[i].Name)
		}
	}
	d.take(leader.Finished{Action: d.begun[len(d.begun)-1]})
	for _, n := range d.Incidents {
		if n.Report.Kind == fault.KindBroker && n.Report.Target == fmt.Sprintf("connection %d", shard) {
			require.Positive(d.t, n.Report.RestoredAt, "incident %d is not over", n.Report.ID)
		}
	}
}

// host has a host fall silent, fail or come back.
func (d *driven) host(id ledger.HostID) {
	h := d.Host(id)
	switch {
	case h.Incident == 0:
		d.take(leader.HostAnswers{Host: id, Suspect: true})
		d.take(leader.HostSuspect{Host: id, Heard: d.now - min(d.now, weft.Millisecond), What: "silent"})
	case !h.Failed && d.draw.IntN(2) == 0:
		for _, e := range d.take(leader.HostFailed{Host: id, What: "gone"}) {
			if e, ok := e.(leader.Concerns); ok {
				d.absent[id] = e.Incident
				d.take(leader.HostWrittenOff{Host: id, Incident: e.Incident})
			}
		}
	default:
		d.Step(d.now, leader.HostAnswers{Host: id})
		d.take(leader.Resync{Host: id})
		for _, e := range d.take(leader.HostBack{Host: id}) {
			if e, ok := e.(leader.Concerns); ok {
				d.take(leader.HostReported{Host: id, Incident: e.Incident})
			}
		}
	}
}

func (d *driven) script(n int) *driven {
	var all []weft.LinkID
	for _, k := range d.g.Links {
		all = append(all, k.ID)
	}
	d.take(leader.Sync{Links: all})
	for range n {
		d.next()
	}
	return d
}

// Whatever happens, what is in force is in force everywhere, and the same events have the same
// effects.
func TestRandomScripts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	kinds := map[string]int{}
	for seed := range uint64(60) {
		d := drive(t, seed).script(150)
		again := drive(t, seed).script(150).all
		for i, e := range d.all {
			require.Equal(t, e, again[i], "seed %d, effect %d", seed, i)
		}
		for _, n := range d.Incidents {
			kinds[n.Report.Kind]++
		}
	}
	for _, kind := range []string{
		"cut", "flap", "impair", "crash", fault.KindBroker, fault.KindHost, fault.KindSilence, fault.KindHandover,
		fault.KindProcess,
	} {
		require.Greater(t, kinds[kind], 3, "scripts have too few of %s: %v", kind, kinds)
	}
}

// A leader that goes on from what another has left has the same in force, and its faults end as
// they would have.
func TestALeaderGoesOnFromWhatAnotherHasLeft(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		d := drive(t, seed).script(60)
		next := drive(t, seed)
		next.now = d.now
		const closed = 3
		data, err := d.Ledger.Checkpoint(closed)
		require.NoError(t, err)
		var links []ledger.Link
		for _, l := range d.g.Links {
			links = append(links, ledger.Link{A: l.A, B: l.B})
		}
		next.Ledger, err = ledger.Restore(data, links)
		require.NoError(t, err)
		var running []ledger.HostID
		if d.Host(alone).Runs {
			running = append(running, alone)
		}
		absent := map[ledger.HostID]int{east: d.Host(east).Incident, west: d.Host(west).Incident}
		require.NoError(t, next.Restore(leader.Restored{
			Generation: d.Generation, Rounds: d.Rounds, Incidents: d.IncidentCheckpoints(d.Ledger.CheckpointIncidents(closed)),
			Faults: d.Faults(),
			Absent: absent, Running: running, Moves: d.Moves, HeldUntil: d.HeldUntil, Traffic: d.Traffic,
		}))
		var reports, incidents []int
		for _, r := range next.Reports(d.now, 0) {
			reports = append(reports, r.ID)
		}
		for _, in := range next.Ledger.Incidents(0) {
			incidents = append(incidents, in.ID)
		}
		require.Equal(t, incidents, reports, "seed %d: what is lost is on a report, or in the sum of those forgotten",
			seed)
		next.times(next.Step(d.now, leader.Resume{}))
		for _, id := range slices.Sorted(maps.Keys(d.timers)) {
			require.Contains(t, next.timers, id, "seed %d", seed)
			for next.timers[id] <= d.now {
				next.times(next.Step(d.now, leader.TimerDue{Fault: id})) // the last change before
			}
			require.Equal(t, d.timers[id], next.timers[id], "seed %d: fault %d", seed, id)
		}
		require.Equal(t, d.Faults(), next.Faults(), "seed %d", seed)
		require.Equal(t, d.HeldUntil, next.HeldUntil)
		require.Equal(t, d.Traffic, next.Traffic)
		for i := range d.Links {
			require.Equal(t, d.Links[i].Cut, next.Links[i].Cut)
			require.Equal(t, d.Links[i].Impaired, next.Links[i].Impaired)
		}
		require.Equal(t, d.Crashed, next.Crashed)
		require.Equal(t, d.Moves, next.Moves)
		require.Equal(t, *d.Host(alone), *next.Host(alone), "seed %d", seed)
	}
}
