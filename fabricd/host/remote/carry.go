package remote

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

// maxNotices bounds the notices on their way within the host, chosen by us. Those beyond it are
// lost; the next discard sends another.
const maxNotices = 4096

// carry queues a notice if its source is a NIC of the host, and never waits.
func (p *Server) carry(n weft.Notice) bool {
	if !p.host.HasNIC(n.Src) {
		return false
	}
	select {
	case p.notices <- n:
	default:
		p.host.LoseNotice()
	}
	return true
}

// carryNotices hands queued notices to NICs. One goroutine does so for all switches: the core that
// reports a notice holds its own lock, and must not take another core's.
func (p *Server) carryNotices(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-p.notices:
			p.host.Notice(n)
		}
	}
}

// carryTransportEvents acts on the transport's events.
func (p *Server) carryTransportEvents(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.transportEvents.News:
		}
		for _, e := range p.transportEvents.Take() {
			p.log.Warn("links", "host", p.spec.Host, "event", e.String())
			switch e.Kind {
			case wire.EventDisconnected:
				p.host.SetConnection(e.Shard, true)
			case wire.EventReconnected:
				p.host.SetConnection(e.Shard, false)
			default:
			}
		}
	}
}
