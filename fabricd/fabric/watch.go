package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// Recorder hears of single packets: of every drop, and of traced packets every hop and the
// delivery. It is called under the lock of the reporting node: it must return at once, must not
// call the fabric, and must keep nothing of its arguments, not even the candidates of hops.
type Recorder interface {
	Record(now weft.Time, node weft.Node, a *weft.Actions)
}

// observers take what nodes tell, in this process and elsewhere: they note it, and hand it to those
// who wait for it. The drivers of nodes and the bus call them.
type observers struct {
	*site
	notices *notices
	limits  *limits
	traces  *traces
}

// watcher is the observer at one node.
type watcher struct {
	*observers
	node weft.Node
	name string
}

// at is the observer at a node.
func (ob *observers) at(n weft.Node) *watcher { return &watcher{ob, n, ob.graph.Name(n)} }

// Observe implements switchd.Observer.
func (w *watcher) Observe(now weft.Time, a *weft.Actions) {
	for _, c := range a.Changes {
		end := weft.End{Node: w.node, Port: c.Port}
		_, id, ok := w.graph.Peer(end)
		if !ok {
			continue
		}
		started := w.started.Load()
		w.portChanged(leader.PortChanged{End: end, Up: c.Up, At: now, Why: c.Why, Started: started})
		if !started {
			continue // thousands of links coming up for the first time are no news
		}
		w.touch(now)
		w.change(now, end, id, c)
	}
	w.notices.notify(a.Notices)
	if a.Turned > 0 {
		w.rerouted(now)
		w.touch(now)
	}
	if len(a.Drops) > 0 {
		w.touch(now)
	}
	if len(a.Changes) > 0 {
		w.portsChanged()
		w.manager.wake()
	}
	for _, e := range a.Faults {
		w.fault(now, e)
	}
	w.traces.add(now, w.node, a)
	if r := w.opts.Record; r != nil && len(a.Drops)+len(a.Hops)+len(a.Arrived) > 0 {
		r.Record(now, w.node, a)
	}
}

// change publishes that an end has its link or has lost it, limited, for a neighbour that starts
// again and again can cause any number of these.
func (w *watcher) change(now weft.Time, end weft.End, id weft.LinkID, c weft.PortChange) {
	e := Event{Kind: EventLinkUp, Link: w.links[id].Name, Node: w.name, Port: new(int(c.Port))}
	if !c.Up {
		e.Kind, e.Detail = EventLinkDown, c.Why.String()
	}
	if c.Up || c.Why == weft.ByNeighbour {
		w.limits.publish(now, eventSource{end: end}, changeLimit, e)
		return
	}
	w.events.Publish(now, e)
}

// fault publishes that a neighbour broke the protocol, or that frames from it were damaged.
func (w *watcher) fault(now weft.Time, f weft.Fault) {
	e := Event{Kind: EventProtocolFault, Node: w.name, Port: new(int(f.Port)), Detail: f.Err.Error(), Count: f.Count}
	if f.Damaged {
		e.Kind = EventDamaged
	}
	if l, _, ok := w.linkAt(weft.End{Node: w.node, Port: f.Port}); ok {
		e.Link = l.Name
	}
	w.limits.publish(now, eventSource{kind: e.Kind}, faultLimit, e)
}

// hear listens to what processes tell.
func (ob *observers) hear() error {
	if ob.opts.Processes == nil {
		return nil
	}
	return ob.opts.Processes.Hosts.Hear(ob.heard)
}

// heard takes what a host, or the process of a switch, tells.
func (ob *observers) heard(node string, batch host.EventBatch) {
	if h := ob.hostNamed(node); h != nil {
		ob.takeEvents(h, batch)
		return
	}
	if id, err := ob.graph.SwitchByName(node); err == nil {
		if h := ob.switches[id].owned(); h != nil {
			ob.takeEvents(h, batch)
		}
	}
}

// takeEvents takes what a host tells.
func (ob *observers) takeEvents(h *hostState, batch host.EventBatch) {
	h.mu.Lock()
	if batch.Number != h.number || h.failed.Load() {
		h.mu.Unlock()
		return
	}
	now := ob.Now()
	for i := range batch.Events {
		o := &batch.Events[i]
		n := o.Of()
		if !h.runs(n) {
			continue // it speaks for no other
		}
		for i := range o.Hops {
			o.Hops[i].Switch = weft.SwitchID(n.Index)
			o.Hops[i].Candidates = o.Hops[i].Candidates[:min(len(o.Hops[i].Candidates), weft.MaxPorts*ob.opts.Switch.VCs)]
		}
		at := h.clock.toLocal(o.At, now)
		w := ob.at(n)
		w.Observe(at, o.Actions())
		if o.Failed != "" && n.IsSwitch() {
			ob.failed(weft.SwitchID(n.Index), at, o.Failed)
		}
		if o.Effects {
			ob.touch(at)
		}
	}
	h.heard, h.correctedBy = max(h.heard, batch.Upto), nil
	h.mu.Unlock()
	h.news.notify()
}
