package harness

import (
	"cmp"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// maxPaths bounds how many packets a recorder remembers, some 2 KB each; the oldest are forgotten.
const maxPaths = 1 << 14

// recorder keeps the paths of traced packets. It implements fabric.Recorder.
type recorder struct {
	graph *topology.Graph

	mu       sync.Mutex
	paths    map[Packet]*Path         // guarded by mu
	order    []Packet                 // guarded by mu: the keys of paths, a ring once it is full
	oldest   int                      // guarded by mu: where the ring begins
	waiting  map[Packet]chan struct{} // guarded by mu: closed when the packet ends
	dropped  *Path                    // guarded by mu: the latest packet that was lost or discarded, traced or not
	bad      []string                 // guarded by mu: what should not have happened to the links
	arrivals map[flow]*arrivals       // guarded by mu: of the flows of which a traced packet has arrived

	panics     int      // guarded by mu: in Route, since takePanics
	panicTexts []string // guarded by mu: of the first of them
}

func newRecorder(g *topology.Graph) *recorder {
	return &recorder{
		graph: g, paths: map[Packet]*Path{}, waiting: map[Packet]chan struct{}{},
		arrivals: map[flow]*arrivals{},
	}
}

// Record implements fabric.Recorder.
func (r *recorder) Record(_ weft.Time, node weft.Node, a *weft.Actions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range a.Hops {
		p := r.of(key(&a.Hops[i].Header))
		hop := a.Hops[i]
		hop.Candidates = slices.Clone(hop.Candidates)
		p.Hops = append(p.Hops, hop)
	}
	for i := range a.Arrived {
		p := r.of(key(&a.Arrived[i]))
		r.end(p, weft.Delivered, node, "")
		of := r.arrivals[p.Packet.flow()]
		if of == nil {
			of = &arrivals{}
			r.arrivals[p.Packet.flow()] = of
		}
		of.add(p.Packet)
	}
	for i := range a.Drops {
		d := &a.Drops[i]
		p := &Path{Packet: key(&d.Header), graph: r.graph}
		if d.Header.Traced {
			p = r.of(p.Packet)
		}
		r.end(p, d.Account, node, d.Rule)
		r.dropped = p
	}
}

func key(h *weft.Header) Packet { return Packet{Src: h.Src, Dst: h.Dst, Seq: h.Seq} }

// of returns the path of a packet, a new one if need be. The caller holds mu.
func (r *recorder) of(k Packet) *Path {
	p := r.paths[k]
	if p != nil {
		return p
	}
	if len(r.order) < maxPaths {
		r.order = append(r.order, k)
	} else {
		delete(r.paths, r.order[r.oldest])
		r.order[r.oldest] = k
		r.oldest = (r.oldest + 1) % maxPaths
	}
	p = &Path{Packet: k, graph: r.graph}
	r.paths[k] = p
	return p
}

// end closes the path p and wakes who waits for it. The caller holds mu.
func (r *recorder) end(p *Path, account weft.Account, node weft.Node, rule string) {
	p.End, p.At, p.Rule = account, r.graph.Name(node), rule
	if ch := r.waiting[p.Packet]; ch != nil {
		close(ch)
		delete(r.waiting, p.Packet)
	}
}

// path copies the path of a packet as far as it is known.
func (r *recorder) path(k Packet) Path {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.paths[k]; p != nil {
		return p.copy()
	}
	return Path{Packet: k, graph: r.graph}
}

// sent notes a packet that Send has sent.
func (r *recorder) sent(k Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(k).sent = true
}

// pending are the packets of a flow that Send has sent and that have not ended, the oldest first.
func (r *recorder) pending(f flow) (packets []Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.order {
		k := r.order[(r.oldest+i)%len(r.order)]
		if p := r.paths[k]; k.flow() == f && p.sent && p.End == 0 {
			packets = append(packets, k)
		}
	}
	return packets
}

// lost notes that a packet which has not ended is nowhere any more, and copies its path.
func (r *recorder) lost(k Packet) Path {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.of(k)
	p.End = cmp.Or(p.End, weft.LostWire)
	return p.copy()
}

// arrivalsOf is in which order packets of the flow have arrived; it reports false when none has.
func (r *recorder) arrivalsOf(f flow) (arrivals, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.arrivals[f]; a != nil {
		return *a, true
	}
	return arrivals{}, false
}

// all copies every path as far as it is known, the oldest first.
func (r *recorder) all() (paths []Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.order {
		p := r.paths[r.order[(r.oldest+i)%len(r.order)]]
		if len(p.Hops) > 0 || p.End != 0 { // else it has only been sent
			paths = append(paths, p.copy())
		}
	}
	return paths
}

// changed returns a channel that is closed when the packet ends. Ask for it before you look at the
// path.
func (r *recorder) changed(k Packet) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := r.waiting[k]
	if ch == nil {
		ch = make(chan struct{})
		r.waiting[k] = ch
	}
	return ch
}

// lastDrop describes the latest packet that was lost in a switch or discarded.
func (r *recorder) lastDrop() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.dropped == nil:
		return "no switch lost or discarded a packet"
	case len(r.dropped.Hops) == 0:
		return "the last one: " + r.dropped.String() + "\n  harness.TraceEvery(1) records the paths of all packets"
	}
	return "the last one: " + r.dropped.String()
}

// trouble notes what should not have happened to the links.
func (r *recorder) trouble(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bad) < 10 {
		r.bad = append(r.bad, what)
	}
}

// linkErrors are the first ten of these.
func (r *recorder) linkErrors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bad
}
