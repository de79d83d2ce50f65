package fabric

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/fabricd/part"
)

// hearProcesses listens to what processes tell.
func (f *Fabric) hearProcesses() error {
	if f.opts.Processes == nil {
		return nil
	}
	return f.opts.Processes.Peers.Hear(f.hear)
}

// hear takes what the process of a switch tells.
func (f *Fabric) hear(node, kind string, data []byte) {
	if i := slices.IndexFunc(f.parts, func(p *outpost) bool { return p.name == node }); i >= 0 {
		f.parts[i].hear(kind, data)
		return
	}
	id, err := f.graph.SwitchByName(node)
	if err != nil || kind != member.TellSeen {
		return
	}
	s := f.switches[id]
	var seen member.Seen
	if err := json.Unmarshal(data, &seen); err != nil {
		f.opts.Log.Warn("switch process", "switch", node, "err", err)
		return
	}
	p := s.process()
	if p == nil || p.number != seen.Number {
		return
	}
	now := f.Now()
	w := watcher{fabric: f, node: s.id.Node(), name: s.name}
	p.mu.Lock()
	if p.ended() {
		p.mu.Unlock()
		return
	}
	for _, o := range seen.Events {
		for i := range o.Hops {
			o.Hops[i].Switch = s.id // it speaks for no other
			o.Hops[i].Candidates = o.Hops[i].Candidates[:min(len(o.Hops[i].Candidates), s.core.Ports()*f.opts.Switch.VCs)]
		}
		at := max(0, min(o.At, now))
		w.Observe(at, o.Actions())
		if o.Effects {
			f.monitor.touch(at)
		}
	}
	p.heard = max(p.heard, seen.Upto)
	p.mu.Unlock()
	p.told.notify()
}

// refreshSums has all that run nodes elsewhere tell what they have counted, for what is about to be added up.
func (f *Fabric) refreshSums() {
	f.readProcesses()
	f.refreshParts(part.SumRequest{})
}

// readProcesses reads the state of all switch processes, at once, for what is about to be added up. It waits for none that
// does not answer.
func (f *Fabric) readProcesses() {
	var wg sync.WaitGroup
	for _, s := range f.switches {
		if p := s.process(); p != nil && !p.quiet.Load() {
			wg.Go(func() { _ = p.ask(member.AskState, nil) })
		}
	}
	wg.Wait()
}

// endProcesses tells all switch processes that the fabric has ended.
func (f *Fabric) endProcesses() {
	var wg sync.WaitGroup
	for _, s := range f.switches {
		if p := s.process(); p != nil {
			wg.Go(func() {
				_ = p.ask(member.AskEnd, member.EndOrder{Why: "fabric " + f.opts.Processes.Fabric + " has been stopped"})
				p.hush()
			})
		}
	}
	wg.Wait()
}

// orderCuts tells the processes at the ends of links what is cut, since they enforce it too.
func (f *Fabric) orderCuts(cut, restored []channelOf) {
	if f.opts.Processes == nil {
		return
	}
	orders := map[*process]*member.CutOrder{}
	of := func(d bus.Direction) (found []*member.CutOrder) {
		for _, name := range []string{d.From, d.To} {
			id, err := f.graph.SwitchByName(name)
			if err != nil {
				continue
			}
			if p := f.switches[id].process(); p != nil {
				if orders[p] == nil {
					orders[p] = &member.CutOrder{}
				}
				found = append(found, orders[p])
			}
		}
		return found
	}
	for _, c := range cut {
		d := c.l.dirs[c.d]
		for _, o := range of(d) {
			o.Cut = append(o.Cut, d)
		}
	}
	for _, c := range restored {
		d := c.l.dirs[c.d]
		for _, o := range of(d) {
			o.Restored = append(o.Restored, d)
		}
	}
	var wg sync.WaitGroup
	for p, o := range orders {
		wg.Go(func() { _ = p.ask(member.AskCut, o) })
	}
	wg.Wait()
}

// absent reports whether an end of l is a process, or in a part, that does not answer, so that nobody waits for it.
func (f *Fabric) absent(l *link) bool {
	for _, e := range l.ends() {
		if e.Node.IsSwitch() {
			if p := f.switches[e.Node.Index].process(); p != nil && p.quiet.Load() {
				return true
			}
		}
		if p := f.outpostOf(e.Node); p != nil && p.quiet.Load() && !p.lost.Load() {
			return true
		}
	}
	return false
}

// linkAt is the link at a port, and which of its ends that is.
func (f *Fabric) linkAt(e weft.End) (l *link, side int, ok bool) {
	_, id, ok := f.graph.Peer(e)
	if !ok {
		return nil, 0, false
	}
	l = f.links[id]
	if l.B == e {
		side = 1
	}
	return l, side, true
}
