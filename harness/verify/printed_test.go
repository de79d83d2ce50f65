package verify_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// The rules of the papers that fail when followed to the letter, and firmwares broken on purpose:
// each is the real firmware but for one rule, and verify must find what the rule does, at the least
// number of faults at which it does it. The real firmware must pass where the broken one is caught.

// Packets arrive by VC 0 in the normal layer, by the others in the re-routing layers.
const (
	nl  weft.VC = 0
	ml1 weft.VC = 1
	ml2 weft.VC = 2
)

// route is the signature of a firmware.
type route func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision

// rule is one changed rule: it is given what the real firmware would do, and may ask it.
type rule func(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision

// with is a firmware with one rule changed. Its channels keep their numbers. It claims that it does
// not mind how ports are numbered. Some do, and are found out.
func with(real switching.Firmware, r rule) switching.Firmware {
	fw := real
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		return r(real.Route, pkt, at, sw)
	}
	fw.Symmetric = true
	return fw
}

// broken is a firmware with one rule changed and what verify must find.
type broken struct {
	name string
	rule rule
	// Where it is caught.
	on     string // topology
	kind   verify.Kind
	faults int // sets of up to so many
	when   verify.When
	dead   string // if given, the sets are those of these links and switches instead, at soak only without faults
	// What is found.
	what   string
	at     int    // faults of the counterexample
	ends   string // how it ends
	length int    // of the path, or of the circle of channels
	// deadlocks is the least number of faults at which packets can wait for one another for ever;
	// 0: not within the sets explored.
	deadlocks int
}

// caught runs the broken firmwares and the real one in the same places.
func caught(t *testing.T, real switching.Firmware, cases []broken) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			testenv.Long(t)
			testenv.Unraced(t)
			t.Parallel()
			config := verify.Config{
				Graph: topologytest.Parse(t, c.on), Firmware: real,
				Sets: verify.Sets{Kind: c.kind, Max: c.faults}, When: c.when,
			}
			if c.dead != "" && (c.faults == 0 || !testenv.Soak()) {
				config.Sets = verify.Sets{List: subsets(t, config.Graph, c.dead)}
			}
			good := run(t, config)
			assert.True(t, good.Pass, "the real firmware must pass: %s\n%v", good, good.Counter)

			config.Firmware = with(real, c.rule)
			bad := run(t, config)
			require.NotNil(t, bad.Counter, "the broken firmware must be caught: %s", bad)
			assert.False(t, bad.Pass)
			x := bad.Counter
			assert.Equal(t, c.what, x.What, x)
			assert.Len(t, x.Faults, c.at, x)
			assert.Contains(t, x.Ends, c.ends, x)
			assert.Equal(t, c.length, len(x.Path)+len(x.Channels), x)
			assert.Equal(t, c.deadlocks, firstDeadlock(bad), "least faults with a deadlock\n%v", bad.ByFaults)
		})
	}
}

// subsets is every subset of some links and switches, smaller ones first.
func subsets(t *testing.T, g *topology.Graph, names string) (list [][]verify.Element) {
	t.Helper()
	list = [][]verify.Element{{}}
	for _, name := range strings.Fields(names) {
		e, err := verify.ElementByName(g, name)
		require.NoError(t, err)
		for _, set := range slices.Clone(list) {
			list = append(list, append(slices.Clone(set), e))
		}
	}
	slices.SortStableFunc(list, func(a, b []verify.Element) int { return len(a) - len(b) })
	return list
}

func firstDeadlock(r *verify.Result) int {
	for _, b := range r.ByFaults {
		if b.Deadlocks > 0 {
			return b.Faults
		}
	}
	return 0
}

func run(t *testing.T, c verify.Config) *verify.Result {
	t.Helper()
	c.Workers = 1
	r, err := verify.Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

// fired reports whether one of the rules that begin so has decided.
func fired(d switching.Decision, rules ...string) bool {
	return slices.ContainsFunc(rules, func(r string) bool { return strings.HasPrefix(d.Rule, r) })
}

// sent changes what every candidate does to the packet.
func sent(d switching.Decision, change func(c *switching.Candidate)) switching.Decision {
	for i := range d.Candidates {
		change(&d.Candidates[i])
	}
	return d
}

// inLayer changes the layer that a packet leaves in.
func inLayer(d switching.Decision, vc weft.VC) switching.Decision {
	return sent(d, func(c *switching.Candidate) { c.VC = vc })
}

// withPortField changes the port field that a packet leaves with.
func withPortField(d switching.Decision, field int16) switching.Decision {
	return sent(d, func(c *switching.Candidate) { c.Fields.PortField = field })
}

// turns reports whether a packet is at a switch from which it must go up again: it came from above,
// and its destination is not below.
func turns(pkt *weft.Header, at switching.Arrival, sw switching.View) bool {
	return at.From == weft.RoleUp && !sw.Place().Tree.HasDown(pkt.Dst)
}

// meets reports whether a packet's destination is below, by a link that is dead.
func meets(pkt *weft.Header, sw switching.View) bool {
	t := sw.Place().Tree
	return t.HasDown(pkt.Dst) && !t.Leaf() && !sw.PortUp(t.DownPort(pkt.Dst))
}

// after is the first live up port of D that follows the i-th, or none.
func after(sw switching.View, order []int, i int) weft.PortID {
	for _, j := range order[i+1:] {
		if p := sw.Place().Tree.Up(j); sw.PortUp(p) {
			return p
		}
	}
	return weft.NoPort
}

// up is a decision to send a packet up, or to discard it without a port.
func up(sw switching.View, p weft.PortID, vc weft.VC, f weft.Fields, rule string) switching.Decision {
	if p == weft.NoPort {
		return switching.Discard(rule + ": none left")
	}
	return switching.To(sw, p, vc, f, rule).As(switching.UTurn)
}

// anyUp is a decision for any live up port that is not in tried.
func anyUp(sw switching.View, tried uint64, vc weft.VC, f weft.Fields, rule string) switching.Decision {
	d := switching.Decision{Candidates: sw.Scratch(), Rule: rule, Turn: switching.UTurn}
	t := sw.Place().Tree
	for j := range t.Ups() {
		if p := t.Up(j); tried>>j&1 == 0 && sw.PortUp(p) {
			d.Candidates = append(d.Candidates, switching.Candidate{Port: p, VC: vc, Fields: f})
		}
	}
	return d
}

// anyDown is a decision for any live down port but one.
func anyDown(sw switching.View, except weft.PortID, vc weft.VC, f weft.Fields, rule string) switching.Decision {
	d := switching.Decision{Candidates: sw.Scratch(), Rule: rule, Turn: switching.Reroute}
	for j := range sw.Place().Tree.Down {
		if p := weft.PortID(j); p != except && sw.PortUp(p) {
			d.Candidates = append(d.Candidates, switching.Candidate{Port: p, VC: vc, Fields: f})
		}
	}
	return d
}
