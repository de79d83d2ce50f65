package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// serve registers the host's answers. Counters come last: a leader that gets them takes the host for
// ready.
func (p *Server) serve() error {
	return errors.Join(
		handle(p, host.AskOrder, p.onOrder), handle(p, host.AskRead, p.onRead),
		handle(p, host.AskPrograms, p.onPrograms),
		handle(p, host.AskNode, p.onNode), handle(p, host.AskLoad, p.onLoad), handle(p, host.AskEnd, p.onEnd),
		handle(p, host.AskCounters, p.onCounters),
	)
}

// handle answers requests of one verb, and notes that somebody asks. It leaves requests for a later
// incarnation to that.
func handle[Req, Resp any](p *Server, verb string, h func(r Req) (Resp, error)) error {
	return bus.Handle(p.control, bus.Subject{Kind: bus.SubjectSwitch, Verb: verb},
		func(ctx context.Context, r Req) (Resp, error) {
			resp, err := h(r)
			if errors.Is(err, ErrLater) {
				select {
				case p.later <- err:
				default:
				}
				<-ctx.Done() // an answer from here could come first
				return resp, err
			}
			if !errors.Is(err, host.ErrIncarnation) {
				select {
				case p.queried <- struct{}{}:
				default:
				}
			}
			return resp, err
		})
}

func (p *Server) onCounters(r host.CountersRequest) (host.Counters, error) {
	if err := p.is(r.Number); r.Number != 0 && err != nil {
		return host.Counters{}, err
	}
	if err := p.heed(r.Term); r.Term != 0 && err != nil {
		return host.Counters{}, err
	}
	s, err := p.host.Counters(context.Background(), r)
	s.Links = p.links.Stats()
	return s, err
}

func (p *Server) onOrder(o host.Order) (a host.OrderAnswer, err error) {
	p.mu.Lock()
	if err = p.admit(o.Number, o.Term); err == nil {
		want := cmp.Or(o.Counters, new(host.CountersRequest))
		o.Counters = nil
		if a, err = p.host.Order(context.Background(), o); err == nil {
			want.Number = 0
			o.Counters = want
		}
	}
	p.mu.Unlock()
	if err == nil {
		a.Counters, err = p.onCounters(*o.Counters)
	}
	return a, err
}

func (p *Server) onRead(r host.ReadRequest) (a host.Readings, err error) {
	if err := p.is(r.Number); err != nil {
		return a, err
	}
	return p.host.Read(context.Background(), r)
}

func (p *Server) onPrograms(struct{}) (r report.Report, err error) {
	if p.programs != nil {
		r = p.programs.Report()
	}
	return r, nil
}

func (p *Server) onNode(r host.NodeRequest) (a host.Nodes, err error) {
	if err := p.is(r.Number); err != nil {
		return a, err
	}
	return p.host.Nodes(context.Background(), r)
}

func (p *Server) onLoad(o host.LoadOrder) (a host.LoadAnswer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admit(o.Number, o.Term); err != nil {
		return a, err
	}
	return p.host.Load(context.Background(), o)
}

// is refuses a request for another incarnation.
func (p *Server) is(number uint64) error {
	why := host.ErrIncarnation
	switch mine := p.spec.Number; {
	case number == mine:
		return nil
	case number > mine && p.spec.Placement.Shared: // an agent has one host of its own name, and a switch may go anywhere
		why = ErrLater
	}
	return fmt.Errorf("number %v, not %v: %w", ledger.Incarnation(p.spec.Number), ledger.Incarnation(number), why)
}

// admit refuses a request for another incarnation or of a replaced leader. The caller holds mu.
func (p *Server) admit(number, term uint64) error {
	if err := p.is(number); err != nil {
		return err
	}
	return p.heed(term)
}

// heed refuses a replaced leader.
func (p *Server) heed(term uint64) error {
	for {
		switch heard := p.term.Load(); {
		case term < heard:
			return fmt.Errorf("term %d, not %d: %w", heard, term, host.ErrReplaced)
		case p.term.CompareAndSwap(heard, term):
			return nil
		}
	}
}

func (p *Server) onEnd(o host.EndOrder) (host.Counters, error) {
	p.mu.Lock()
	number, term := o.Number, o.Term
	if number == 0 {
		number = p.spec.Number
	}
	if o.Number == 0 && o.Term == 0 { // from no leader: an agent, or who ends a fabric that nobody leads
		term = p.term.Load()
	}
	err := p.admit(number, term)
	p.mu.Unlock()
	if err != nil {
		return host.Counters{}, err
	}
	s, err := p.host.End(context.Background(), o)
	s.Links = p.links.Stats()
	select {
	case p.ended <- o:
	default:
	}
	return s, err
}
