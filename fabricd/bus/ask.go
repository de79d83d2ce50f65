package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/wire"
)

// requestTimeout bounds requests whose context has no deadline.
const requestTimeout = 10 * time.Second

// firstLook is how long an ask waits for its answer before it looks whether the process is still
// there; then it looks ever less often.
const firstLook = 50 * time.Millisecond

// Call asks the fabric, a host of it or an agent, and returns the answer; the answer to
// Call[struct{}] is not looked at. The Fabric of to is that of the client. It ends with ctx, or
// after 10 s when ctx has no deadline: a process that is stopped answers late or never.
//
// Errors wrap [reply.ErrNobody], [reply.ErrSilent], [reply.ErrRefused], [reply.ErrDenied],
// [reply.ErrEnded], [wire.ErrClosed] or that of ctx; one that wraps nothing of these says that the
// broker is gone. One that has too many requests waiting is asked again. A host or agent that ends
// before it answers is noticed within a second; what it has done by then nobody knows. One that
// cannot be asked now is not asked later; for a fabric the connection is waited for.
func Call[Resp any](ctx context.Context, c *Client, to Subject, req any) (resp Resp, err error) {
	return resp, c.call(ctx, to, req, &resp)
}

func (c *Client) call(ctx context.Context, to Subject, req, resp any) error {
	if to.Kind != SubjectAgent {
		to.Fabric = c.cfg.Fabric
	}
	if err := to.Validate(); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("bus: ask %s of %s: %w", to.Verb, to.who(), err) }
	var body []byte
	var err error
	if req != nil {
		if body, err = to.Kind.encode(req); err != nil {
			return fail(err)
		}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	data, err := c.exchange(ctx, to, body)
	for errors.Is(err, errBusy) {
		select {
		case <-time.After(reconnectWait):
			data, err = c.exchange(ctx, to, body)
		case <-ctx.Done():
			err = plain.Errorf([]error{reply.ErrSilent, ctx.Err()}, "%v", err)
		}
	}
	switch {
	case errors.Is(err, reply.ErrRefused) && (to.Kind == SubjectControl || to.Kind == SubjectManage):
		return err // the text of the fabric says what was asked
	case err != nil:
		return fail(err)
	}
	if to.Kind.text() {
		data = plain.JSON(data)
	}
	if err := to.Kind.decode(data, resp); err != nil {
		return fail(fmt.Errorf("the answer: %w", err))
	}
	return nil
}

// exchange sends a body and returns that of the answer, in chunks where they are larger than a
// message.
func (c *Client) exchange(ctx context.Context, to Subject, body []byte) ([]byte, error) {
	var answer *nats.Msg
	var err error
	if limit := room(c.conn); int64(len(body)) <= limit {
		answer, err = c.roundTrip(ctx, to, nil, body)
	} else {
		var list [][]byte
		var id string
		id, list, err = pack(body, limit)
		for i := 0; i < len(list) && err == nil; i++ {
			answer, err = c.roundTrip(ctx, to, nats.Header{headerChunk: {chunk{id, i, len(list)}.String()}}, list[i])
		}
	}
	if err != nil {
		return nil, err
	}
	if answer.Header.Get(headerChunk) == "" {
		return answer.Data, nil
	}
	at, err := parseChunk(answer.Header.Get(headerChunk))
	packed := answer.Data
	for at.number++; err == nil && at.number < at.of; at.number++ {
		if answer, err = c.roundTrip(ctx, to, nats.Header{headerNext: {at.String()}}, nil); err == nil {
			packed = append(packed, answer.Data...)
		}
		if err == nil && (answer.Header.Get(headerChunk) != at.String() || len(packed) > maxPacked) {
			err = errChunks
		}
	}
	if err != nil {
		return nil, err
	}
	return wire.Decompress(packed)
}

type request struct {
	subject string
	reply   string         // subject of the answer
	answer  chan *nats.Msg // what finds it full is dropped: of one answer the first counts
	denied  chan struct{}  // closed when the broker says so
}

// match hands answers to those who wait, and never blocks.
func (c *Client) match(answers <-chan *nats.Msg) {
	for {
		select {
		case <-c.ctx.Done():
			return
		case msg := <-answers:
			c.mu.Lock()
			a := c.asks[msg.Subject]
			c.mu.Unlock()
			if a == nil {
				continue // too late
			}
			select {
			case a.answer <- msg:
			default: // a second one
			}
		}
	}
}

// asyncError is called by nats.go. The broker denies a request without answering it, so the one who
// waits is told here.
func (c *Client) asyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) || !c.deny(err.Error()) {
		c.cfg.OnError(fmt.Errorf("bus: %s of fabric %q: %w", c.cfg.Program, c.cfg.Fabric, err))
	}
}

// deny fails the asks whose subject a violation names, and says whether there was one.
func (c *Client) deny(violation string) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for reply, a := range c.asks {
		if strings.Contains(violation, `"`+a.subject+`"`) {
			close(a.denied)
			delete(c.asks, reply)
			found = true
		}
	}
	return found
}

func (c *Client) deniedErr() error { return fmt.Errorf("%v: %w", c.cfg.Credentials, reply.ErrDenied) }

// roundTrip sends one message and returns the answer, unless that is an error.
func (c *Client) roundTrip(ctx context.Context, to Subject, h nats.Header, body []byte) (*nats.Msg, error) {
	a, err := c.sendWhenThere(ctx, to, h, body)
	if err != nil {
		return nil, err
	}
	// A request that is on its way when its process ends is lost without a word, hence the looking.
	began, interval, look := time.Now(), firstLook, &request{}
	defer func() {
		c.forget(a)
		c.forget(look)
	}()
	var looks <-chan time.Time
	timer := time.NewTimer(interval)
	defer timer.Stop()
	if to.Kind == SubjectSwitch || to.Kind == SubjectAgent {
		looks = timer.C
	}
	for {
		select {
		case msg := <-a.answer:
			return c.answered(to, msg)
		case <-a.denied:
			return nil, c.deniedErr()
		case <-looks:
			c.forget(look)
			there := to
			there.Verb = presence
			if look, err = c.send(there.String(), nil, nil, 1); err != nil {
				return nil, err
			}
			interval = min(2*interval, time.Second)
			timer.Reset(interval)
		case msg := <-look.answer:
			if !nobody(msg) {
				continue
			}
			select {
			case msg := <-a.answer: // its last
				return c.answered(to, msg)
			default:
				return nil, plain.Errorf([]error{reply.ErrNobody}, "%v any more", c.nobodyThere(to))
			}
		case <-c.ended:
			return nil, reply.ErrEnded
		case <-c.ctx.Done():
			return nil, wire.ErrClosed
		case <-c.closedc:
			return nil, c.conn.closedErr(nats.ErrConnectionClosed)
		case <-ctx.Done():
			return nil, plain.Errorf([]error{reply.ErrSilent, ctx.Err()}, "the %s does not answer in %v",
				to.Kind.role(),
				time.Since(began).Round(time.Millisecond))
		}
	}
}

// answered is msg unless it is an error.
func (c *Client) answered(to Subject, msg *nats.Msg) (*nats.Msg, error) {
	if nobody(msg) {
		return nil, c.nobodyThere(to)
	}
	if !to.Kind.text() {
		if b := requesterIn(msg.Header).Build; b.Protocol != c.cfg.Build.Protocol {
			return nil, plain.Errorf([]error{reply.ErrRefused}, "%v", c.cfg.Build.Fits(to.who(), b))
		}
	}
	return msg, to.refusal(msg)
}

// nobodyThere is the error when nobody has heard what was asked.
func (c *Client) nobodyThere(to Subject) error {
	text := "no agent of this name is there"
	switch to.Kind {
	case SubjectSwitch:
		text = "no process answers for this switch"
	case SubjectControl, SubjectManage:
		text = fmt.Sprintf("the fabric does not answer: the broker at %s is up, but no fabric of this name serves this "+
			"request there", redact(c.cfg.URL))
	}
	return plain.Errorf([]error{reply.ErrNobody}, "%s", text)
}

// sendWhenThere is send. The connection to a fabric is waited for; what cannot be asked of others
// now has failed.
func (c *Client) sendWhenThere(ctx context.Context, to Subject, h nats.Header, body []byte) (*request, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.Ended() {
			return nil, reply.ErrEnded
		}
		a, err := c.send(to.String(), h, body, 1)
		if !errors.Is(err, nats.ErrReconnectBufExceeded) || c.cfg.Leads {
			return a, err
		}
		select {
		case <-time.After(reconnectWait):
		case <-c.ended:
		case <-c.ctx.Done():
			return nil, wire.ErrClosed
		case <-c.closedc:
			return nil, c.conn.closedErr(nats.ErrConnectionClosed)
		case <-ctx.Done():
			return nil, plain.Errorf([]error{reply.ErrSilent, ctx.Err()}, "%v", err)
		}
	}
}

// send publishes a request of which so many answers count. forget must be called when they are
// wanted no more.
func (c *Client) send(subject string, h nats.Header, body []byte, answers int) (*request, error) {
	a := &request{subject: subject, answer: make(chan *nats.Msg, answers), denied: make(chan struct{})}
	node := noNode
	if s, err := ParseSubject(subject); err == nil && s.Kind == SubjectSwitch {
		node = s.Node
	}
	a.reply = answerTo(c.inbox, c.requester, node, c.number.Add(1))
	header := maps.Clone(c.from)
	maps.Copy(header, h)
	c.mu.Lock()
	c.asks[a.reply] = a
	c.mu.Unlock()
	err := c.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: a.reply, Header: header, Data: body})
	switch {
	case err == nil:
		return a, nil
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		err = fmt.Errorf("there is no connection to the broker now: %w", err)
	default:
		err = c.conn.closedErr(err)
	}
	c.forget(a)
	return &request{}, err
}

func (c *Client) forget(a *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asks, a.reply)
}

// nobody says whether msg is the broker's word that nobody heard a request.
func nobody(msg *nats.Msg) bool { return len(msg.Data) == 0 && msg.Header.Get("Status") == "503" }
