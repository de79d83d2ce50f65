package manage

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// An order in which the entries come into force that packets ask, switch by switch or destination
// by destination from its side, saves few of the cuts under LASH that empty the fabric with entries
// by destination: packets of old entries come into new ones all the same. A spare layer saves all
// (TestNoCutOfOneLinkStopsTheTrafficUnderLASH).
func TestAnOrderOfEntriesSavesFewCuts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	topologies := []string{
		"irregular:32,64,1", "irregular:32,64,2", "irregular:32,64,3", "irregular:64,128,3",
		"irregular:128,256,3",
	}
	for _, spec := range topologies[:testenv.Levels(5, 2, 1)] {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, spec)
			m, err := Parse("dqr:entries=destination,spare=leave")
			require.NoError(t, err)
			p, err := New(t.Context(), g, "lash", m, weft.MaxVCs)
			require.NoError(t, err)
			p.Settled()
			cuts, emptied, bySwitch, byEntry := 0, 0, 0, 0
			for _, l := range g.Links {
				if !l.BetweenSwitches() {
					continue
				}
				cuts++
				var dead subnet.Dead
				dead.AddLink(l.ID)
				plan, err := p.Plan(t.Context(), &dead)
				require.NoError(t, err)
				if !plan.Static {
					continue
				}
				emptied++
				for count, in := range map[*int]func(*ordering) bool{
					&bySwitch: (*ordering).bySwitch,
					&byEntry:  (*ordering).byEntry,
				} {
					if in(newOrdering(t, p, plan)) {
						*count++
					}
				}
			}
			t.Logf("%d cuts, %d empty the fabric; an order of switches saves %d, one of entries %d", cuts, emptied, bySwitch,
				byEntry)
			assert.Greater(t, emptied, 2*max(bySwitch, byEntry))
		})
	}
}

// ordering brings a plan into force step by step.
type ordering struct {
	t          *testing.T
	plan       *Plan
	left       []change // entries to come
	now        *layered.Routing
	transition *layered.Transition
}

// change is an entry that becomes another one.
type change struct {
	at    weft.SwitchID
	layer weft.VC
	dst   weft.NICID
	hop   tables.Hop
}

// newOrdering begins with the entries that no packet asks.
func newOrdering(t *testing.T, p *Planner, plan *Plan) *ordering {
	first, err := plan.result.first()
	require.NoError(t, err)
	o := &ordering{
		t: t, plan: plan, now: p.now.Routing, transition: p.planning.(*planner).transition,
		left: changes(first, plan.Routing),
	}
	require.True(t, o.step(changes(o.now, first)))
	return o
}

func changes(old, next *layered.Routing) (list []change) {
	for s := range weft.SwitchID(len(old.Graph.Switches)) {
		for l := range weft.VC(next.Layers) {
			for d := range weft.NICID(len(old.Graph.NICs)) { // alike from every port
				if a, b := old.Tables.Choices(s, d, 0, 0, l),
					next.Tables.Choices(s, d, 0, 0, l); len(b) > 0 && (len(a) == 0 || a[0] != b[0]) {
					list = append(list, change{s, l, d, b[0]})
				}
			}
		}
	}
	return list
}

// step brings changes into force, in any order, if with what was before no cycle comes of it.
func (o *ordering) step(list []change) bool {
	next, places := *o.now, []layered.Place(nil)
	var at []weft.SwitchID
	for _, c := range list {
		at, places = append(at, c.at), append(places, layered.Place{At: c.at, Layer: c.layer, Dst: c.dst})
	}
	next.Tables = o.now.Tables.Edited(at)
	for _, c := range list {
		var hops []tables.Hop
		for port := range weft.PortID(next.Graph.Switches[c.at].Ports) {
			for vc := range weft.VC(next.Tables.VCs()) {
				h := c.hop
				if vc != c.layer {
					h = next.Tables.Choices(c.at, c.dst, 0, port, vc)[0]
				}
				hops = append(hops, h)
			}
		}
		n, err := next.Tables.Row(c.at, hops)
		require.NoError(o.t, err)
		require.NoError(o.t, next.Tables.SetAddress(c.at, 0, c.dst, 0, n))
	}
	return o.follow(&next, places)
}

func (o *ordering) follow(next *layered.Routing, places []layered.Place) bool {
	after := o.transition.With(places, o.now, next)
	if !after.Without(o.plan.dies).Acyclic() {
		return false
	}
	o.now, o.transition = next, after
	return true
}

// addresses bring into force what NICs send by, last of all.
func (o *ordering) addresses() bool {
	next, places := *o.now, []layered.Place(nil)
	next.Assignment = o.plan.Routing.Assignment
	for s := range weft.SwitchID(len(next.Graph.Switches)) {
		for d := range weft.NICID(len(next.Graph.NICs)) {
			for _, a := range next.Assignment.Addresses(s, d) {
				places = append(places, layered.Place{At: s, Layer: a.VC, Path: a.Path, Dst: d})
			}
		}
	}
	return o.follow(&next, places)
}

// bySwitch takes whichever switch can be next until none can.
func (o *ordering) bySwitch() bool {
	for before := len(o.left) + 1; len(o.left) < before; {
		before = len(o.left)
		var wait []change
		for i, k := 0, 0; i < len(o.left); i = k {
			for k = i; k < len(o.left) && o.left[k].at == o.left[i].at; {
				k++
			}
			if !o.step(o.left[i:k]) {
				wait = append(wait, o.left[i:k]...)
			}
		}
		o.left = wait
	}
	return len(o.left) == 0 && o.addresses()
}

// byEntry takes those first from which packets go on by entries that are new already.
func (o *ordering) byEntry() bool {
	type spot struct {
		at    weft.SwitchID
		layer weft.VC
		dst   weft.NICID
	}
	for before := len(o.left) + 1; len(o.left) < before; {
		before = len(o.left)
		old := map[spot]bool{}
		for _, c := range o.left {
			old[spot{c.at, c.layer, c.dst}] = true
		}
		var next, wait []change
		for _, c := range o.left {
			to, _, _ := o.now.Graph.Peer(weft.End{Node: c.at.Node(), Port: c.hop.Port})
			if to.Node.IsSwitch() && old[spot{weft.SwitchID(to.Node.Index), c.layer, c.dst}] {
				wait = append(wait, c)
			} else {
				next = append(next, c)
			}
		}
		if !o.step(next) {
			return false
		}
		o.left = wait
	}
	return len(o.left) == 0 && o.addresses()
}
