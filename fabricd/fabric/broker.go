package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/switch/wire"
)

// broker takes links down and up again with the connections that carry them. It owns the
// transport's events; one goroutine calls it.
type broker struct {
	*decisions
	transportEvents *host.TransportEvents
}

// carry acts on the transport's events until ctx ends.
func (b *broker) carry(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.transportEvents.News:
		}
		for _, e := range b.transportEvents.Take() {
			b.transportEvent(ctx, e)
		}
	}
}

// brokerKinds names the events of the transport as the event stream does.
var brokerKinds = map[wire.EventKind]string{
	wire.EventSlowConsumer: EventSlowConsumer,
	wire.EventDisconnected: EventBrokerLost,
	wire.EventReconnected:  EventBrokerBack,
	wire.EventConnError:    EventBrokerError,
	wire.EventUnknown:      EventUnknownSubject,
	wire.EventFull:         EventInboxFull,
	wire.EventTooLarge:     EventTooLarge,
	wire.EventUnauthorized: EventUnauthorized,
}

func (b *broker) transportEvent(ctx context.Context, e wire.Event) {
	if b.opts.TransportEvent != nil {
		b.opts.TransportEvent(e)
	}
	switch e.Kind {
	case wire.EventDisconnected:
		b.brokerLost(e)
	case wire.EventReconnected:
		b.brokerBack(ctx, e.Shard)
	default:
		b.opts.Log.Warn("links", "event", e.String())
		b.events.Publish(b.Now(), Event{Kind: brokerKinds[e.Kind], Detail: detailOf(e)})
	}
}

// detailOf puts into words what e says beside its kind.
func detailOf(e wire.Event) string {
	s := fmt.Sprintf("connection %d", e.Shard)
	if e.Subject != "" {
		s += ", " + e.Subject
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Count > 1 {
		s += fmt.Sprintf(" (%d so far)", e.Count)
	}
	return s
}

// carried are the links of which that connection carries a direction.
func (b *broker) carried(shard int) (links []weft.LinkID) {
	t := b.opts.Transport
	// Other hosts have connections of their own.
	ours := func(n weft.Node, name string) bool { return b.home(n) == b.local && t.Shard(name) == shard }
	for _, l := range b.links {
		if ours(l.A.Node, l.dirs[0].From) || ours(l.B.Node, l.dirs[0].To) {
			links = append(links, l.ID)
		}
	}
	return links
}

// brokerLost takes the links of a connection down.
func (b *broker) brokerLost(e wire.Event) {
	b.lookAtHosts()
	note := ""
	if e.Err != nil {
		note = e.Err.Error()
	}
	// The error is that the fabric has been stopped.
	_, _ = b.begin(leader.BrokerLost{Shard: e.Shard, Links: b.carried(e.Shard), Note: note, Detail: detailOf(e)})
}

// brokerBack brings the links of a connection up again, unless something else keeps them down.
func (b *broker) brokerBack(ctx context.Context, shard int) {
	detail := fmt.Sprintf("connection %d", shard)
	if err := b.do(ctx, leader.BrokerBack{Shard: shard}); err != nil {
		detail += ": " + err.Error()
	}
	b.events.Publish(b.Now(), Event{Kind: EventBrokerBack, Detail: detail})
}
