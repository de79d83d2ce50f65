package fabric_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/testenv"
)

// move moves a switch, and requires that packets go on. On a busy machine a host may not answer
// just then; a move is refused, and asked for again.
func (l *hostLab) move(sw, to string) (m fabric.Moved) {
	l.Helper()
	l.until(sw+" moves", func() bool {
		var err error
		m, err = l.Fabric.Move(l.Context(), sw, to)
		return err == nil
	})
	require.True(l, m.Changed)
	l.AllUp()
	l.more(100)
	return m
}

// at requires that a host runs a switch.
func (l *hostLab) at(sw, host string) {
	l.Helper()
	id, err := l.Fabric.Topology().SwitchByName(sw)
	require.NoError(l, err)
	require.Equal(l, host, l.Fabric.ProcessOf(id))
}

// orderly are options of a fabric in which packets of a flow take one way, and so come in order,
// and whoever is late is not lost.
func orderly(t *testing.T) func(*fabric.Options) {
	return func(o *fabric.Options) {
		const routing = "deterministic-link"
		var err error
		o.Firmware, o.Switch.VCs, err = subnet.Firmware(t.Context(), routing, o.Topology)
		require.NoError(t, err)
		o.Processes.Routing = routing
		unhurried(o)
	}
}

// unhurried is an option: who is late is not lost.
func unhurried(o *fabric.Options) { o.Liveness = settings.Liveness{Interval: "1s", Multiplier: 60} }

// A switch goes from host to host and home again under traffic, and takes along what it holds: no
// packet is lost, none comes twice or late, and no neighbour finds its link gone.
func TestASwitchMovesBetweenHostsUnderTraffic(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	movesBetweenHosts(t, "s1.00")
}

func TestSwitchesOfEachTierMoveBetweenHostsUnderTraffic(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	movesBetweenHosts(t, "s1.00", "s0.00", "s2.00")
}

func movesBetweenHosts(t *testing.T, switches ...string) {
	t.Helper()
	l := startHosts(t, 3, orderly(t))
	l.load("uniform:0.05")
	l.more(200)
	for _, sw := range switches {
		id, err := l.Fabric.Topology().SwitchByName(sw)
		require.NoError(t, err)
		home := l.Fabric.ProcessOf(id)
		for _, to := range []string{"host0", "host1", "host2"} {
			if "host "+to == home {
				continue
			}
			m := l.move(sw, to)
			l.at(sw, "host "+to)
			assert.Equal(t, to, m.To)
			l.until("it is there", func() bool {
				m, err = l.Fabric.Move(t.Context(), sw, to)
				return err == nil
			})
			assert.False(t, m.Changed)
		}
		l.move(sw, "")
		l.at(sw, home)
	}
	l.sound()
	if l.missesAHost() {
		return
	}
	ledger := l.Fabric.Ledger()
	assert.Zero(t, ledger.Lost, "%+v", ledger)
	assert.Zero(t, ledger.Discarded)
	for _, r := range l.Fabric.Faults() {
		assert.Empty(t, r.Detected, r.What)
	}
	c := l.Fabric.Totals()
	assert.Zero(t, c.Missing+c.Reordered, "%+v", c)
}

// A host that is killed takes with it the switches that were moved there. They are down until they
// are repaired, and then they are at home.
func TestAHostDiesWithASwitchThatWasMovedThere(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 3)
	l.load("uniform:0.05")
	l.more(200)
	l.move("s1.00", "host2")
	l.agents.Of("host2").Kill()
	l.until("the switch is down", func() bool { return len(l.Fabric.CrashedSwitches()) == 5 })
	l.agents.Of("host2").Back()
	l.until("the host is back", func() bool { return l.Fabric.Hosts()[2].State == fabric.SwitchUp })
	assert.Equal(t, []string{"s1.00"}, l.Fabric.CrashedSwitches())
	l.Do(fault.Spec{Do: fault.VerbRestart, A: "s1.00"})
	l.at("s1.00", "host host1")
	l.AllUp()
	l.sound()
	l.load("uniform:0.05")
	l.move("s1.00", "host2")
	l.sound()
}

// Another leader goes on with a switch where it was moved to, and can move it on.
func TestAnotherLeaderKnowsWhereSwitchesAre(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 3, unhurried)
	l.load("uniform:0.05")
	l.more(200)
	l.move("s1.00", "host0")
	first := l.Fabric
	first.Detach()
	l.succeed()
	l.at("s1.00", "host host0")
	l.AllUp()
	l.more(100)
	l.move("s1.00", "host2")
	l.move("s1.00", "")
	l.sound()
	if !l.missesAHost(first) {
		assert.Zero(t, l.Fabric.Ledger().Lost)
	}
}

// unread reaches hosts of which some do not tell what their nodes hold.
type unread struct {
	fabric.Hosts
	silent atomic.Pointer[string] // the name of the host that does not
	asked  atomic.Int64
}

func (u *unread) Reach(name string) host.Host { return unreadHost{u.Hosts.Reach(name), u, name} }

type unreadHost struct {
	host.Host
	*unread
	name string
}

func (h unreadHost) Nodes(ctx context.Context, r host.NodeRequest) (host.Nodes, error) {
	if name := h.silent.Load(); name != nil && *name == h.name {
		h.asked.Add(1)
		return host.Nodes{}, reply.ErrSilent
	}
	return h.Host.Nodes(ctx, r)
}

// A switch moves only when its host has said that nothing is on the wires of its links.
func TestASwitchDoesNotMoveWhileNobodyKnowsItsWires(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	u := &unread{}
	l := startHosts(t, 2, unhurried, func(o *fabric.Options) { u.Hosts, o.Processes.Hosts = o.Processes.Hosts, u })
	l.load("uniform:0.05")
	l.more(200)
	u.silent.Store(new("host0"))
	l.until("the host is asked again", func() bool { // unless a busy machine has the other one not answer
		_, err := l.Fabric.Move(l.Context(), "s1.00", "host1")
		require.Error(t, err)
		return strings.Contains(err.Error(), "switch s1.00 cannot move: host host0 does not answer") && u.asked.Load() > 1
	})
	l.at("s1.00", "host host0")
	u.silent.Store(nil)
	l.move("s1.00", "host1")
	l.sound()
	if !l.missesAHost() {
		require.Zero(t, l.Fabric.Ledger().Lost)
	}
}

// inVain reaches no host of one switch alone but to end it, and takes no credentials back.
type inVain struct {
	fabric.Hosts
	answer func() (host.Counters, error)
	ended  chan host.EndOrder // capacity 1
}

func (v inVain) Revoke(string) {}

func (v inVain) Reach(name string) host.Host {
	if name == "s1.00" {
		return madeInVain{v.Hosts.Reach(name), v}
	}
	return v.Hosts.Reach(name)
}

type madeInVain struct {
	host.Host
	inVain
}

func (h madeInVain) Counters(context.Context, host.CountersRequest) (host.Counters, error) {
	return h.answer()
}

func (h madeInVain) End(ctx context.Context, o host.EndOrder) (host.Counters, error) {
	h.ended <- o
	return h.Host.End(ctx, o)
}

// A host that was made for a switch, and that its leader does not reach then, is ended at once.
func TestAHostThatWasMadeInVainIsEnded(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	ended := make(chan host.EndOrder, 1)
	other := func() (host.Counters, error) { return host.Counters{Number: 1}, nil }
	l := startHosts(t, 2, func(o *fabric.Options) { o.Processes.Hosts = inVain{o.Processes.Hosts, other, ended} })
	require.ErrorContains(t, <-l.moving("s1.00", "host1"), "host host1 does not take switch s1.00")
	select {
	case o := <-ended:
		require.Equal(t, "switch s1.00 does not come", o.Why)
	default:
		t.Fatal("nobody has told it to end")
	}
	l.until("it ends", func() bool { return !l.agents.Of("host1").Runs("s1.00") })
	l.at("s1.00", "host host0")
	l.load("uniform:0.1")
	l.more(100)
	l.sound()
}

// A switch goes nowhere when the host that was made for it is gone before it answers.
func TestAHostDiesBeforeASwitchGoesThere(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	asked := make(chan struct{}, 1)
	nobody := func() (host.Counters, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		return host.Counters{}, reply.ErrNobody
	}
	l := startHosts(t, 2, func(o *fabric.Options) {
		o.Processes.Hosts = inVain{o.Processes.Hosts, nobody, make(chan host.EndOrder, 1)}
	})
	moved := make(chan error, 1)
	move := func() {
		_, err := l.Fabric.Move(l.Context(), "s1.00", "host1")
		moved <- err
	}
	go move()
	for waits := true; waits; {
		select {
		case <-asked:
			waits = false
		case err := <-moved:
			require.True(t, refused(err), err)
			go move()
		}
	}
	l.agents.Of("host1").Kill()
	require.ErrorContains(t, <-moved, "host host1 is gone")
	l.at("s1.00", "host host0")
}

// Who names a switch or a host that there is not is told so, and nothing moves.
func TestWhatCannotMove(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := startHosts(t, 2)
	_, err := l.Fabric.Move(t.Context(), "s1.0", "host1")
	require.ErrorContains(t, err, `did you mean "s1.00"`)
	_, err = l.Fabric.Move(t.Context(), "s1.00", "hots1")
	require.ErrorIs(t, err, fabric.ErrUnknown)
	require.ErrorContains(t, err, `did you mean "host1"`)
	l.agents.Of("host1").Kill()
	_, err = l.Fabric.Move(t.Context(), "s0.00", "host1")
	require.Error(t, err)
	l.at("s0.00", "host host0")
}

// A host that does not run a switch hears what is cut and restored meanwhile.
func TestALinkIsRestoredWhileItsSwitchIsAway(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := startHosts(t, 3)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00", B: "s2.00"})
	require.NoError(t, <-l.moving("s1.00", "host2"))
	_, err := l.Fabric.Heal(t.Context())
	require.NoError(t, err)
	l.AllUp()
	require.NoError(t, <-l.moving("s1.00", ""))
	l.AllUp()
	l.sound()
}
