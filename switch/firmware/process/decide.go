package process

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// asked is an ask that the program is to decide.
type asked struct {
	*switching.Ask
	place    *weft.Place
	question question
	key      memoryKey
}

// batch implements [switching.Firmware].Batch.
func (p *Process) batch(asks []*switching.Ask) (decide func()) {
	var list []*asked
	for _, k := range asks {
		if key, known := p.memory.recall(k); !known {
			list = append(list, &asked{k, k.View.Place(), p.question(k), key})
		}
	}
	return func() { p.decide(list) }
}

// route implements [switching.Firmware].Route.
func (p *Process) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	k := &switching.Ask{Packet: *pkt, At: at, View: sw}
	p.batch([]*switching.Ask{k})()
	if k.Err != nil {
		why := errors.Unwrap(k.Err) // without the packet, as rules are counted
		at := sw.Place().Name
		return switching.Discard(fmt.Sprintf("%s: %s at %s: %v", switching.RuleNoAnswer, p.cfg.Path, at, why))
	}
	return k.Decision
}

// round is what those ask together who come while the program is busy.
type round struct {
	asks []*asked
	done chan struct{} // all have an answer
}

// decide has the program decide. The first of a round asks for all, and if the program fails, it
// has failed all of them.
func (p *Process) decide(asks []*asked) {
	if len(asks) == 0 {
		return
	}
	p.joining.Lock()
	r := p.next
	first := len(r.asks) == 0
	r.asks = append(r.asks, asks...)
	p.joining.Unlock()
	if !first {
		<-r.done
		return
	}
	defer close(r.done)
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.joining.Lock()
	p.next = &round{done: make(chan struct{})}
	p.joining.Unlock()
	err := p.restart()
	for batch := range slices.Chunk(r.asks, switching.MaxAsks) {
		var list []answer
		if err == nil {
			list, err = p.run.ask(batch)
		}
		for i, k := range batch {
			if err != nil {
				p.fail(k, fmt.Errorf("%w: look at what it prints on its standard error; it is started again", err))
			} else if d, err := p.decision(k, &list[i]); err != nil {
				p.fail(k, fmt.Errorf("rule %.*q: %w", maxText, list[i].Rule, err))
			} else {
				k.Decision = d
				p.memory.keep(k.key, d)
			}
		}
	}
}

// fail says why there is no decision for k.
func (p *Process) fail(k *asked, why error) {
	h := &k.Packet
	k.Err = fmt.Errorf("firmware %s at %s, packet %d of %d -> %d, which came by %v in %v: %w",
		p.cfg.Path, k.place.Name, h.Seq, h.Src, h.Dst, k.At.Port, k.At.VC, why)
}

var turns = map[string]switching.Turn{
	"": switching.Straight, "straight": switching.Straight, "reroute": switching.Reroute, "u-turn": switching.UTurn,
}

// decision is what the answer to k says; the error says why it cannot be, and what to do. The
// caller has the turn.
func (p *Process) decision(k *asked, a *answer) (d switching.Decision, err error) {
	ports, vcs := k.place.Ports(), k.question.VCs
	turn, known := turns[a.Turn]
	switch {
	case len(a.Rule) > maxText:
		return d, fmt.Errorf("its rule has more than %d bytes: shorten it", maxText)
	case len(p.rules) == maxRules && !p.rules[a.Rule]:
		return d, fmt.Errorf("it names more than %d rules, which are counted one by one: leave out what varies",
			maxRules)
	case !known:
		return d, fmt.Errorf("its turn is %.80q: answer straight, reroute or u-turn", a.Turn)
	case len(a.Candidates) > ports*vcs:
		return d, fmt.Errorf("an answer too long: it names %d candidates, of %d ports and %d virtual channels: "+
			"name each port and virtual channel once", len(a.Candidates), ports, vcs)
	case len(a.Writes) > 1:
		return d, fmt.Errorf("it writes %d registers, and may write one: write one of them, or put both into one",
			len(a.Writes))
	}
	p.rules[a.Rule] = true
	d = switching.Decision{Rule: a.Rule, Turn: turn, Notify: a.Notify}
	for name, value := range a.Writes {
		if d.Write, err = p.write(name, value); err != nil {
			return d, err
		}
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		switch {
		case c.Port < 0 || c.Port >= ports || c.VC < 0 || c.VC >= vcs:
			return d, fmt.Errorf("it names port %d, virtual channel %d: "+
				"the ports of the switch are 0 to %d, its virtual channels 0 to %d", c.Port, c.VC, ports-1, vcs-1)
		case c.Class < 0 || c.Class > math.MaxUint8 || c.Need < 0 || c.Need > math.MaxUint8:
			return d, fmt.Errorf("it names class %d, need %d: both are 0 to 255", c.Class, c.Need)
		}
		way := switching.Candidate{
			Port: weft.PortID(c.Port), VC: weft.VC(c.VC), Class: uint8(c.Class), Need: uint8(c.Need),
			Fields: k.Packet.Fields,
		}
		if err := c.Fields.set(&way.Fields); err != nil {
			return d, fmt.Errorf("%w: fields are as docs/reference/exec.md says", err)
		}
		d.Candidates = append(d.Candidates, way)
	}
	return d, nil
}

// write is what writes a register.
func (p *Process) write(name string, value uint64) (w switching.RegisterWrite, err error) {
	i := slices.IndexFunc(p.hello.Registers, func(r register) bool { return r.Name == name })
	if i < 0 {
		return w, fmt.Errorf("it writes register %.80q, which it does not declare: declare it in hello", name)
	}
	if width := p.hello.Registers[i].Width; value>>width != 0 {
		return w, fmt.Errorf("it writes %b to register %s, which has %d bits: declare it wider in hello",
			value, name, width)
	}
	return switching.RegisterWrite{Do: true, Index: i, Value: value}, nil
}

// set sets the fields that f names.
func (f *fields) set(to *weft.Fields) (err error) {
	if f == nil {
		return nil
	}
	if f.Misroute != nil {
		to.Misroute = *f.Misroute
	}
	if f.Route != nil {
		to.Route, err = weft.ParseSourceRoute(*f.Route)
	}
	if f.Sub != nil && err == nil {
		to.Sub, err = weft.ParseSubHeaders(*f.Sub)
	}
	return cmp.Or(
		err,
		set(&to.PortField, f.PortField, "port_field", int(weft.PortFieldDown), weft.MaxPorts-1),
		set(&to.Path, f.Path, "path", 0, math.MaxUint16),
		set(&to.Layers, f.Layers, "layers", 0, 1<<weft.MaxVCs-1),
	)
}

// set sets a field to the number that was given, if one was.
func set[T int16 | uint16](field *T, given *int, name string, least, most int) error {
	if given == nil {
		return nil
	}
	if *given < least || *given > most {
		return fmt.Errorf("%s is %d, expected %d to %d", name, *given, least, most)
	}
	*field = T(*given)
	return nil
}
