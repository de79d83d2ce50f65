package part

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/weft-fabric/weft"
)

func notHere(n weft.Node) error { return fmt.Errorf("%v: %w", n, errNot) }

// server answers requests, of each verb one at a time, and keeps what of an answer is still to be asked for.
type server struct {
	mu   sync.Mutex
	rest map[string][]parcel // per verb, the pieces of the last answer that had several
	last chan struct{}       // closed when all of the answer to AskEnd was given
}

// serve has the part answer.
func (p *Part) serve() error {
	p.server = &server{rest: map[string][]parcel{}, last: make(chan struct{})}
	var err error
	for verb, h := range map[string]func(body []byte) (any, error){
		AskSum:   answer(p.onSum),
		AskOrder: answer(p.onOrder),
		AskRead:  answer(p.onRead),
		AskNode:  answer(p.onNode),
		AskLoad:  answer(p.onLoad),
		AskEnd:   answer(p.onEnd),
	} {
		var u unpacker // of one goroutine: requests of a verb come one at a time
		err = errors.Join(err, p.control.Serve(verb, func(_ context.Context, req []byte) (any, error) {
			select {
			case p.asked <- struct{}{}:
			default:
			}
			var in parcel
			if err := json.Unmarshal(req, &in); err != nil {
				return nil, err
			}
			body, err := u.add(&in)
			if err != nil || body == nil {
				return parcel{}, err
			}
			a, err := h(body)
			if err != nil {
				return nil, err
			}
			return p.server.first(verb, a)
		}))
	}
	return errors.Join(err, p.control.Serve(askMore, p.server.more))
}

// answer makes a handler of bodies of one of requests.
func answer[Req, Answer any](h func(r Req) (Answer, error)) func(body []byte) (any, error) {
	return func(body []byte) (any, error) {
		var r Req
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
		return h(r)
	}
}

// first is the first piece of an answer.
func (s *server) first(verb string, a any) (parcel, error) {
	list, err := pack(a, rand.Uint64()|1)
	if err != nil {
		return parcel{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rest, verb)
	switch {
	case len(list) > 1:
		s.rest[verb] = list
	case verb == AskEnd:
		s.given()
	}
	return list[0], nil
}

// more is a further piece. The last is not kept once it was given.
func (s *server) more(_ context.Context, req []byte) (any, error) {
	var r moreRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.rest[r.Verb]
	if r.Piece < 1 || r.Piece >= len(list) || list[r.Piece].Serial != r.Serial {
		return nil, errPieces
	}
	if r.Piece == len(list)-1 {
		delete(s.rest, r.Verb)
		if r.Verb == AskEnd {
			s.given()
		}
	}
	return list[r.Piece], nil
}

// given notes that the last answer is out. The caller holds mu.
func (s *server) given() {
	select {
	case <-s.last:
	default:
		close(s.last)
	}
}

func (p *Part) onSum(r SumRequest) (Sum, error) {
	if err := p.is(r.Number); r.Number != 0 && err != nil {
		return Sum{}, err
	}
	s, err := p.host.Sum(context.Background(), r)
	s.Links = p.links.Stats()
	return s, err
}

func (p *Part) onOrder(o Order) (a OrderAnswer, err error) {
	p.mu.Lock()
	if err = p.admit(o.Number, o.Term); err == nil {
		want := cmp.Or(o.Sum, new(SumRequest))
		o.Sum = nil
		if a, err = p.host.Order(context.Background(), o); err == nil {
			want.Number = 0
			o.Sum = want
		}
	}
	p.mu.Unlock()
	if err == nil {
		a.Sum, err = p.onSum(*o.Sum)
	}
	return a, err
}

func (p *Part) onRead(r ReadRequest) (a Readings, err error) {
	if err := p.is(r.Number); err != nil {
		return a, err
	}
	return p.host.Read(context.Background(), r)
}

func (p *Part) onNode(r NodeRequest) (a Nodes, err error) {
	if err := p.is(r.Number); err != nil {
		return a, err
	}
	return p.host.Nodes(context.Background(), r)
}

func (p *Part) onLoad(o LoadOrder) (a LoadAnswer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admit(o.Number, o.Term); err != nil {
		return a, err
	}
	return p.host.Load(context.Background(), o)
}

// is refuses what was meant for another incarnation.
func (p *Part) is(number uint64) error {
	if number != p.charter.Number {
		return fmt.Errorf("number %d, not %d: %w", p.charter.Number, number, errNumber)
	}
	return nil
}

// admit refuses what was meant for another incarnation, or comes from a leader that was replaced. The caller holds mu.
func (p *Part) admit(number, term uint64) error {
	if err := p.is(number); err != nil {
		return err
	}
	if term < p.term {
		return fmt.Errorf("term %d, not %d: %w", p.term, term, errTerm)
	}
	p.term = term
	return nil
}

func (p *Part) onEnd(o EndOrder) (Sum, error) {
	p.mu.Lock()
	number, term := o.Number, o.Term
	if number == 0 {
		number = p.charter.Number
	}
	if o.Number == 0 && o.Term == 0 { // from no leader: an agent, or who ends a fabric that nobody leads
		term = p.term
	}
	err := p.admit(number, term)
	p.mu.Unlock()
	if err != nil {
		return Sum{}, err
	}
	s, err := p.host.End(context.Background(), o)
	s.Links = p.links.Stats()
	select {
	case p.ended <- o.Why:
	default:
	}
	return s, err
}
