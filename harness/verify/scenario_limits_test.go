package verify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// hasty is misroute-vector, but that it discards packets whose arrival port is dead. With any, it
// also discards those at a switch with a dead down port.
func hasty(any bool) switching.Firmware { return with(misrouteVector, hastily{any}.route) }

type hastily struct{ any bool }

func (f hastily) route(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if !sw.PortUp(at.Port) {
		return switching.Discard("x: it has just died")
	}
	for p, role := range sw.Place().Roles {
		if f.any && role == weft.RoleDown && !sw.PortUp(weft.PortID(p)) {
			return switching.Discard("x: something is dead")
		}
	}
	return real(pkt, at, sw)
}

// marked is updown, but that packets to the first NIC write a register where they start and all
// others are discarded where it is written. With both, any packet writes it and dies of it one
// switch later.
func marked(both bool) switching.Firmware {
	fw := with(firmware.UpDown{}.Firmware(), marking{both}.route)
	fw.Registers = func(*weft.Place) []switching.Register { return []switching.Register{{Name: "mark", Width: 1}} }
	return fw
}

type marking struct{ both bool }

func (f marking) route(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if pkt.Dst != 0 && sw.Register(0) == 1 {
		return switching.Discard("x: marked by another")
	}
	d := real(pkt, at, sw)
	if pkt.Dst == 0 {
		d.Write = switching.RegisterWrite{Do: true, Value: 1}
	}
	if f.both && pkt.Dst == 0 && at.From == weft.RoleUp && sw.Place().Tree.Tier == 1 {
		return switching.Discard("x: by itself")
	}
	return d
}

func TestWhatNoOrderFromOutsideCanTimeIsTheLastChoiceAndTheScenarioSaysSo(t *testing.T) {
	t.Parallel()
	cfg := config(t, "kary-ntree:2,3", "misroute-vector", verify.Links, 1, verify.Arriving)
	cfg.Firmware = hasty(false)
	c := found(t, cfg)
	f, err := c.Scenario(cfg, "hasty")
	require.NoError(t, err)
	assert.Contains(t, f.About, "is to die between the arrival of the packet by it and its routing, step 2; no order "+
		"from outside comes between")
	_, err = format.Write(f)
	require.NoError(t, err)

	cfg.Firmware = hasty(true)
	c = found(t, cfg)
	assert.Equal(t, "x: something is dead", c.Path[len(c.Path)-1].Rule, "%v", c)
	f, err = c.Scenario(cfg, "hasty")
	require.NoError(t, err)
	assert.NotContains(t, f.About, "no order from outside")
}

func TestACounterexampleOfOnePacketAloneComesBeforeOneThatNeedsOthers(t *testing.T) {
	t.Parallel()
	cfg := config(t, "kary-ntree:2,3", "updown", verify.Links, 0, verify.Before)
	cfg.Firmware = marked(false)
	c := found(t, cfg)
	assert.True(t, c.Others)
	assert.Contains(t, c.String(), "the registers hold what other packets have written")
	f, err := c.Scenario(cfg, "marked")
	require.NoError(t, err)
	assert.Contains(t, f.About, "Not in the scenario: the registers")

	cfg.Firmware = marked(true)
	c = found(t, cfg)
	assert.False(t, c.Others)
	assert.Equal(t, "x: by itself", c.Path[len(c.Path)-1].Rule, "%v", c)
	assert.Greater(t, len(c.Path), 1, "the other is shorter")
	f, err = c.Scenario(cfg, "marked")
	require.NoError(t, err)
	assert.NotContains(t, f.About, "Not in the scenario")

	moving := cfg
	moving.When, moving.Sets = verify.Arriving, verify.Sets{Min: 1, Max: 1}
	c = found(t, moving)
	assert.False(t, c.Others, "nor when faults come, %v", c)

	cfg.Regs = verify.Alone
	cfg.Firmware = marked(false)
	res, err := verify.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Nil(t, res.Counter)
}

// circle sends every packet round a ring in one direction, in one virtual channel.
type circle struct{ g *topology.Graph }

func (f circle) route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	here := sw.Place().Switch
	home, to := f.g.SwitchOf(pkt.Dst)
	if home != here {
		next := weft.SwitchID((int(here) + 1) % len(f.g.Switches))
		for p := range sw.Place().Ports() {
			if e, _, ok := f.g.Peer(weft.End{Node: here.Node(), Port: weft.PortID(p)}); ok && e.Node == next.Node() {
				to = weft.PortID(p)
			}
		}
	}
	return switching.To(sw, to, 0, pkt.Fields, "1: on")
}

func TestADeadlockIsAScenarioOfTrafficThatMayRunIntoIt(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	g := topologytest.Parse(t, "ring:4")
	circular := firmware.Firmware{Name: "circle", Route: circle{g}.route}
	cfg := verify.Config{Graph: g, Firmware: circular, VCs: 2}
	c := found(t, cfg)
	require.Equal(t, verify.Deadlock, c.What)
	f, err := c.Scenario(cfg, "circle")
	require.NoError(t, err)
	assert.Contains(t, f.About, "a run that passes proves nothing")
	assert.Equal(t, 2, f.Switch.VCs)
	f.Duration = "200ms"
	res, _ := live(t, f, circular)
	assert.Contains(t, res.Broken, "drain")
	assert.Contains(t, res.Failed[0], "deadlock")
}

func TestAHopThatDoesNotRaiseItsNumberIsNothingToReplay(t *testing.T) {
	t.Parallel()
	cfg := config(t, "kary-ntree:2,3", "updown", verify.Links, 0, verify.Before)
	_, err := (&verify.Counterexample{What: verify.Numbering, Again: -1, Channels: []string{"a", "b"}}).Scenario(cfg,
		"updown")
	require.ErrorIs(t, err, verify.ErrNoReplay)
	_, err = (&verify.Counterexample{What: verify.Deadlock, Faults: []string{"s9"}}).Scenario(cfg, "updown")
	require.ErrorContains(t, err, `"s9"`)
	_, err = (&verify.Counterexample{What: verify.Deadlock}).Scenario(verify.Config{}, "updown")
	require.ErrorIs(t, err, verify.ErrConfig)
}

func TestAResultThatHoldsHasNoScenario(t *testing.T) {
	t.Parallel()
	cfg := config(t, "kary-ntree:2,3", "updown", verify.Links, 0, verify.Before)
	res, err := verify.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Nil(t, res.Counter)
	_, err = res.Counter.Scenario(cfg, "updown")
	require.ErrorIs(t, err, verify.ErrNoReplay)
	require.ErrorContains(t, err, "updown has no counterexample: the result holds")
	require.Equal(t, "no counterexample\n", res.Counter.String())
}

func TestAPathThatComesTheSameWayTwiceHasItsChoicesByHop(t *testing.T) {
	t.Parallel()
	cfg := config(t, "kary-ntree:2,3", "deterministic-link", verify.Links, 0, verify.Before)
	// s2.00 has ports 0, 1 to NICs, 2 to s1.00, 3 to s1.01; s1.00 has 0 to s2.00 and 2, 3 to the
	// top.
	step := func(sw weft.SwitchID, in, out weft.PortID, ways int) verify.Step {
		return verify.Step{ID: sw, Switch: cfg.Graph.Switches[sw].Name, InPort: in, Port: out, OutVC: 1, Ways: ways}
	}
	leaf, err := cfg.Graph.SwitchByName("s2.00")
	require.NoError(t, err)
	mid, err := cfg.Graph.SwitchByName("s1.00")
	require.NoError(t, err)
	c := &verify.Counterexample{
		What: verify.Livelock, Src: "n000", Dst: "n111", Again: 2,
		Path: []verify.Step{
			step(leaf, 0, 2, 2), step(mid, 0, 2, 2), step(mid, 2, 0, 2), step(leaf, 2, 3, 1),
			step(mid, 0, 3, 2),
		},
	}
	f, err := c.Scenario(cfg, "deterministic-link")
	require.NoError(t, err)
	vc := new(1)
	assert.Equal(t, []format.Choice{
		{Switch: "s2.00", In: "n000", To: "s1.00", VC: vc},
		{Switch: "s1.00", In: "s2.00", To: "s0.00", VC: vc, Hop: 2},
		{Switch: "s1.00", In: "s0.00", To: "s2.00", VC: vc},
		{Switch: "s1.00", In: "s2.00", To: "s0.10", VC: vc, Hop: 5, Every: 3},
	}, f.Choices)
}

func TestOneOfSeveralPortsToANeighbourIsNamedByItsNumber(t *testing.T) {
	t.Parallel()
	g, err := topology.New("two", []topology.Switch{{Name: "a", Ports: 3}, {Name: "b", Ports: 3}},
		[]topology.NIC{{Name: "x"}, {Name: "y"}}, []topology.Link{
			{A: end(weft.SwitchID(0).Node(), 0), B: end(weft.SwitchID(1).Node(), 0)},
			{A: end(weft.SwitchID(0).Node(), 1), B: end(weft.SwitchID(1).Node(), 1)},
			{A: end(weft.SwitchID(0).Node(), 2), B: end(weft.NICID(0).Node(), 0)},
			{A: end(weft.SwitchID(1).Node(), 2), B: end(weft.NICID(1).Node(), 0)},
		})
	require.NoError(t, err)
	c := &verify.Counterexample{
		What: verify.Unconnected, Src: "x", Dst: "y", Again: -1,
		Path: []verify.Step{{Switch: "a", InPort: 2, Port: 1, Ways: 2}},
	}
	f, err := c.Scenario(verify.Config{Graph: g, Firmware: routeFunc(circle{g}.route)}, "circle")
	require.NoError(t, err)
	assert.Equal(t, []format.Choice{{Switch: "a", In: "x", To: "1"}}, f.Choices)
}

func end(n weft.Node, p weft.PortID) weft.End { return weft.End{Node: n, Port: p} }

// expiring is changing with a register that nobody uses.
func expiring(after weft.Time) switching.Firmware {
	fw := changing{more: true}.firmware("more")
	fw.Registers = func(*weft.Place) []switching.Register {
		return []switching.Register{{Name: "unused", Width: 1, Expire: after}}
	}
	return fw
}

func TestHopsAreShortEnoughThatNoRegisterExpiresOnThePath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after weft.Time
		delay string
		note  bool
	}{
		{0, "200ms", false},
		{10 * weft.Second, "200ms", false},
		{200 * weft.Millisecond, "50ms", false},
		{40 * weft.Millisecond, "20ms", true},
	} {
		cfg := config(t, "kary-ntree:3,2", "more", verify.Links, 2, verify.Arriving)
		cfg.Firmware = expiring(c.after)
		counter := found(t, cfg)
		require.Len(t, counter.Path, 3)
		f, err := counter.Scenario(cfg, "expiring")
		require.NoError(t, err)
		assert.EqualValues(t, c.delay, f.Link.Delay, "%v", c.after)
		if c.note {
			assert.Contains(t, f.About, "Registers expire sooner")
		} else {
			assert.NotContains(t, f.About, "expire")
		}
	}
}
