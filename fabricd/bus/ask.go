package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/weft-fabric/weft/switch/wire"
)

// What asking a switch process comes back with, besides the errors of the context.
var (
	// ErrNoProcess means that no process answers for the switch: none has joined, or it has ended.
	ErrNoProcess = errors.New("no process answers for this switch")
	// ErrSwitchRefused means that the process answered with an error, whose text follows.
	ErrSwitchRefused = errors.New("the switch process refuses")
)

// firstLook is how long an ask waits for its answer before it looks whether the process is still there; then it looks
// ever less often.
const firstLook = 50 * time.Millisecond

type ask struct {
	subject string
	reply   string         // subject of the answer
	answer  chan *nats.Msg // cap 1: the first counts
	denied  chan struct{}  // closed when the broker says so
}

// match hands answers to those who wait, and never blocks.
func (p *Peers) match(answers <-chan *nats.Msg) {
	for {
		select {
		case <-p.ctx.Done():
			return
		case msg := <-answers:
			p.mu.Lock()
			a := p.asks[msg.Subject]
			p.mu.Unlock()
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

// asyncError is called by nats.go. The broker denies a request without answering it, so the one who waits is told here.
func (p *Peers) asyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) || !p.deny(err.Error()) {
		p.cfg.OnError(fmt.Errorf("bus: switch processes of fabric %q: %w", p.cfg.Fabric, err))
	}
}

// deny fails the asks whose subject a violation names, and says whether there was one.
func (p *Peers) deny(violation string) (found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for reply, a := range p.asks {
		if strings.Contains(violation, `"`+a.subject+`"`) {
			close(a.denied)
			delete(p.asks, reply)
			found = true
		}
	}
	return found
}

// Ask asks the process of one switch: in travels as JSON (nothing when nil), the answer is decoded into out (dropped when
// nil). It ends with ctx, or after 10 s when ctx has no deadline: a process that is stopped answers late or never. It fails
// with ErrNoProcess at once when there is no process, or none that serves the verb, and within a second when the process
// ends before it answers; what it has done by then nobody knows. Other errors wrap ErrSwitchRefused, ErrDenied, ErrClosed
// or that of ctx. One that wraps nothing of these says that the broker is gone.
func (p *Peers) Ask(ctx context.Context, node, verb string, in, out any) error {
	subject := Subject{Kind: SubjectSwitch, Fabric: p.cfg.Fabric, Node: node, Verb: verb}
	if err := subject.Validate(); err != nil {
		return err
	}
	req, err := encodeRequest(in)
	if err != nil {
		return fmt.Errorf("bus: ask %s of switch %q: %w", verb, node, err)
	}
	reply, err := p.roundTrip(ctx, subject, req)
	if err != nil {
		return fmt.Errorf("bus: ask %s of switch %q of fabric %q: %w", verb, node, p.cfg.Fabric, err)
	}
	err = decodeReply(reply, out, ErrSwitchRefused)
	switch {
	case errors.Is(err, ErrSwitchRefused):
		return fmt.Errorf("bus: ask %s of switch %q: %w", verb, node, err)
	case err != nil:
		return fmt.Errorf("bus: answer to %s of switch %q: %w", verb, node, err)
	}
	return nil
}

func (p *Peers) roundTrip(ctx context.Context, subject Subject, req []byte) ([]byte, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a, err := p.send(subject, req)
	if err != nil {
		return nil, err
	}
	// A request that is on its way when its process ends is lost without a word, hence the looking.
	interval, look := firstLook, &ask{}
	defer func() {
		p.forget(a)
		p.forget(look)
	}()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case msg := <-a.answer:
			return answered(msg)
		case <-a.denied:
			return nil, fmt.Errorf("%v: %w", p.cfg.Credentials, ErrDenied)
		case <-timer.C:
			p.forget(look)
			if look, err = p.send(Subject{Kind: SubjectSwitch, Fabric: p.cfg.Fabric, Node: subject.Node, Verb: presence}, nil); err != nil {
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
				return answered(msg)
			default:
				return nil, fmt.Errorf("%w any more", ErrNoProcess)
			}
		case <-p.closedc:
			return nil, wire.ErrClosed
		case <-ctx.Done():
			return nil, lateError{errors.New("its process does not answer"), ctx.Err()}
		}
	}
}

// send publishes a request. forget must be called when its answer is wanted no more.
func (p *Peers) send(subject Subject, req []byte) (*ask, error) {
	a := &ask{
		subject: subject.String(), reply: answerTo(p.inbox, p.asker, subject.Node, p.number.Add(1)),
		answer: make(chan *nats.Msg, 1), denied: make(chan struct{}),
	}
	p.mu.Lock()
	p.asks[a.reply] = a
	p.mu.Unlock()
	err := p.conn.PublishRequest(a.subject, a.reply, req)
	switch {
	case err == nil:
		return a, nil
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		err = fmt.Errorf("there is no connection to the broker now: %w", err)
	default:
		err = p.conn.closedErr(err)
	}
	p.forget(a)
	return &ask{}, err
}

func (p *Peers) forget(a *ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asks, a.reply)
}

// nobody says whether msg is the broker's word that nobody heard a request.
func nobody(msg *nats.Msg) bool { return len(msg.Data) == 0 && msg.Header.Get("Status") == "503" }

func answered(msg *nats.Msg) ([]byte, error) {
	if nobody(msg) {
		return nil, ErrNoProcess
	}
	return msg.Data, nil
}
