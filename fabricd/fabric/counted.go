package fabric

import (
	"context"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// counted is what is known of the nodes of a host: of one in this process as they are now, of others as these told it last. Whoever
// needs it of this moment has called refreshSums. What it returns is not changed any more.
type counted interface {
	// all is everything.
	all() *account
	// count is what nodes have counted; no more than that need be in it.
	count(what part.Counted) *part.Sum
	// end is an end of a link; of a link inside another host it has only whether damping holds it.
	end(e weft.End) endState
	// loss is what a link inside the host has lost.
	loss(id weft.LinkID) LinkLoss
	// lostCrash is how many packets were inside a switch when it crashed.
	lostCrash(id weft.SwitchID) uint64
	// readInto is all, with readings of all nodes of the host in two lists by number.
	readInto(switches []switching.Reading, nics []nic.Reading) *account
	// switchNow and nicNow are for those who watch.
	switchNow(id weft.SwitchID, r *switching.Reading)
	nicNow(id weft.NICID) nic.Reading
	// mayHold reports whether a packet may be inside a switch.
	mayHold(id weft.SwitchID, h *weft.Header) bool
	// mergeLatency adds the latencies of all NICs to h.
	mergeLatency(h *hdrhistogram.Histogram)
}

// remoteHost is a host that tells what it has counted.
type remoteHost struct{ *outpost }

func (p remoteHost) all() *account                { return p.known.Load() }
func (p remoteHost) count(part.Counted) *part.Sum { return &p.known.Load().all }
func (p remoteHost) loss(id weft.LinkID) LinkLoss { return p.known.Load().lost[id] }

func (p remoteHost) lostCrash(id weft.SwitchID) uint64                { return p.known.Load().crash[id] }
func (p remoteHost) mayHold(weft.SwitchID, *weft.Header) bool         { return true } // nobody can tell
func (p remoteHost) switchNow(id weft.SwitchID, r *switching.Reading) { *r = p.readSwitch(id) }
func (p remoteHost) nicNow(id weft.NICID) nic.Reading                 { return p.readNIC(id) }

func (p remoteHost) readInto(switches []switching.Reading, nics []nic.Reading) *account {
	for _, id := range p.switches {
		switches[id] = p.readSwitch(id)
	}
	for _, id := range p.nics {
		nics[id] = p.readNIC(id)
	}
	return p.all()
}

func (p remoteHost) end(e weft.End) endState {
	a := p.known.Load()
	s, ok := a.ends[e]
	if !ok {
		s = endState{held: a.held[e], remote: true}
	}
	return s
}

func (p remoteHost) mergeLatency(h *hdrhistogram.Histogram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pastLatency != nil {
		h.Merge(p.pastLatency)
	}
	data := p.known.Load().own.Latency
	if data == nil {
		return
	}
	l, err := part.DecodeLatency(data)
	if err != nil {
		p.fabric.opts.Log.Warn("a part's latencies", "part", p.name, "err", err)
		return
	}
	h.Merge(l)
}

// localHost is a host in this process.
type localHost struct {
	*outpost
	*part.Local
}

func (p localHost) all() *account {
	s, _ := p.Sum(context.Background(), part.SumRequest{Ends: true}) // it fails for latencies only
	return p.account(p.fabric.Now(), s, tenure{})
}

func (p localHost) readInto(switches []switching.Reading, nics []nic.Reading) *account {
	return p.account(p.fabric.Now(), p.Look(switches, nics), tenure{})
}

func (p localHost) count(what part.Counted) *part.Sum {
	s := p.Count(what)
	return &s
}

func (p localHost) end(e weft.End) endState {
	r := p.ReadEnd(e)
	return endState{flow: r.Flow, sent: r.Flow.Sent, queued: r.Lost, held: r.Suppressed}
}

func (p localHost) loss(id weft.LinkID) LinkLoss {
	l := p.fabric.links[id]
	a, b := p.ReadEnd(l.A), p.ReadEnd(l.B)
	_, there := linkend.OnWire(a.Flow, b.Flow)
	_, back := linkend.OnWire(b.Flow, a.Flow)
	return LinkLoss{Wire: there + back, Queued: a.Lost + b.Lost}
}

func (p localHost) lostCrash(id weft.SwitchID) uint64 {
	var r switching.Reading
	p.ReadSwitch(id, &r)
	return r.Stats.LostCrash
}

func (p localHost) switchNow(id weft.SwitchID, r *switching.Reading) { p.ReadSwitch(id, r) }
func (p localHost) nicNow(id weft.NICID) nic.Reading                 { return p.ReadNIC(id) }
func (p localHost) mayHold(id weft.SwitchID, h *weft.Header) bool    { return p.Holds(id, h) }
func (p localHost) mergeLatency(h *hdrhistogram.Histogram)           { p.MergeLatency(h) }
