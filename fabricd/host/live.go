package host

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// Live is the [Runtime] of goroutines: a [NodeRuntime] on a transport.
type Live struct {
	Transport   wire.Transport
	Clock       *Clock
	Incarnation uint64 // see [MachineConfig]
	NoSelfProbe bool   // likewise

	NodeRuntime *NodeRuntime // that Build has made; whoever has built it runs it
	graph       *topology.Graph
}

var (
	_ Runtime  = (*Live)(nil)
	_ Listener = (*Live)(nil)
)

// Now implements Runtime.
func (l *Live) Now() weft.Time { return l.Clock.Now() }

// SetFactor has the clock go with another factor.
func (l *Live) SetFactor(factor float64) {
	l.Clock.SetFactor(factor)
	if l.NodeRuntime != nil {
		l.NodeRuntime.Recheck()
	}
}

// Build implements Runtime.
func (l *Live) Build(b BuildSpec) (switches, nics []Driver, err error) {
	l.graph = b.Graph
	m := NodeRuntimeConfig{
		Graph: b.Graph, Transport: l.Transport, Clock: l.Clock, Pace: b.Pace, Batch: b.Batch, Inbox: b.Inbox, Seed: b.Seed,
		Incarnation: l.Incarnation, Interval: b.Interval, NoSelfProbe: l.NoSelfProbe, Watch: b.Watch,
		Progress: b.Progress,
	}
	drive := func(n weft.Node, core weft.Core) {
		if core != nil {
			m.Nodes, m.Cores = append(m.Nodes, n), append(m.Cores, core)
		}
	}
	for i, core := range b.Switches {
		drive(weft.SwitchID(i).Node(), core)
	}
	for i, core := range b.NICs {
		drive(weft.NICID(i).Node(), core)
	}
	if l.NodeRuntime, err = NewNodeRuntime(m); err != nil {
		return nil, nil, fmt.Errorf("links: %w", err)
	}
	driver := func(n weft.Node) Driver {
		if d := l.NodeRuntime.Driver(n); d != nil {
			return d
		}
		return nil
	}
	for i := range b.Switches {
		switches = append(switches, driver(weft.SwitchID(i).Node()))
	}
	for i := range b.NICs {
		nics = append(nics, driver(weft.NICID(i).Node()))
	}
	return switches, nics, nil
}

// Cut implements Runtime.
func (l *Live) Cut(from []weft.End) error { return l.Transport.Cut(l.directions(from)...) }

// Restore implements Runtime.
func (l *Live) Restore(from []weft.End) error { return l.Transport.Restore(l.directions(from)...) }

// Listen implements Listener.
func (l *Live) Listen(ends []weft.End) (errs error) {
	for i, d := range l.directions(ends) {
		errs = errors.Join(errs, l.Transport.Listen(d.Reverse(), l.NodeRuntime.Inbox(ends[i])))
	}
	return errs
}

// Unlisten implements Listener.
func (l *Live) Unlisten(ends []weft.End) (errs error) {
	for _, d := range l.directions(ends) {
		errs = errors.Join(errs, l.Transport.Unlisten(d.Reverse()))
	}
	return errs
}

func (l *Live) directions(from []weft.End) []wire.Direction {
	out := make([]wire.Direction, len(from))
	for i, e := range from {
		out[i], _ = Direction(l.graph, e)
	}
	return out
}

// Shards is how many connections carry the links.
func (l *Live) Shards() int { return l.Transport.Shards() }

// Shard is the connection of a node, -1 if it is another host's.
func (l *Live) Shard(node string) int { return l.Transport.Shard(node) }
