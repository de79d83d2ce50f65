package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/weft-fabric/weft/fabricd/document/plain"
)

// Found is a server that has answered.
type Found struct {
	ID, Version string
	Metadata    map[string]string
}

// Discovery ends when nobody has answered for so long since the last answer, or after so long in
// all, which is also how long the first answer may take: where nobody is there, the broker says so
// at once. Chosen by us: agents answer in the time of a round trip.
const (
	discoverIdle = 300 * time.Millisecond
	discover     = 3 * time.Second
)

// Discover asks which servers of a service are there, as [AgentService], and returns who answers,
// in the order of the answers. It ends early once enough says so of what has been found.
func (c *Client) Discover(ctx context.Context, service string, enough func([]Found) bool) (out []Found, err error) {
	subject, err := micro.ControlSubject(micro.InfoVerb, service, "")
	if err == nil {
		err = c.collect(ctx, subject, discover, discoverIdle, func(msg *nats.Msg) bool {
			var i micro.Info // somebody else's service of that name is none of ours
			if json.Unmarshal(plain.JSON(msg.Data), &i) == nil {
				out = append(out, Found{ID: i.ID, Version: i.Version, Metadata: i.Metadata})
			}
			return enough(out)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("bus: look for %s at %s: %w", service, redact(c.cfg.URL), err)
	}
	return out, nil
}

// Fabrics are the names of the fabrics that are led at a server, in order. The error wraps
// [reply.ErrDenied] where the credentials may not look.
func Fabrics(ctx context.Context, server Resolved) (names []string, err error) {
	c, err := Dial(ClientConfig{Leads: true, URL: server.URL, Credentials: server.Credentials, Program: "look"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	found, err := c.Discover(ctx, fabricService, func([]Found) bool { return false })
	for _, f := range found {
		if name := f.Metadata["fabric"]; ValidateFabric(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// collect asks all who hear a subject, and hands on their answers until there was enough or there
// is none for so long. First is how long it waits for the first answer, and wait for each that
// follows: longer where the one before took longer, as on a busy machine.
func (c *Client) collect(ctx context.Context, subject string, first, wait time.Duration,
	take func(*nats.Msg) (enough bool),
) error {
	began := time.Now()
	a, err := c.send(subject, nil, nil, 4096)
	if err != nil {
		return err
	}
	defer c.forget(a)
	last, next := time.NewTimer(discover), time.NewTimer(first)
	defer last.Stop()
	defer next.Stop()
	for {
		select {
		case msg := <-a.answer:
			if nobody(msg) || take(msg) {
				return nil
			}
			next.Reset(max(wait, time.Since(began)))
		case <-a.denied:
			return c.deniedErr()
		case <-next.C:
			return nil
		case <-last.C:
			return nil
		case <-c.closedc:
			return c.conn.closedErr(nats.ErrConnectionClosed)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// gather asks all who hear a subject over a connection that is no client's, and hands on what they
// answer until there was enough or there is none for so long. It reports false when nobody hears
// the subject.
func (c *conn) gather(ctx context.Context, subject string, data []byte, wait time.Duration,
	take func(answer []byte) (enough bool),
) (there bool, err error) {
	inbox := c.NewRespInbox()
	answers, err := c.SubscribeSync(inbox)
	if err != nil {
		return false, c.closedErr(err)
	}
	defer func() { _ = answers.Unsubscribe() }() // it ends with the connection
	if err := c.PublishRequest(subject, inbox, data); err != nil {
		return false, c.closedErr(err)
	}
	for {
		bounded, cancel := context.WithTimeout(ctx, wait)
		msg, err := answers.NextMsgWithContext(bounded)
		cancel()
		switch {
		case err == nil && nobody(msg), errors.Is(err, nats.ErrNoResponders):
			return false, nil
		case ctx.Err() != nil:
			return true, context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			return true, nil
		case err != nil:
			return true, c.closedErr(err)
		}
		if take(msg.Data) {
			return true, nil
		}
	}
}
