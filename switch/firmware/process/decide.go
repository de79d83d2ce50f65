package process

import (
	"fmt"
	"math"
	"sync"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Fault says why there is no decision for a packet.
type Fault struct {
	File   string // the program
	Switch string
	Packet weft.Header
	At     switching.Arrival
	Rule   string // that it named; empty: none
	Reason string // what it did
	Advice string // what to do
}

// Error says all of it.
func (f *Fault) Error() string {
	rule := ""
	if f.Rule != "" {
		rule = fmt.Sprintf(", rule %q", f.Rule)
	}
	return fmt.Sprintf("firmware %s at %s, packet %d of %d -> %d, which came by %v in %v%s: %s: %s",
		f.File, f.Switch, f.Packet.Seq, f.Packet.Src, f.Packet.Dst, f.At.Port, f.At.VC, rule, f.Reason, f.Advice)
}

func (p *Process) fault(k *switching.Ask, rule, advice, format string, args ...any) error {
	return &Fault{
		File: p.cfg.Path, Switch: k.View.Place().Name, Packet: k.Packet, At: k.At, Rule: rule,
		Reason: fmt.Sprintf(format, args...), Advice: advice,
	}
}

// route decides at once.
func (p *Process) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	k := &switching.Ask{Packet: *pkt, At: at, View: sw}
	p.batch([]*switching.Ask{k})
	if f, failed := k.Err.(*Fault); failed {
		return switching.Discard(fmt.Sprintf("%s: %s at %s: %s", switching.RuleNoAnswer, f.File, f.Switch, f.Reason))
	}
	return k.Decision
}

// batch implements [switching.Firmware].Batch.
func (p *Process) batch(asks []*switching.Ask) {
	if p.memory == nil {
		p.askAll(asks)
		return
	}
	var unknown []*switching.Ask
	for _, k := range asks {
		if d, ok := p.memory.find(p.key(k)); ok {
			k.Decision = d
		} else {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return
	}
	p.askAll(unknown)
	for _, k := range unknown {
		if k.Err == nil {
			p.memory.keep(p.key(k), k.Decision)
		}
	}
}

// askAll asks the program.
func (p *Process) askAll(asks []*switching.Ask) {
	r, err := p.current()
	var a answers
	if err == nil {
		a, err = r.ask(asks, p)
	}
	if err == nil && len(a.Answers) != len(asks) {
		err = fmt.Errorf("it gives %d answers to %d questions", len(a.Answers), len(asks))
		r.kill(err)
	}
	for i, k := range asks {
		if err != nil {
			k.Err = p.fault(k, "", "look at what it prints on its standard error; it is started again", "%v", err)
		} else {
			k.Decision, k.Err = p.decision(k, &a.Answers[i])
		}
	}
}

// question asks about k.
func (p *Process) question(q *question, k *switching.Ask, place int) {
	h, view := &k.Packet, k.View
	at := view.Place()
	*q = question{Place: place, InPort: int(k.At.Port), From: from(k.At.From), VC: int(k.At.VC)}
	q.Header = header{
		Dst: int(h.Dst), Misroute: h.Misroute, Path: int(h.Path), Layers: int(h.Layers), Route: h.Route.String(), Sub: h.Sub.String(),
	}
	if h.PortField != weft.PortFieldNone {
		q.Header.PortField = new(int(h.PortField))
	}
	if at.Tree != nil {
		q.Header.Number = new(int(at.Tree.Number(h.Dst)))
	}
	if !p.firmware.DestinationBased {
		q.Header.Src, q.Header.Seq, q.Header.Size = new(int(h.Src)), h.Seq, int(h.Size)
		q.Header.Hops, q.Header.Reroutes = int(h.Hops), int(h.Reroutes)
	}
	for i, role := range at.Roles {
		if role != weft.RoleNone && !view.PortUp(weft.PortID(i)) {
			q.Dead = append(q.Dead, i)
		}
	}
	if n := len(p.hello.Registers); n > 0 {
		q.State = make(map[string]uint64, n)
		for i, r := range p.hello.Registers {
			q.State[r.Name] = view.Register(i)
		}
	}
	reads := &p.firmware.Reads
	if reads.Queues {
		for i := range at.Ports() {
			for vc := range weft.VC(view.VCs()) {
				i := weft.PortID(i)
				q.Queues = append(q.Queues, [3]int{view.Room(i, vc), view.Occupancy(i, vc), view.Credits(i, vc)})
			}
		}
	}
	if reads.Draw {
		q.Random = view.Draw()
	}
	if reads.Now {
		q.Now = int64(view.Now())
	}
}

// from says where a packet came from, as fabricd explain does.
func from(r weft.Role) string {
	switch r {
	case weft.RoleUp:
		return "above"
	case weft.RoleDown:
		return "below"
	}
	return r.String()
}

var turns = map[string]switching.Turn{
	"": switching.Straight, "straight": switching.Straight, "reroute": switching.Reroute, "u-turn": switching.UTurn,
}

// decision is what the answer to k says; the error says why it cannot be.
func (p *Process) decision(k *switching.Ask, a *answer) (d switching.Decision, err error) {
	place, vcs := k.View.Place(), k.View.VCs()
	wrong := func(advice, format string, args ...any) (switching.Decision, error) {
		return switching.Decision{}, p.fault(k, a.Rule, advice, format, args...)
	}
	turn, known := turns[a.Turn]
	switch {
	case len(a.Rule) > maxText:
		a.Rule = a.Rule[:maxText]
		return wrong("shorten it", "its rule has more than %d bytes", maxText)
	case !known:
		return wrong("answer straight, reroute or u-turn", "its turn is %.80q", a.Turn)
	case len(a.Candidates) > place.Ports()*vcs:
		return wrong("name each port and virtual channel once", "an answer too long: it names %d candidates, of %d ports and %d virtual channels", len(a.Candidates), place.Ports(), vcs)
	case len(a.Writes) > 1:
		return wrong("write one of them, or put both into one register", "it writes %d registers, and may write one", len(a.Writes))
	}
	d = switching.Decision{Rule: p.rule(a.Rule), Turn: turn, Notify: a.Notify}
	for name, value := range a.Writes {
		i := p.register(name)
		if i < 0 {
			return wrong("declare it in hello", "it writes register %.80q, which it does not declare", name)
		}
		if w := p.hello.Registers[i].Width; w < 64 && value>>w != 0 {
			return wrong("declare it wider in hello", "it writes %b to register %s, which has %d bits", value, name, w)
		}
		d.Write = switching.RegisterWrite{Do: true, Index: i, Value: uint64(value)}
	}
	for _, c := range a.Candidates {
		if c.Port < 0 || c.Port >= place.Ports() || c.VC < 0 || c.VC >= vcs {
			return wrong(fmt.Sprintf("the ports of the switch are 0 to %d, its virtual channels 0 to %d", place.Ports()-1, vcs-1), "it names port %d, virtual channel %d", c.Port, c.VC)
		}
		if c.Class < 0 || c.Class > math.MaxUint8 || c.Need < 0 || c.Need > math.MaxUint8 {
			return wrong("both are 0 to 255", "it names class %d, need %d", c.Class, c.Need)
		}
		out := switching.Candidate{Port: weft.PortID(c.Port), VC: weft.VC(c.VC), Class: uint8(c.Class), Need: uint8(c.Need), Fields: k.Packet.Fields}
		if c.Fields != nil {
			if err := c.Fields.set(&out.Fields); err != nil {
				return wrong("fields are as fabricd explain prints them", "%v", err)
			}
		}
		d.Candidates = append(d.Candidates, out)
	}
	return d, nil
}

func (p *Process) register(name string) int {
	for i, r := range p.hello.Registers {
		if r.Name == name {
			return i
		}
	}
	return -1
}

// set writes what is given.
func (f *fields) set(to *weft.Fields) (err error) {
	if n := f.PortField; n != nil {
		if *n < int(weft.PortFieldDown) || *n >= weft.MaxPorts {
			return fmt.Errorf("port_field is %d, expected a port, or -1 or -2", *n)
		}
		to.PortField = int16(*n)
	}
	if n := f.Path; n != nil {
		if *n < 0 || *n > math.MaxUint16 {
			return fmt.Errorf("path is %d, expected 0 to %d", *n, math.MaxUint16)
		}
		to.Path = uint16(*n)
	}
	if n := f.Layers; n != nil {
		if *n>>weft.MaxVCs != 0 {
			return fmt.Errorf("layers is %b, expected at most %d bits", *n, weft.MaxVCs)
		}
		to.Layers = uint16(*n)
	}
	if f.Misroute != nil {
		to.Misroute = uint64(*f.Misroute)
	}
	if f.Route != nil {
		if to.Route, err = weft.ParseSourceRoute(*f.Route); err != nil {
			return err
		}
	}
	if f.Sub != nil {
		to.Sub, err = weft.ParseSubHeaders(*f.Sub)
	}
	return err
}

// maxRules is how many rules a program may name. They are counted one by one, and the names kept.
const maxRules = 1 << 10

// rule is the name of a rule, of which there is one copy.
func (p *Process) rule(name string) string {
	p.rulesMu.Lock()
	defer p.rulesMu.Unlock()
	if known, ok := p.rules[name]; ok {
		return known
	}
	if len(p.rules) == maxRules {
		return "one of too many rules"
	}
	p.rules[name] = name
	return name
}

// maxRemembered is how many registers a program may have for its decisions to be remembered.
const maxRemembered = 4

// memoryKey is all that a decision depends on that is based on destinations.
type memoryKey struct {
	place     placeKey
	dst       weft.NICID
	at        switching.Arrival
	fields    weft.Fields
	dead      switching.PortSet
	registers [maxRemembered]uint64
}

func (p *Process) key(k *switching.Ask) memoryKey {
	place := k.View.Place()
	m := memoryKey{place: placeKey{place, k.View.VCs()}, dst: k.Packet.Dst, at: k.At, fields: k.Packet.Fields}
	for i, role := range place.Roles {
		if role != weft.RoleNone && !k.View.PortUp(weft.PortID(i)) {
			m.dead.Add(weft.PortID(i))
		}
	}
	for i := range p.hello.Registers {
		m.registers[i] = k.View.Register(i)
	}
	return m
}

// memory are the latest decisions: at most twice maxKept, of which some that were not asked for again
// are forgotten.
type memory struct {
	mu       sync.Mutex
	now, was map[memoryKey]switching.Decision // guarded by mu
}

const maxKept = 1 << 16

func (m *memory) find(k memoryKey) (switching.Decision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.now[k]; ok {
		return d, true
	}
	d, ok := m.was[k]
	if ok {
		m.put(k, d)
	}
	return d, ok
}

func (m *memory) keep(k memoryKey, d switching.Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(k, d)
}

// put adds a decision. The caller holds mu.
func (m *memory) put(k memoryKey, d switching.Decision) {
	if m.now == nil || len(m.now) == maxKept {
		m.now, m.was = map[memoryKey]switching.Decision{}, m.now
	}
	m.now[k] = d
}
