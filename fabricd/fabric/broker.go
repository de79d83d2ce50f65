package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/switch/wire"
)

// carry acts on the transport's events until ctx ends.
func (f *Fabric) carry(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.transportEvents.News:
		}
		for _, e := range f.transportEvents.Take() {
			f.transportEvent(ctx, e)
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

func (f *Fabric) transportEvent(ctx context.Context, e wire.Event) {
	if f.opts.TransportEvent != nil {
		f.opts.TransportEvent(e)
	}
	switch e.Kind {
	case wire.EventDisconnected:
		f.brokerLost(e)
	case wire.EventReconnected:
		f.brokerBack(ctx, e.Shard)
	default:
		f.opts.Log.Warn("links", "event", e.String())
		f.events.Publish(f.Now(), Event{Kind: brokerKinds[e.Kind], Detail: detailOf(e)})
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
func (f *Fabric) carried(shard int) (links []weft.LinkID) {
	t := f.opts.Transport
	ours := func(n weft.Node, name string) bool { return f.home(n) == f.local && t.Shard(name) == shard } // hosts have connections of their own
	for _, l := range f.links {
		if ours(l.A.Node, l.dirs[0].From) || ours(l.B.Node, l.dirs[0].To) {
			links = append(links, l.ID)
		}
	}
	return links
}

// brokerLost takes the links of a connection down.
func (f *Fabric) brokerLost(e wire.Event) {
	f.lookAtHosts()
	note := ""
	if e.Err != nil {
		note = e.Err.Error()
	}
	_, _ = f.begin(leader.BrokerLost{Shard: e.Shard, Links: f.carried(e.Shard), Note: note, Detail: detailOf(e)}) // or it has been stopped
}

// brokerBack brings the links of a connection up again, unless something else keeps them down.
func (f *Fabric) brokerBack(ctx context.Context, shard int) {
	detail := fmt.Sprintf("connection %d", shard)
	if err := f.do(ctx, leader.BrokerBack{Shard: shard}); err != nil {
		detail += ": " + err.Error()
	}
	f.events.Publish(f.Now(), Event{Kind: EventBrokerBack, Detail: detail})
}
