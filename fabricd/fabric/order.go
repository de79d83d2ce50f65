package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/linkmon/fault"
	"github.com/weft-fabric/weft/nic/nicd"
	"github.com/weft-fabric/weft/switch/pace"
)

// here are the nodes that this process runs itself.
type here struct {
	switches []*liveSwitch
	nics     []*liveNIC
}

// liveNIC is a NIC with its driver.
type liveNIC struct {
	*nicd.NIC // nil: a part runs it
	id        weft.NICID
	part      *outpost // that runs it; nil: this process does
}

// outpostOf is the part that runs a node, nil when this process does.
func (f *Fabric) outpostOf(n weft.Node) *outpost {
	if n.IsSwitch() {
		return f.switches[n.Index].part
	}
	return f.nics[n.Index].part
}

// orders are what nodes are told at one instant. Those of this process act while it is said; parts are told once each, when all has
// been said.
type orders struct {
	f *Fabric
}

// give gives orders. When it returns they have been carried out, but by parts and processes that do not answer: these are told
// again when they do. The caller holds mu.
func (f *Fabric) give(say func(o *orders)) {
	o := &orders{f: f}
	say(o)
}

// cut has the ends of channels keep what is cut, and let through again what is not.
func (o *orders) cut(cut, restored []channelOf) {}

// signal gives or takes signal at one end.
func (o *orders) signal(e weft.End, up bool) {
	if e.Node.IsSwitch() {
		o.f.switches[e.Node.Index].Signal(e.Port, up)
		return
	}
	o.f.nics[e.Node.Index].Signal(e.Port, up)
}

// align gives the ends of l the signal they should have; those that have it already say hello at once, since something has
// changed.
func (o *orders) align(l *link) {
	want := o.f.signals(l)
	for i, e := range l.ends() {
		if want[i] || l.lit[i] {
			o.signal(e, want[i])
		}
		l.lit[i] = want[i]
	}
}

// bounce tells an end that nothing comes to it any more. It starts anew, and its hello tells its neighbour.
func (o *orders) bounce(e weft.End) {
	_, id, _ := o.f.graph.Peer(e)
	if l := o.f.links[id]; l.lit[0] && l.lit[1] {
		o.signal(e, false)
		o.signal(e, true)
	}
}

// impair makes direction d suffer what l.suffers says.
func (o *orders) impair(l *link, d int) {
	e, i := l.ends()[d], impairment(l.suffers[d])
	if e.Node.IsSwitch() {
		o.f.switches[e.Node.Index].Impair(e.Port, i)
		return
	}
	o.f.nics[e.Node.Index].Impair(e.Port, i)
}

func impairment(s fault.Impairment) pace.Impairment {
	return pace.Impairment{Loss: s.Loss.Share(), Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter}
}

// crash loses all that s holds.
func (o *orders) crash(s *liveSwitch) { s.crashNow() }
