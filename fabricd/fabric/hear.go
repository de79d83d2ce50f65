package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// hearProcesses listens to what processes tell.
func (f *Fabric) hearProcesses() error {
	if f.opts.Processes == nil {
		return nil
	}
	return f.opts.Processes.Hosts.Hear(f.hear)
}

// hear takes what a part, or the process of a switch, tells.
func (f *Fabric) hear(node string, seen host.Seen) {
	if p := f.outpostNamed(node); p != nil {
		p.hear(seen)
		return
	}
	if id, err := f.graph.SwitchByName(node); err == nil {
		if p := f.switches[id].process(); p != nil {
			p.hear(seen)
		}
	}
}

// absent reports whether an end of l is in a part that does not answer, so that nobody waits for it.
func (f *Fabric) absent(l *link) bool {
	for _, e := range l.ends() {
		if p := f.outpostOf(e.Node); p.quiet.Load() && !p.lost.Load() {
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
