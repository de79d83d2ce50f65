package fabric_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// gate is between a leader and its hosts, and stops orders.
type gate struct {
	fabric.Hosts
	stops   atomic.Pointer[func(o *host.Order) bool] // reports whether an order is stopped
	late    bool                                     // the host carries it out, and only the answer is stopped
	stopped chan func() error                        // capacity 1: sends the first order that was stopped again
	ends    chan error                               // capacity 1: what came of an order to end
	deaf    atomic.Bool                              // a leader does not hear hosts that end
}

// newGate stops orders, or lets all through.
func newGate(stops func(o *host.Order) bool) *gate {
	g := &gate{stopped: make(chan func() error, 1), ends: make(chan error, 1)}
	g.stop(stops)
	return g
}

func (g *gate) stop(stops func(o *host.Order) bool) { g.stops.Store(&stops) }

// between puts the gate between a leader and its hosts.
func (g *gate) between(o *fabric.Options) { g.Hosts, o.Processes.Hosts = o.Processes.Hosts, g }

func (g *gate) Reach(name string) host.Host { return gated{g.Hosts.Reach(name), g} }

// gated is a host behind a gate.
type gated struct {
	host.Host
	gate *gate
}

func (h gated) Order(ctx context.Context, o host.Order) (host.OrderAnswer, error) {
	// One that has not answered for a moment, as on a busy machine, is told all again: that is no
	// move.
	if stops := *h.gate.stops.Load(); o.SignalAll || !stops(&o) {
		return h.Host.Order(ctx, o)
	}
	if h.gate.late {
		if a, err := h.Host.Order(ctx, o); err != nil {
			return a, err // it is sent again
		}
	}
	select {
	case h.gate.stopped <- func() error { _, err := h.Host.Order(context.Background(), o); return err }:
	default:
	}
	<-ctx.Done()
	return host.OrderAnswer{}, context.Cause(ctx)
}

func (h gated) End(ctx context.Context, o host.EndOrder) (host.Counters, error) {
	s, err := h.Host.End(ctx, o)
	select {
	case h.gate.ends <- err:
	default:
	}
	if h.gate.deaf.Load() {
		<-ctx.Done()
		return host.Counters{}, context.Cause(ctx)
	}
	return s, err
}

func releases(o *host.Order) bool {
	return slices.ContainsFunc(o.Release, func(r host.ReleaseOrder) bool { return r.Number != 0 })
}

func takes(o *host.Order) bool { return len(o.Take) > 0 }

func gives(o *host.Order) bool { return len(o.Signals) > 0 }

func stopsNothing(*host.Order) bool { return false }

// missesAHost reports whether a host has not answered one of the leaders, that of now among them,
// as on a machine that is busier than a test is patient: it may not have heard that a neighbour of
// its switches was about to move. What was lost is then accounted for, and more is not asked.
func (l *hostLab) missesAHost(leaders ...*fabric.Fabric) bool {
	missed := slices.ContainsFunc(append(leaders, l.Fabric), func(f *fabric.Fabric) bool {
		return slices.ContainsFunc(f.Events().Since(0), func(e fabric.Event) bool {
			return e.Kind == fabric.EventHostSuspect || e.Kind == fabric.EventProcessSuspect
		})
	})
	if missed {
		l.Log("a host did not answer: what was lost is accounted for, and more is not asked")
	}
	return missed
}

// startBehindRelay starts a fabric of three hosts, of which host1 is behind a relay.
func startBehindRelay(t *testing.T, options ...func(*fabric.Options)) (*hostLab, *rig.Relay) {
	t.Helper()
	relay, agents := rig.NewRelay(t, ""), newAgents(t)
	agents.Of("host1").Relay = relay
	return startHostsOn(t, 3, agents, options...), relay
}

// moving begins to move a switch, and says when that is over. As in move, it is asked for again
// when it is refused because a host does not answer just then.
func (l *hostLab) moving(sw, to string) <-chan error {
	f, moved := l.Fabric, make(chan error, 1)
	go func() {
		for {
			_, err := f.Move(l.Context(), sw, to)
			if err == nil || l.Context().Err() != nil || !refused(err) {
				moved <- err
				return
			}
		}
	}()
	return moved
}

// refused reports whether a switch does not move because a host does not answer just then.
func refused(err error) bool {
	return strings.Contains(err.Error(), "cannot move: ") || strings.Contains(err.Error(), "nothing moves there")
}

// A leader ends in the middle of a move, wherever that is: the next one finishes it. Nothing is
// lost, one host runs the switch, and an order of the first leader that comes late is refused.
func TestALeaderEndsInTheMiddleOfAMove(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for name, end := range map[string]struct {
		stops func(o *host.Order) bool
		late  bool
		full  bool // on its way away the leader ends there at full too, elsewhere at soak alone
	}{
		"decided":             {stops: releases, full: true},
		"released, not heard": {stops: releases, late: true},
		"released":            {stops: takes},
		"taken, not heard":    {stops: takes, late: true},
		"taken":               {stops: gives},
		"up, not heard":       {stops: gives, late: true},
		"over, not kept":      {stops: stopsNothing, full: true},
	} {
		for way, to := range map[string]string{"away": "host0", "home": ""} {
			usual := way == "home" && name == "taken"
			if !usual && !testenv.Soak() && (testenv.Race || way == "home" || !end.full) {
				continue // under the race detector the same goroutines, and on its way home as on its way away
			}
			t.Run(way+"/"+name, func(t *testing.T) {
				g := newGate(stopsNothing)
				g.late = end.late
				l := startHosts(t, 3, orderly(t), g.between, func(o *fabric.Options) { o.Term = 1 })
				l.load("uniform:0.03")
				l.more(200)
				const sw, home = "s1.00", "host1"
				if to == "" {
					l.move(sw, "host2")
				}
				first := l.Fabric
				l.endMidMove(g, end.stops, sw, to)
				l.runsOnce(sw, home, to)
				l.more(100)
				for _, to := range []string{"host2", ""} {
					l.move(sw, to)
					l.runsOnce(sw, home, to)
				}
				l.sound()
				if !l.missesAHost(first) {
					ledger, c := l.Fabric.Ledger(), l.Fabric.Totals()
					assert.Zero(t, ledger.Lost+ledger.Discarded, "%+v", ledger)
					assert.Zero(t, c.Missing+c.Reordered+c.Duplicated, "%+v", c)
				}
			})
		}
	}
}

// A leader ends when it has told a host of one switch alone to end, and has not heard what that has
// counted last: the next one hears it.
func TestALeaderEndsWhileAHostOfOneSwitchEnds(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	g := newGate(stopsNothing)
	l := startHosts(t, 3, orderly(t), g.between, func(o *fabric.Options) { o.Term = 1 })
	l.load("uniform:0.03")
	l.more(200)
	const sw, home = "s1.00", "host1"
	l.move(sw, "host2")
	select {
	case <-g.ends: // a host that the switch did not come to, on a busy machine
	default:
	}
	g.deaf.Store(true)
	first, moved := l.Fabric, l.moving(sw, "")
	require.NoError(t, <-g.ends)
	first.Detach()
	<-moved
	g.deaf.Store(false)
	l.options.Term++
	l.succeed()
	require.NoError(t, <-g.ends)
	l.runsOnce(sw, home, "")
	l.more(100)
	l.sound()
	if !l.missesAHost(first) {
		ledger := l.Fabric.Ledger()
		require.Zero(t, ledger.Lost+ledger.Discarded, "%+v", ledger)
	}
}

// endMidMove moves a switch, and ends its leader when an order is stopped, or when it is over. The
// next leader knows nothing that the first one has decided since it had the switch taken. It
// returns when the move is over under the next leader.
func (l *hostLab) endMidMove(g *gate, stops func(o *host.Order) bool, sw, to string) {
	l.Helper()
	var taken atomic.Bool
	g.stop(func(o *host.Order) bool {
		if takes(o) {
			l.deaf(true)
			taken.Store(true)
		}
		// Before, links get signal of which an end has not answered for a moment.
		return stops(o) && (taken.Load() || !gives(o))
	})
	first, moved := l.Fabric, l.moving(sw, to)
	late := func() error { return host.ErrReplaced }
	select {
	case late = <-g.stopped:
		first.Detach()
		<-moved // it says how much of it the first leader has seen
	case err := <-moved:
		require.NoError(l, err)
		first.Detach()
	case <-time.After(rig.Patience):
		l.Fatal("the move does not come to where its leader ends")
	}
	g.stop(stopsNothing)
	l.deaf(false)
	l.options.Term++
	l.succeed()
	l.until("the move is over", func() bool {
		return !slices.ContainsFunc(l.Fabric.Faults(), func(r fault.Report) bool {
			return r.Kind == fabric.KindHandover && r.RestoredAt == 0
		})
	})
	l.AllUp()
	if err := late(); !errors.Is(err, reply.ErrNobody) {
		require.ErrorIs(l, err, host.ErrReplaced)
	}
}

// runsOnce requires that of all hosts one runs a switch: its home, or another to which it has
// moved.
func (l *hostLab) runsOnce(sw, home, to string) {
	l.Helper()
	l.at(sw, "host "+cmp.Or(to, home))
	id, err := l.Fabric.Topology().SwitchByName(sw)
	require.NoError(l, err)
	for _, h := range l.Fabric.Hosts() {
		l.until("of a switch alone its host is here: "+h.Host, func() bool {
			return l.agents.Of(h.Host).Runs(sw) == (h.Host == to)
		})
	}
	for name, away := range map[string]bool{home: to != "", sw: false} {
		if name == sw && to == "" {
			continue
		}
		s, err := l.options.Processes.Hosts.Reach(name).Counters(l.Context(), host.CountersRequest{Applied: true})
		require.NoError(l, err)
		require.Equal(l, away, slices.Contains(s.Applied.Away, id), name)
	}
}

// The home of a switch may be out of reach when it is to release the switch, and stay so until the
// host that the switch went to has ended and the switch was repaired: it comes back with a switch
// that its neighbours took for lost, and runs it on.
func TestAHostThatNeverReleasedASwitchRunsItOn(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	g := newGate(releases)
	l, relay := startBehindRelay(t, g.between)
	l.load("uniform:0.03")
	l.more(200)
	moved := l.moving("s1.00", "host2")
	<-g.stopped
	relay.Cut()
	l.agents.Of("host2").Kill()
	require.ErrorContains(t, <-moved, "is gone")
	l.until("both hosts are missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 8 })
	g.stop(stopsNothing)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _ = l.Fabric.Heal(ctx) // the host is told to run the switch again, and does not hear it
	relay.Restore()
	l.agents.Of("host2").Back()
	l.until("all is well", func() bool {
		_, err := l.Fabric.Heal(t.Context())
		return err == nil && len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 0
	})
	l.at("s1.00", "host host1")
	l.more(100)
	l.sound()
}

// The home of a switch may be out of reach when it is to release the switch, and come back as it
// was while the switch is on its way: it is told to release it all the same.
func TestAHostThatComesBackInTheMiddleOfAMoveReleasesTheSwitch(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	g := newGate(releases)
	l, relay := startBehindRelay(t, g.between)
	l.load("uniform:0.03")
	l.more(200)
	moved := l.moving("s1.00", "host2")
	state := func() string { return l.Fabric.Hosts()[1].State }
	<-g.stopped
	g.stop(takes)
	relay.Cut()
	<-g.stopped
	require.Equal(t, fabric.SwitchDown, state(), "nobody waits for its answer any more")
	relay.Restore()
	l.until("it is back", func() bool { return state() == fabric.SwitchUp })
	g.stop(stopsNothing)
	require.NoError(t, <-moved)
	l.until("all links are up", func() bool { return len(l.Fabric.LinksDown()) == 0 })
	l.until("it has released the switch", func() bool {
		s, err := l.options.Processes.Hosts.Reach("host1").Counters(l.Context(), host.CountersRequest{Applied: true})
		return err == nil && len(s.Applied.Away) == 1
	})
	l.more(100)
	l.move("s1.00", "")
	l.more(100)
	l.sound()
}

// No host is told of a move before the next leader would know of it, however long that takes; the
// switch goes on where it is, and the move is made then.
func TestNobodyIsToldOfAMoveThatIsNotKept(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	g := newGate(stopsNothing)
	var waits atomic.Bool
	kept := make(chan struct{})
	l := startHosts(t, 3, orderly(t), g.between, func(o *fabric.Options) {
		write := o.Checkpoint
		o.Checkpoint = func(s fabric.State) <-chan struct{} {
			if waits.Load() {
				return kept
			}
			return write(s)
		}
	})
	l.load("uniform:0.03")
	l.more(200)
	g.stop(releases)
	waits.Store(true)
	moved := l.moving("s1.00", "host2")
	l.until("it is decided", func() bool {
		return slices.ContainsFunc(l.Fabric.Faults(), func(r fault.Report) bool { return r.Kind == fabric.KindHandover })
	})
	decided := l.Fabric.Now()
	l.until("neighbours send again", func() bool { return l.Fabric.Now() > decided+6*weft.Second })
	l.more(100)
	select {
	case <-g.stopped:
		t.Fatal("a host was told")
	default:
	}
	g.stop(stopsNothing)
	waits.Store(false)
	close(kept)
	require.NoError(t, <-moved)
	l.at("s1.00", "host host2")
	l.sound()
	if !l.missesAHost() {
		assert.Zero(t, l.Fabric.Ledger().Lost)
	}
}

// The home of a switch may be out of reach when the switch is to come, and the host that is to
// release it may end. When the home is back it runs the switch, and nothing is on its way there any
// more.
func TestASwitchComesToAHostThatIsOutOfReach(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	g := newGate(stopsNothing)
	l, relay := startBehindRelay(t, g.between)
	l.load("uniform:0.03")
	l.more(200)
	l.move("s1.00", "host2")
	l.more(200)
	g.stop(releases)
	moved := l.moving("s1.00", "")
	<-g.stopped
	relay.Cut()
	l.agents.Of("host2").Kill()
	require.ErrorContains(t, <-moved, "is gone")
	g.stop(stopsNothing)
	relay.Restore()
	l.agents.Of("host2").Back()
	l.until("all is well", func() bool {
		_, err := l.Fabric.Heal(t.Context())
		return err == nil && len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 0
	})
	l.at("s1.00", "host host1")
	l.more(100)
	l.succeed() // the host has taken the switch as the next leader knows
	l.AllUp()
	l.more(100)
	l.sound()
}
