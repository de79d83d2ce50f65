package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/switch/wire"
)

// carry acts on what the transport tells until ctx ends.
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

// detailOf is what there is to say of e beside its kind.
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

// carried are the links of which a direction is carried by that connection. The caller holds mu.
func (f *Fabric) carried(shard int) (links []*link) {
	t := f.opts.Transport
	ours := func(n weft.Node, name string) bool { return f.home(n) == f.local && t.Shard(name) == shard } // hosts have connections of their own
	for _, l := range f.links {
		if ours(l.A.Node, l.dirs[0].From) || ours(l.B.Node, l.dirs[0].To) {
			links = append(links, l)
		}
	}
	return links
}

// brokerLost takes the links of a connection down: its loss is as good as loss of signal at all of them.
func (f *Fabric) brokerLost(e wire.Event) {
	f.lookAtHosts()
	f.mu.Lock()
	defer f.mu.Unlock()
	links := f.carried(e.Shard)
	var expect []weft.End
	for _, l := range links {
		expect = append(expect, l.endsUp()...)
	}
	note := ""
	if e.Err != nil {
		note = e.Err.Error()
	}
	rec := f.begin(fault.Report{
		Kind: KindBroker, Target: fmt.Sprintf("connection %d", e.Shard), What: fmt.Sprintf("connection %d to the broker is lost", e.Shard), Note: note,
	}, links, nil, expect)
	rec.detectedBy = fault.ByBroker
	f.dispatch(func(o *orders) {
		for _, l := range links {
			l.lostConnections[e.Shard] = rec
			o.sync(l)
		}
	})
	f.noteSeen()
	f.refresh(rec)
	f.events.Publish(f.Now(), Event{Kind: EventBrokerLost, Detail: detailOf(e), Fault: new(rec.report.Clone())})
}

// brokerBack brings the links of a connection up again, unless something else keeps them down.
func (f *Fabric) brokerBack(ctx context.Context, shard int) {
	b := f.restoreConnection(shard)
	detail := fmt.Sprintf("connection %d", shard)
	if err := b.finish(ctx); err != nil {
		detail += ": " + err.Error()
	}
	f.events.Publish(f.Now(), Event{Kind: EventBrokerBack, Detail: detail})
}

// restoreConnection gives the links of a connection signal again.
func (f *Fabric) restoreConnection(shard int) *batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rec *incident
	back := f.carried(shard)
	for _, l := range back {
		if r := l.lostConnections[shard]; r != nil {
			rec = r
			delete(l.lostConnections, shard)
		}
	}
	b := &batch{f: f, touched: back, back: back, steps: []step{{}}}
	if rec != nil {
		b.steps[0].ended = []*incident{rec}
	}
	b.act()
	return b
}
