package part

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
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
	if r.Number != 0 && r.Number != p.charter.Number {
		return Sum{}, fmt.Errorf("number %d, not %d: %w", p.charter.Number, r.Number, errNumber)
	}
	s, err := p.Sum(r)
	if err == nil && r.Standing {
		p.mu.Lock()
		s.Standing = p.standing()
		p.mu.Unlock()
	}
	return s, err
}

func (p *Part) onOrder(o Order) (a OrderAnswer, err error) {
	p.mu.Lock()
	err = p.admit(o.Number, o.Term)
	var pl *plan
	if err == nil {
		pl, err = p.plan(&o)
	}
	if err == nil {
		err = p.do(pl, &a)
	}
	p.mu.Unlock()
	if err != nil {
		return a, err
	}
	r := SumRequest{}
	if o.Sum != nil {
		r = *o.Sum
	}
	r.Number = 0
	a.Sum, err = p.onSum(r)
	return a, err
}

func (p *Part) onRead(r ReadRequest) (Readings, error) {
	if r.Number != p.charter.Number {
		return Readings{}, fmt.Errorf("number %d, not %d: %w", p.charter.Number, r.Number, errNumber)
	}
	if r.VCs {
		return p.readVCs(), nil
	}
	return p.readings(), nil
}

func (p *Part) onNode(r NodeRequest) (Nodes, error) {
	if r.Number != p.charter.Number {
		return Nodes{}, fmt.Errorf("number %d, not %d: %w", p.charter.Number, r.Number, errNumber)
	}
	return p.all(r)
}

func (p *Part) onLoad(o LoadOrder) (a LoadAnswer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admit(o.Number, o.Term); err != nil {
		return a, err
	}
	for _, patch := range o.Patches {
		if patch == nil {
			return a, fmt.Errorf("an empty patch: %w", tables.ErrPatch)
		}
		v, err := p.load(patch)
		a.Versions = append(a.Versions, LoadedVersion{Switch: patch.Switch, Version: v, Err: text(err)})
	}
	return a, nil
}

// load makes a switch forward, and the NICs at it send, by a patch. It returns the version in force. The caller holds mu.
func (p *Part) load(patch *tables.Patch) (version uint64, err error) {
	prog := p.programs[patch.Switch]
	if prog == nil {
		return 0, notHere(patch.Switch.Node())
	}
	prog.Loading.Lock()
	defer prog.Loading.Unlock()
	was := prog.Now()
	next, err := prog.Patched(p.graph.Place(patch.Switch), p.charter.Switch.VCs, patch)
	if err != nil || next == was {
		return was.Version, err
	}
	if n := p.nodes.bySwitch[patch.Switch]; n != nil {
		n.Do(func(now weft.Time, out *weft.Actions) {
			if err = n.core.Load(now, next.Firmware, next.Version, out); err == nil {
				prog.Set(next) // at one moment with its packets
			}
		})
	} else {
		prog.Set(next)
	}
	if err != nil {
		return was.Version, err
	}
	if len(patch.Addresses) > 0 || patch.From == 0 {
		p.readdress(patch.Switch)
	}
	return next.Version, nil
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
	// Its nodes stand still from now on: what it says then agrees with what other parts say, though packets are on their way.
	p.halt()
	s, err := p.onSum(SumRequest{Ends: true, Eras: true, Latency: true, Standing: true})
	select {
	case p.ended <- o.Why:
	default:
	}
	return s, err
}
