package part

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Client is the leader's side of one part. Its methods may be called concurrently. Each ends with its ctx, or after 10 s when
// that has no deadline. Errors are those of [bus.Call].
type Client struct {
	bus  *bus.Client
	part string
}

// NewClient returns the client of the part of that name.
func NewClient(c *bus.Client, part string) *Client { return &Client{c, part} }

// Part is the name of the part.
func (c *Client) Part() string { return c.part }

// Sum asks for what the part has added up.
func (c *Client) Sum(ctx context.Context, r SumRequest) (Sum, error) {
	return call[Sum](ctx, c, AskSum, r)
}

// Order has the part do something, and returns when that is done.
func (c *Client) Order(ctx context.Context, o Order) (OrderAnswer, error) {
	return call[OrderAnswer](ctx, c, AskOrder, o)
}

// Read reads all nodes.
func (c *Client) Read(ctx context.Context, r ReadRequest) (Readings, error) {
	return call[Readings](ctx, c, AskRead, r)
}

// Nodes asks for all about some nodes.
func (c *Client) Nodes(ctx context.Context, r NodeRequest) (Nodes, error) {
	return call[Nodes](ctx, c, AskNode, r)
}

// Load has switches forward by other tables.
func (c *Client) Load(ctx context.Context, o LoadOrder) (LoadAnswer, error) {
	return call[LoadAnswer](ctx, c, AskLoad, o)
}

// End ends the part, and returns its last sum with everything in it.
func (c *Client) End(ctx context.Context, o EndOrder) (Sum, error) {
	return call[Sum](ctx, c, AskEnd, o)
}

func call[Resp any](ctx context.Context, c *Client, verb string, req any) (Resp, error) {
	resp, err := bus.Call[Resp](ctx, c.bus, bus.Subject{Kind: bus.SubjectSwitch, Node: c.part, Verb: verb}, req)
	if err != nil {
		return resp, fmt.Errorf("part %s: %w", c.part, err)
	}
	return resp, nil
}
