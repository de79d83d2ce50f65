package api

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

// Verbs about traced packets.
const (
	VerbTrace = "trace"    // a TraceRequest; for operators, since it may send packets
	VerbHops  = "get.hops" // a HopsRequest
)

// TraceRequest orders that the next packets of a flow be traced. It is answered with a
// [fabric.Tracing].
type TraceRequest struct {
	Src   string `json:"src"` // NICs by name
	Dst   string `json:"dst"`
	Count int    `json:"count,omitempty"` // 1 to fabric.MaxTraced; 0 is 1
}

// HopsRequest asks for what was told of traced packets after a number, oldest first: at most 64,
// the next ones when asked again. What nobody asks for is not encoded, let alone published: packets
// may be traced all the time.
type HopsRequest struct {
	After uint64 `json:"after"`
}

// HopsAnswer is what was told of traced packets.
type HopsAnswer struct {
	Hops   []fabric.HopView `json:"hops"`
	Last   uint64           `json:"last"`             // the number to ask for what follows
	Missed uint64           `json:"missed,omitempty"` // events before Hops that are no longer kept
}

// hopsPage bounds the views of one answer: one of a switch of 256 ports has some 10 KB, a NATS
// message 1 MB.
const hopsPage = 64

func (s *Server) trace(_ context.Context, r TraceRequest) (fabric.Tracing, error) {
	g := s.fabric.Topology()
	src, err := g.NICByName(r.Src)
	if err != nil {
		return fabric.Tracing{}, err
	}
	dst, err := g.NICByName(r.Dst)
	if err != nil {
		return fabric.Tracing{}, err
	}
	r.Count = cmp.Or(r.Count, 1)
	return s.fabric.Trace(src, dst, r.Count)
}

func (s *Server) hops(_ context.Context, r HopsRequest) (HopsAnswer, error) {
	views, last, missed := s.fabric.Hops(r.After)
	if len(views) > hopsPage {
		views = views[:hopsPage]
		last = views[hopsPage-1].N
	}
	if views == nil {
		views = []fabric.HopView{}
	}
	return HopsAnswer{Hops: views, Last: last, Missed: missed}, nil
}

// Trace orders that the next packets of a flow be traced, see [fabric.Fabric.Trace].
func (c *Client) Trace(ctx context.Context, r TraceRequest) (fabric.Tracing, error) {
	return ask[fabric.Tracing](ctx, c, VerbTrace, r)
}

// hopsEvery is how often Hops asks when there was nothing new. Chosen by us: soon enough for a
// human.
const hopsEvery = 50 * time.Millisecond

// Hops calls f for what is told of traced packets after a number, what is kept of it first, until
// ctx ends or f returns an error.
func (c *Client) Hops(ctx context.Context, after uint64, f func(fabric.HopView) error) error {
	tick := time.NewTicker(hopsEvery)
	defer tick.Stop()
	for {
		a, err := ask[HopsAnswer](ctx, c, VerbHops, HopsRequest{After: after})
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		for i, v := range a.Hops {
			if i == 0 {
				v.Missed = a.Missed
			}
			if err := f(v); err != nil {
				return err
			}
		}
		after = a.Last
		if len(a.Hops) == hopsPage {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
