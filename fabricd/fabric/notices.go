package fabric

import (
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// maxNotices bounds the notices on their way, chosen by us. Those beyond it are lost; the next
// discard sends another.
const maxNotices = 4096

// notices are on their way from switches to the sources of packets that these have discarded. They
// do not travel on the links: like other management datagrams they take no credits, and they reach
// a source whose path to the switch is dead.
//
// The type owns their queue. Observers fill it, and one task empties it.
type notices struct {
	*nodes
	queue chan weft.Notice // bound: maxNotices; nil: switches send none
	lost  atomic.Uint64
	wake  waker
}

func newNotices(si *site) *notices {
	ns := &notices{nodes: si.nodes}
	if si.opts.NIC.Notices.Time() > 0 {
		ns.queue = make(chan weft.Notice, maxNotices)
	}
	return ns
}

// notify queues notices and never waits. They may come from any process, so it checks them.
func (ns *notices) notify(list []weft.Notice) {
	if ns.queue == nil {
		return
	}
	for _, n := range list {
		if int(n.Src) >= len(ns.graph.NICs) || int(n.Dst) >= len(ns.graph.NICs) {
			continue
		}
		select {
		case ns.queue <- n:
			ns.wake.wake()
		default:
			ns.lost.Add(1)
		}
	}
}

// carry hands queued notices to NICs. One goroutine does so for all switches: the core that
// reports a notice holds its own lock, and must not take another core's.
func (ns *notices) carry() {
	for {
		var list []weft.Notice
		for more := true; more; {
			select {
			case n := <-ns.queue:
				list = append(list, n)
			default:
				more = false
			}
		}
		if len(list) == 0 {
			return
		}
		// a host that does not answer loses its notices, which costs the discards that bring them again
		_ = ns.send(list).wait()
	}
}

// send sends notices to the hosts of their NICs.
func (ns *notices) send(list []weft.Notice) (sent dispatched) {
	of := map[*hostState][]weft.Notice{}
	var hosts []*hostState // in the order of the list
	for _, n := range list {
		h := ns.nics[n.Src].home
		if of[h] == nil {
			hosts = append(hosts, h)
		}
		of[h] = append(of[h], n)
	}
	for _, h := range hosts {
		sent = append(sent, h.send(host.Order{Notices: of[h]}))
	}
	return sent
}
