package fabric

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// counted is what is known of the nodes of a host: in this process their state now, elsewhere what
// the host told last. For the numbers of this moment, call refreshCounters first. Nobody changes
// what its methods return.
type counted interface {
	// held reports whether damping keeps an end of a link down.
	held(e weft.End) bool
	// readInto reads all nodes of the host into two lists by number, and steps the ledger with
	// their counters.
	readInto(switches []switching.Reading, nics []nic.Reading)
	// switchNow and nicNow read one node for a viewer.
	switchNow(id weft.SwitchID, r *switching.Reading)
	nicNow(id weft.NICID) nic.Reading
	// mayHold reports whether a packet may be inside a switch.
	mayHold(id weft.SwitchID, h *weft.Header) bool
	// mergeLatency adds the latencies of all NICs to h.
	mergeLatency(hist *hdrhistogram.Histogram)
}

// remoteCounters is a host in another process.
type remoteCounters struct{ *hostState }

func (p remoteCounters) held(e weft.End) bool                             { return p.counters.Load().held[e] }
func (p remoteCounters) mayHold(weft.SwitchID, *weft.Header) bool         { return true } // nobody can tell
func (p remoteCounters) switchNow(id weft.SwitchID, r *switching.Reading) { *r = p.readSwitch(id) }
func (p remoteCounters) nicNow(id weft.NICID) nic.Reading                 { return p.readNIC(id) }

func (p remoteCounters) readInto(switches []switching.Reading, nics []nic.Reading) {
	for _, id := range p.switches {
		switches[id] = p.readSwitch(id)
	}
	for _, id := range p.nics {
		nics[id] = p.readNIC(id)
	}
}

func (p remoteCounters) mergeLatency(hist *hdrhistogram.Histogram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retiredLatency != nil {
		hist.Merge(p.retiredLatency)
	}
	data := p.counters.Load().own.Latency
	if data == nil {
		return
	}
	l, err := host.DecodeLatency(data)
	if err != nil {
		p.site.opts.Log.Warn("latencies of a host", "host", p.name, "err", err)
		return
	}
	hist.Merge(l)
}

// ownCounters is a host in this process.
type ownCounters struct {
	*hostState
	*host.Local
}

func (p ownCounters) readInto(switches []switching.Reading, nics []nic.Reading) {
	asked := p.site.Now()
	p.storeLocalCounters(p.Look(p.localRequest(), switches, nics), asked)
}

func (p ownCounters) held(e weft.End) bool { return p.ReadEnd(e).Suppressed }

func (p ownCounters) switchNow(id weft.SwitchID, r *switching.Reading) { p.ReadSwitch(id, r) }
func (p ownCounters) nicNow(id weft.NICID) nic.Reading                 { return p.ReadNIC(id) }
func (p ownCounters) mayHold(id weft.SwitchID, h *weft.Header) bool    { return p.Holds(id, h) }
func (p ownCounters) mergeLatency(hist *hdrhistogram.Histogram)        { p.MergeLatency(hist) }
