package remote

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/part"
)

// Client is the leader's side of one part, and implements [part.Host]. Its methods may be called concurrently. Each ends with its ctx, or after 10 s when
// that has no deadline. Errors are those of [bus.Call].
type Client struct {
	bus  *bus.Client
	part string
}

// NewClient returns the client of the part of that name.
func NewClient(c *bus.Client, name string) *Client { return &Client{c, name} }

// Part is the name of the part.
func (c *Client) Part() string { return c.part }

// Sum asks for what the part has added up.
func (c *Client) Sum(ctx context.Context, r part.SumRequest) (part.Sum, error) {
	return call[part.Sum](ctx, c, part.AskSum, r)
}

// Order has the part do something, and returns when that is done.
func (c *Client) Order(ctx context.Context, o part.Order) (part.OrderAnswer, error) {
	return call[part.OrderAnswer](ctx, c, part.AskOrder, o)
}

// Read reads all nodes.
func (c *Client) Read(ctx context.Context, r part.ReadRequest) (part.Readings, error) {
	return call[part.Readings](ctx, c, part.AskRead, r)
}

// Nodes asks for all about some nodes.
func (c *Client) Nodes(ctx context.Context, r part.NodeRequest) (part.Nodes, error) {
	return call[part.Nodes](ctx, c, part.AskNode, r)
}

// Load has switches forward by other tables.
func (c *Client) Load(ctx context.Context, o part.LoadOrder) (part.LoadAnswer, error) {
	return call[part.LoadAnswer](ctx, c, part.AskLoad, o)
}

// End ends the part, and returns its last sum with everything in it.
func (c *Client) End(ctx context.Context, o part.EndOrder) (part.Sum, error) {
	return call[part.Sum](ctx, c, part.AskEnd, o)
}

func call[Resp any](ctx context.Context, c *Client, verb string, req any) (Resp, error) {
	resp, err := bus.Call[Resp](ctx, c.bus, bus.Subject{Kind: bus.SubjectSwitch, Node: c.part, Verb: verb}, req)
	if err != nil {
		return resp, fmt.Errorf("part %s: %w", c.part, err)
	}
	return resp, nil
}

var _ part.Host = (*Client)(nil)
