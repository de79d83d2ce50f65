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
)

// Client is a tool's view of a running fabric. Its methods may be called concurrently.
type Client struct{ bus *bus.Client }

// Dial connects to a fabric of the registry: as its operator when it is to act, otherwise as a viewer, whom the broker
// lets change nothing.
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

// Status asks for the fabric at a glance.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.bus.Request(ctx, VerbStatus, nil, &s)
}

// Topology asks for the graph, as JSON.
func (c *Client) Topology(ctx context.Context) (raw json.RawMessage, err error) {
	return raw, c.bus.Request(ctx, VerbTopology, nil, &raw)
}

// Switches asks for the names of all switches.
func (c *Client) Switches(ctx context.Context) (names []string, err error) {
	var graph struct {
		Switches []struct {
			ID string `json:"id"`
		} `json:"switches"`
	}
	err = c.bus.Request(ctx, VerbTopology, nil, &graph)
	for _, s := range graph.Switches {
		names = append(names, s.ID)
	}
	return names, err
}

// Switch asks for all about one switch; its forwarding table only when that is wanted.
func (c *Client) Switch(ctx context.Context, name string, forwarding bool) (d SwitchDetail, err error) {
	return d, c.bus.Request(ctx, VerbSwitch, SwitchRequest{Switch: name, Forwarding: forwarding}, &d)
}

// Links asks for the state of all links.
func (c *Client) Links(ctx context.Context) (l []fabric.LinkState, err error) {
	return l, c.bus.Request(ctx, VerbLinks, nil, &l)
}

// Faults asks for the reports of all faults.
func (c *Client) Faults(ctx context.Context) (all []fault.Report, err error) {
	all = []fault.Report{}
	for after := 0; ; {
		var page []fault.Report
		if err := c.bus.Request(ctx, VerbFaults, FaultsRequest{After: after}, &page); err != nil {
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
		var page []fabric.Event
		if err := c.bus.Request(ctx, VerbEvents, EventsRequest{After: after}, &page); err != nil {
			return nil, err
		}
		e = append(e, page...)
		if len(page) < eventsPage {
			return e, nil
		}
		after = page[len(page)-1].Seq
	}
}

// applyTimeout bounds an Apply whose context has no deadline. Chosen by us: longer than the fabric waits for a repair.
const applyTimeout = 20 * time.Second

// Apply orders faults and repairs, all at one instant; when one cannot be done none is. It returns what came of each, in
// order, once the ends have acted on what they are told and what was repaired is back.
func (c *Client) Apply(ctx context.Context, specs ...fault.Spec) (out []fabric.Outcome, err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, applyTimeout)
		defer cancel()
	}
	return out, c.bus.Request(ctx, VerbApply, ApplyRequest{Specs: specs}, &out)
}

// SetTraffic replaces what all NICs inject, by words as those of fabricd up --traffic; "none" stops them.
func (c *Client) SetTraffic(ctx context.Context, traffic string) error {
	return c.bus.Request(ctx, VerbTraffic, TrafficRequest{Traffic: traffic}, nil)
}

// Ledger asks where every packet is, which is exact once nothing moves.
func (c *Client) Ledger(ctx context.Context) (l fabric.Ledger, err error) {
	return l, c.bus.Request(ctx, VerbLedger, nil, &l)
}

// followBuffer bounds the events that wait for a follower; one that is slower hears how many it missed.
const followBuffer = 1024

// quietTime is how long a stream may say nothing before the fabric is asked whether it is still there: a broker that has gone says
// nothing, and the connection waits for it to come back. Chosen by us.
const quietTime = 2 * time.Second

// next waits for the next of a stream while the fabric is there.
func (c *Client) next(ctx context.Context, live *bus.Events) (bus.Notice, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, quietTime)
		n, err := live.Next(wait)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return n, err
		}
		_, err = c.Status(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return n, ctx.Err()
		case errors.Is(err, bus.ErrEnded):
			return n, bus.ErrEnded
		default:
			return n, fmt.Errorf("the fabric has ended, or cannot be reached: %w", err)
		}
	}
}

// Follow calls f for every event after number seq, those that are kept first, until ctx ends, f returns an error or the fabric is gone.
func (c *Client) Follow(ctx context.Context, seq uint64, f func(fabric.Event) error) error {
	live, err := c.bus.Subscribe(StreamEvent, followBuffer)
	if err != nil {
		return err
	}
	defer live.Close()
	kept, err := c.Events(ctx, seq)
	if err != nil {
		return err
	}
	for _, e := range kept {
		seq = e.Seq
		if err := f(e); err != nil {
			return err
		}
	}
	for {
		n, err := c.next(ctx, live)
		if err != nil {
			return err
		}
		var e fabric.Event
		if err := json.Unmarshal(n.Data, &e); err != nil {
			return fmt.Errorf("event %s: %w", n.Data, err)
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

// Watch calls f for every sample, once a second, until ctx ends, f returns an error or the fabric is gone.
func (c *Client) Watch(ctx context.Context, f func(Sample) error) error {
	live, err := c.bus.Subscribe(StreamSample, 16)
	if err != nil {
		return err
	}
	defer live.Close()
	for {
		n, err := c.next(ctx, live)
		if err != nil {
			return err
		}
		var s Sample
		if err := json.Unmarshal(n.Data, &s); err != nil {
			return fmt.Errorf("sample %s: %w", n.Data, err)
		}
		if err := f(s); err != nil {
			return err
		}
	}
}
