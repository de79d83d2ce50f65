package fabric

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// counted is what is known of the nodes of a host: of one in this process as they are now, of others as these told it last. Whoever
// needs it of this moment has called refreshSums. What it returns is not changed any more.
type counted interface {
	// count is what nodes have counted that the ledger does not know; no more than that need be in it.
	count(what host.Counted) *host.Sum
	// held reports whether damping keeps an end of a link down.
	held(e weft.End) bool
	// readInto reads all nodes of the host into two lists by number, and has the ledger take what they have counted.
	readInto(switches []switching.Reading, nics []nic.Reading)
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

func (p remoteHost) count(host.Counted) *host.Sum                     { return &p.known.Load().all }
func (p remoteHost) held(e weft.End) bool                             { return p.known.Load().held[e] }
func (p remoteHost) mayHold(weft.SwitchID, *weft.Header) bool         { return true } // nobody can tell
func (p remoteHost) switchNow(id weft.SwitchID, r *switching.Reading) { *r = p.readSwitch(id) }
func (p remoteHost) nicNow(id weft.NICID) nic.Reading                 { return p.readNIC(id) }

func (p remoteHost) readInto(switches []switching.Reading, nics []nic.Reading) {
	for _, id := range p.switches {
		switches[id] = p.readSwitch(id)
	}
	for _, id := range p.nics {
		nics[id] = p.readNIC(id)
	}
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
	l, err := host.DecodeLatency(data)
	if err != nil {
		p.fabric.opts.Log.Warn("a part's latencies", "part", p.name, "err", err)
		return
	}
	h.Merge(l)
}

// localHost is a host in this process.
type localHost struct {
	*outpost
	*host.Local
}

func (p localHost) readInto(switches []switching.Reading, nics []nic.Reading) {
	asked := p.fabric.Now()
	s := p.Look(p.localRequest(), switches, nics)
	s.Asked = asked
	p.tell(&s)
}

func (p localHost) count(what host.Counted) *host.Sum {
	s := p.Count(what)
	return &s
}

func (p localHost) held(e weft.End) bool { return p.ReadEnd(e).Suppressed }

func (p localHost) switchNow(id weft.SwitchID, r *switching.Reading) { p.ReadSwitch(id, r) }
func (p localHost) nicNow(id weft.NICID) nic.Reading                 { return p.ReadNIC(id) }
func (p localHost) mayHold(id weft.SwitchID, h *weft.Header) bool    { return p.Holds(id, h) }
func (p localHost) mergeLatency(h *hdrhistogram.Histogram)           { p.MergeLatency(h) }
