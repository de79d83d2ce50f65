package remote

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// Client is the leader's side of one host, and implements [host.Host]. Its methods may be called
// concurrently. Each ends with its ctx, or after 10 s when that has no deadline. Errors are those
// of [bus.Call].
type Client struct {
	bus  *bus.Client
	host string
}

// NewClient returns the client of the host of that name.
func NewClient(c *bus.Client, name string) *Client { return &Client{c, name} }

// Host is the name of the host.
func (c *Client) Host() string { return c.host }

// Counters asks for what the host has added up.
func (c *Client) Counters(ctx context.Context, r host.CountersRequest) (host.Counters, error) {
	return call[host.Counters](ctx, c, host.AskCounters, r)
}

// Order has the host do something, and returns when that is done.
func (c *Client) Order(ctx context.Context, o host.Order) (host.OrderAnswer, error) {
	return call[host.OrderAnswer](ctx, c, host.AskOrder, o)
}

// Read reads all nodes.
func (c *Client) Read(ctx context.Context, r host.ReadRequest) (host.Readings, error) {
	return call[host.Readings](ctx, c, host.AskRead, r)
}

// Nodes asks for all about some nodes.
func (c *Client) Nodes(ctx context.Context, r host.NodeRequest) (host.Nodes, error) {
	return call[host.Nodes](ctx, c, host.AskNode, r)
}

// Load has switches forward by other tables.
func (c *Client) Load(ctx context.Context, o host.LoadOrder) (host.LoadAnswer, error) {
	return call[host.LoadAnswer](ctx, c, host.AskLoad, o)
}

// Programs asks what programs on the NICs of the host do.
func (c *Client) Programs(ctx context.Context) (report.Report, error) {
	return call[report.Report](ctx, c, host.AskPrograms, struct{}{})
}

// End ends the host, and returns its last sum with everything in it.
func (c *Client) End(ctx context.Context, o host.EndOrder) (host.Counters, error) {
	return call[host.Counters](ctx, c, host.AskEnd, o)
}

func call[Resp any](ctx context.Context, c *Client, verb string, req any) (Resp, error) {
	resp, err := bus.Call[Resp](ctx, c.bus, bus.Subject{Kind: bus.SubjectSwitch, Node: c.host, Verb: verb}, req)
	if err != nil {
		return resp, fmt.Errorf("host %s: %w", c.host, err)
	}
	return resp, nil
}

var _ host.Host = (*Client)(nil)
