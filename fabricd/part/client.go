package part

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
)

// Asker reaches a process by the name of its node. *bus.Peers is one, whose errors those of a Client wrap.
type Asker interface {
	Ask(ctx context.Context, node, verb string, in, out any) error
}

// Client is the leader's side of one part. Its methods may be called concurrently. Each ends with its ctx, or after 10 s when
// that has no deadline.
type Client struct {
	asker Asker
	part  string

	verbs map[string]*sync.Mutex // constant: requests of one verb come one at a time, since they may come in pieces
}

// NewClient returns the client of the part of that name.
func NewClient(a Asker, part string) *Client {
	c := &Client{asker: a, part: part, verbs: map[string]*sync.Mutex{}}
	for _, v := range []string{AskSum, AskOrder, AskRead, AskNode, AskLoad, AskEnd} {
		c.verbs[v] = new(sync.Mutex)
	}
	return c
}

// Part is the name of the part.
func (c *Client) Part() string { return c.part }

// Sum asks for what the part has added up.
func (c *Client) Sum(ctx context.Context, r SumRequest) (s Sum, err error) {
	return s, c.ask(ctx, AskSum, r, &s)
}

// Order has the part do something, and returns when that is done.
func (c *Client) Order(ctx context.Context, o Order) (a OrderAnswer, err error) {
	return a, c.ask(ctx, AskOrder, o, &a)
}

// Read reads all nodes.
func (c *Client) Read(ctx context.Context, r ReadRequest) (a Readings, err error) {
	return a, c.ask(ctx, AskRead, r, &a)
}

// Nodes asks for all about some nodes.
func (c *Client) Nodes(ctx context.Context, r NodeRequest) (a Nodes, err error) {
	return a, c.ask(ctx, AskNode, r, &a)
}

// Load has switches forward by other tables.
func (c *Client) Load(ctx context.Context, o LoadOrder) (a LoadAnswer, err error) {
	return a, c.ask(ctx, AskLoad, o, &a)
}

// End ends the part, and returns its last sum with everything in it.
func (c *Client) End(ctx context.Context, o EndOrder) (s Sum, err error) {
	return s, c.ask(ctx, AskEnd, o, &s)
}

func (c *Client) ask(ctx context.Context, verb string, in, out any) error {
	lock := c.verbs[verb]
	lock.Lock()
	defer lock.Unlock()
	err := c.exchange(ctx, verb, in, out)
	if err != nil {
		return fmt.Errorf("part %s: %s: %w", c.part, verb, err)
	}
	return nil
}

func (c *Client) exchange(ctx context.Context, verb string, in, out any) error {
	serial := rand.Uint64() | 1 // so that no other leader's pieces are taken for ours
	parcels, err := pack(in, serial)
	if err != nil {
		return err
	}
	var answer parcel
	for i := range parcels {
		answer = parcel{}
		if err := c.asker.Ask(ctx, c.part, verb, &parcels[i], &answer); err != nil {
			return err
		}
	}
	var u unpacker
	for {
		body, err := u.add(&answer)
		if err != nil {
			return err
		}
		if body != nil {
			return json.Unmarshal(body, out)
		}
		if answer.Pieces == 0 {
			return fmt.Errorf("the answer is empty")
		}
		more := moreRequest{Verb: verb, Serial: answer.Serial, Piece: answer.Piece + 1}
		answer = parcel{}
		if err := c.asker.Ask(ctx, c.part, askMore, more, &answer); err != nil {
			return err
		}
	}
}
