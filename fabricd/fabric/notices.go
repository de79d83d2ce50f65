package fabric

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// maxNotices bounds the notices on their way, chosen by us. Those beyond it are lost; the next
// discard sends another.
const maxNotices = 4096

// notices are on their way from switches to the sources of packets that these have discarded. They
// do not travel on the links: like other management datagrams they take no credits, and they reach
// a source whose path to the switch is dead.
type notices struct {
	queue chan weft.Notice // bound: maxNotices
	lost  *atomic.Uint64
	wake  *waker
}

func newNotices(on bool) notices {
	size := 0
	if on {
		size = maxNotices
	}
	return notices{queue: make(chan weft.Notice, size), lost: new(atomic.Uint64), wake: new(waker)}
}

// firmware is the firmware of every switch; with the option Notices, one that sends them.
func (o Options) firmware() (switching.Firmware, error) {
	if o.NIC.Notices == 0 {
		return o.Firmware, nil
	}
	fw, ok := o.Firmware.(switching.Notifier)
	if !ok {
		return nil, fmt.Errorf("fabric: notices: this firmware (%T) tells no sources of discards: leave notices off, or choose one that does: %s",
			o.Firmware, strings.Join(firmware.Notifiers(), ", "))
	}
	return fw.Notifying(), nil
}

// notify queues notices and never waits. They may come from any process, so it checks them.
func (f *Fabric) notify(list []weft.Notice) {
	if f.opts.NIC.Notices == 0 {
		return
	}
	for _, n := range list {
		if int(n.Src) >= len(f.graph.NICs) || int(n.Dst) >= len(f.graph.NICs) {
			continue
		}
		select {
		case f.notices.queue <- n:
			f.notices.wake.wake()
		default:
			f.notices.lost.Add(1)
		}
	}
}

// carryNotices hands queued notices to NICs. One goroutine does so for all switches: the core that
// reports a notice holds its own lock, and must not take another core's.
func (f *Fabric) carryNotices() {
	for {
		var list []weft.Notice
		for more := true; more; {
			select {
			case n := <-f.notices.queue:
				list = append(list, n)
			default:
				more = false
			}
		}
		if len(list) == 0 {
			return
		}
		_ = f.sendNotices(list).wait() // a host that does not answer loses its notices, which costs the discards that bring them again
	}
}

// sendNotices sends notices to the hosts of their NICs.
func (f *Fabric) sendNotices(list []weft.Notice) (sent dispatched) {
	of := map[*hostState][]weft.Notice{}
	var hosts []*hostState // in the order of the list
	for _, n := range list {
		h := f.nics[n.Src].home
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
