package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// Recorder hears of single packets: of every drop, and of traced packets every hop and the
// delivery. It is called under the lock of the reporting node: it must return at once, must not
// call the fabric, and must keep nothing of its arguments, not even the candidates of hops.
type Recorder interface {
	Record(now weft.Time, node weft.Node, a *weft.Actions)
}

// watcher is the fabric's observer at one node.
type watcher struct {
	fabric *Fabric
	node   weft.Node
	name   string
}

// Observe implements switchd.Observer.
func (w *watcher) Observe(now weft.Time, a *weft.Actions) {
	for _, c := range a.Changes {
		end := weft.End{Node: w.node, Port: c.Port}
		_, id, ok := w.fabric.graph.Peer(end)
		if !ok {
			continue
		}
		started := w.fabric.started.Load()
		w.fabric.portChanged(leader.PortChanged{End: end, Up: c.Up, At: now, Why: c.Why, Started: started})
		if !started {
			continue // thousands of links coming up for the first time are no news
		}
		w.fabric.touch(now)
		w.change(now, end, id, c)
	}
	w.fabric.notify(a.Notices)
	if a.Turned > 0 {
		w.fabric.rerouted(now)
		w.fabric.touch(now)
	}
	if len(a.Drops) > 0 {
		w.fabric.touch(now)
	}
	if len(a.Changes) > 0 {
		w.fabric.portsChanged()
		w.fabric.manager.wake()
	}
	for _, e := range a.Faults {
		w.fault(now, e)
	}
	w.fabric.traces.add(now, w.node, a)
	if r := w.fabric.opts.Record; r != nil && len(a.Drops)+len(a.Hops)+len(a.Arrived) > 0 {
		r.Record(now, w.node, a)
	}
}

// change publishes that an end has its link or has lost it, limited, for a neighbour that starts
// again and again can cause any number of these.
func (w *watcher) change(now weft.Time, end weft.End, id weft.LinkID, c weft.PortChange) {
	e := Event{Kind: EventLinkUp, Link: w.fabric.links[id].Name, Node: w.name, Port: new(int(c.Port))}
	if !c.Up {
		e.Kind, e.Detail = EventLinkDown, c.Why.String()
	}
	if c.Up || c.Why == weft.ByNeighbour {
		w.fabric.publishLimited(now, eventSource{end: end}, changeLimit, e)
		return
	}
	w.fabric.events.Publish(now, e)
}

// fault publishes that a neighbour broke the protocol, or that frames from it were damaged.
func (w *watcher) fault(now weft.Time, f weft.Fault) {
	e := Event{Kind: EventProtocolFault, Node: w.name, Port: new(int(f.Port)), Detail: f.Err.Error(), Count: f.Count}
	if f.Damaged {
		e.Kind = EventDamaged
	}
	if l, _, ok := w.fabric.linkAt(weft.End{Node: w.node, Port: f.Port}); ok {
		e.Link = l.Name
	}
	w.fabric.publishLimited(now, eventSource{kind: e.Kind}, faultLimit, e)
}
