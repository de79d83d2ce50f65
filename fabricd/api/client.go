package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/linkmon/fault"
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
	c, err := bus.Dial(bus.ClientConfig{
		Fabric: e.Name, URL: e.URL, Program: program,
		Credentials: bus.Credentials{User: login.User, Password: login.Password, InboxPrefix: login.InboxPrefix},
	})
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

// Links asks for the state of all links.
func (c *Client) Links(ctx context.Context) (l []fabric.LinkState, err error) {
	return l, c.bus.Request(ctx, VerbLinks, nil, &l)
}

// Faults asks for the reports of all faults.
func (c *Client) Faults(ctx context.Context) (f []fault.Report, err error) {
	return f, c.bus.Request(ctx, VerbFaults, nil, &f)
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

// Cut cuts the link between a and b, or the link named a when b is empty.
func (c *Client) Cut(ctx context.Context, a, b string) (ch Change, err error) {
	return ch, c.bus.Request(ctx, VerbCut, LinkRequest{A: a, B: b}, &ch)
}

// Restore brings back the link between a and b, or the link or switch named a when b is empty.
func (c *Client) Restore(ctx context.Context, a, b string) (ch Change, err error) {
	return ch, c.bus.Request(ctx, VerbRestore, LinkRequest{A: a, B: b}, &ch)
}

// Crash crashes a switch.
func (c *Client) Crash(ctx context.Context, name string) (ch Change, err error) {
	return ch, c.bus.Request(ctx, VerbCrash, SwitchRequest{Switch: name}, &ch)
}

// Heal brings every link and switch back.
func (c *Client) Heal(ctx context.Context) (h Healed, err error) {
	return h, c.bus.Request(ctx, VerbHeal, nil, &h)
}

// followBuffer bounds the events that wait for a follower; one that is slower hears how many it missed.
const followBuffer = 1024

// Follow calls f for every event after number seq, those that are kept first, until ctx ends or f returns an error.
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
		n, err := live.Next(ctx)
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

// Watch calls f for every sample, once a second, until ctx ends or f returns an error.
func (c *Client) Watch(ctx context.Context, f func(Sample) error) error {
	live, err := c.bus.Subscribe(StreamSample, 16)
	if err != nil {
		return err
	}
	defer live.Close()
	for {
		n, err := live.Next(ctx)
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
