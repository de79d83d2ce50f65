package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Client is a tool's view of a running fabric. Its methods may be called concurrently.
type Client struct{ bus *bus.Client }

// Dial connects to a fabric of the registry: as its operator when it is to act, otherwise as a
// viewer, whom the broker lets change nothing.
func Dial(e registry.Entry, program string, act bool) (*Client, error) {
	login := e.Viewer
	if act {
		login = e.Operator
	}
	c, err := bus.Dial(bus.ClientConfig{Fabric: e.Name, URL: e.URL, Program: program, Credentials: login, Gone: e.Gone})
	if err != nil {
		return nil, err
	}
	return &Client{bus: c}, nil
}

// Close ends the client.
func (c *Client) Close() error { return c.bus.Close() }

func ask[Resp any](ctx context.Context, c *Client, verb string, req any) (Resp, error) {
	return bus.Call[Resp](ctx, c.bus, ctl(verb), req)
}

// askWithin is ask, for no longer than limit when ctx has no deadline.
func askWithin[Resp any](ctx context.Context, c *Client, limit time.Duration, verb string, req any) (Resp, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return ask[Resp](ctx, c, verb, req)
}

// Status asks for the fabric at a glance.
func (c *Client) Status(ctx context.Context) (Status, error) {
	s, err := ask[Status](ctx, c, VerbStatus, nil)
	if s.Hosts == nil { // an older fabricd knows the old names alone
		s.Hosts = s.Parts
		for i := range s.Hosts {
			s.Hosts[i].Host = s.Hosts[i].Part
		}
	}
	return s, err
}

// Topology asks for the graph, as JSON.
func (c *Client) Topology(ctx context.Context) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, VerbTopology, nil)
}

// Switches asks for the names of all switches.
func (c *Client) Switches(ctx context.Context) (names []string, err error) {
	graph, err := ask[struct {
		Switches []struct {
			ID string `json:"id"`
		} `json:"switches"`
	}](ctx, c, VerbTopology, nil)
	for _, s := range graph.Switches {
		names = append(names, s.ID)
	}
	return names, err
}

// Switch asks for all about one switch; its forwarding table only when that is wanted.
func (c *Client) Switch(ctx context.Context, name string, forwarding bool) (SwitchDetail, error) {
	return ask[SwitchDetail](ctx, c, VerbSwitch, SwitchRequest{Switch: name, Forwarding: forwarding})
}

// Links asks for the state of all links.
func (c *Client) Links(ctx context.Context) ([]fabric.LinkState, error) {
	list, err := ask[[]fabric.LinkState](ctx, c, VerbLinks, nil)
	for i := range list {
		if list[i].Suspect == nil { // an older fabricd knows `quiet` alone
			list[i].Suspect = list[i].Quiet
		}
	}
	return list, err
}

// Faults asks for the reports of all faults.
func (c *Client) Faults(ctx context.Context) (all []fault.Report, err error) {
	all = []fault.Report{}
	for after := 0; ; {
		page, err := ask[[]fault.Report](ctx, c, VerbFaults, FaultsRequest{After: after})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < faultsPage {
			return all, nil
		}
		after = page[len(page)-1].ID
	}
}

// Events asks for the events after a number that are kept.
func (c *Client) Events(ctx context.Context, after uint64) (e []fabric.Event, err error) {
	e = []fabric.Event{}
	for {
		page, err := ask[[]fabric.Event](ctx, c, VerbEvents, EventsRequest{After: after})
		if err != nil {
			return nil, err
		}
		e = append(e, page...)
		if len(page) < eventsPage {
			return e, nil
		}
		after = page[len(page)-1].Seq
	}
}

// applyTimeout bounds an Apply, or a change of the traffic, whose context has no deadline. Chosen
// by us: longer than the fabric waits for a repair, and for the store.
const applyTimeout = 20 * time.Second

// Apply orders faults and repairs, all at one instant; when one cannot be done none is. It returns
// what came of each, in order, once the ends have acted on what they are told and what was repaired
// is back.
func (c *Client) Apply(ctx context.Context, specs ...fault.Spec) ([]fabric.Outcome, error) {
	out, err := askWithin[[]fabric.Outcome](ctx, c, applyTimeout, VerbApply, ApplyRequest{Specs: specs})
	for i := range out {
		out[i].Changed = out[i].Changed || out[i].Fresh // an older fabricd knows `fresh` alone
	}
	return out, err
}

// SetTraffic replaces what all NICs inject, by words as those of fabricd up --traffic; "none" stops
// them.
func (c *Client) SetTraffic(ctx context.Context, traffic string) (TrafficAnswer, error) {
	return askWithin[TrafficAnswer](ctx, c, applyTimeout, VerbTraffic, TrafficRequest{Traffic: traffic})
}

// Ledger asks where every packet is, which is exact once nothing moves.
func (c *Client) Ledger(ctx context.Context) (fabric.Ledger, error) {
	return ask[fabric.Ledger](ctx, c, VerbLedger, nil)
}

// followBuffer bounds the events that wait for a follower; one that is slower hears how many it
// missed.
const followBuffer = 1024

// silenceTime is how long a stream may say nothing before the fabric is asked whether it is still
// there: a broker that has gone says nothing, and the connection waits for it to come back. Chosen
// by us.
const silenceTime = 2 * time.Second

// next waits for the next of a stream while the fabric is there.
func next[T any](ctx context.Context, c *Client, live *bus.Events, what string) (v T, err error) {
	for {
		wait, cancel := context.WithTimeout(ctx, silenceTime)
		n, err := live.Next(wait)
		cancel()
		if err == nil {
			if err = json.Unmarshal(n.Data, &v); err != nil {
				err = fmt.Errorf("%s %s: %w", what, n.Data, err)
			}
			return v, err
		}
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return v, err
		}
		_, err = c.Status(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return v, ctx.Err()
		case errors.Is(err, reply.ErrEnded):
			return v, reply.ErrEnded
		default:
			return v, fmt.Errorf("the fabric has ended, or cannot be reached: %w", err)
		}
	}
}

// Follow calls f for every event after number seq, those that are kept first, until ctx ends, f
// returns an error or the fabric is gone.
func (c *Client) Follow(ctx context.Context, seq uint64, f func(fabric.Event) error) error {
	live, err := c.bus.Subscribe(StreamEvent, followBuffer)
	if err != nil {
		return err
	}
	defer live.Close()
	events, err := c.Events(ctx, seq)
	if err != nil {
		return err
	}
	for _, e := range events {
		seq = e.Seq
		if err := f(e); err != nil {
			return err
		}
	}
	for {
		e, err := next[fabric.Event](ctx, c, live, "event")
		if err != nil {
			return err
		}
		if e.Seq <= seq {
			continue // it was among those kept
		}
		e.Missed += e.Seq - seq - 1
		seq = e.Seq
		if err := f(e); err != nil {
			return err
		}
	}
}

// Watch calls f for every sample, once a second, until ctx ends, f returns an error or the fabric
// is gone.
func (c *Client) Watch(ctx context.Context, f func(Sample) error) error {
	live, err := c.bus.Subscribe(StreamSample, 16)
	if err != nil {
		return err
	}
	defer live.Close()
	for {
		s, err := next[Sample](ctx, c, live, "sample")
		if err != nil {
			return err
		}
		if err := f(s); err != nil {
			return err
		}
	}
}
