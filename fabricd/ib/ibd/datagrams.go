package ibd

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ib"
	switching "github.com/weft-fabric/weft/switch"
)

// program is one that is connected.
type program struct {
	at      ib.PortRef
	who     string // command, process and node
	command string
	manager bool
	info    ib.ManagerInfo      // of a manager, as it has said
	asked   map[uint64]*request // those without an answer, by the lower bits of their transactions
}

// request is one of a program, as it was sent.
type request struct {
	d     ib.Datagram
	upper uint16 // bits of its transaction
	sent  time.Time
	tries int
}

// A request without an answer is sent again after againAfter, then after twice that and so on,
// mostTries times in all; then its program has it back as one that nobody has answered. The kernel
// of a host does that for its programs, and the library by which they come in here does not:
// without it OpenSM waits for ever. Times are of the clock of the fabric. Chosen by us, for
// machines that are busy.
const (
	againAfter = 200 * time.Millisecond
	mostTries  = 4
)

// askAgain sends again what programs have asked and nobody has answered.
func (d *Driver) askAgain() {
	again := d.slowed(againAfter)
	for client, p := range d.clients {
		for id, r := range p.asked {
			if time.Since(r.sent) < again<<(r.tries-1) {
				continue
			}
			m := r.d
			if r.tries == mostTries {
				m.SetTransaction(id | uint64(r.upper)<<48)
				m.Unanswered = true
				if d.give(client, &m) {
					delete(p.asked, id)
				}
				continue
			}
			r.sent = time.Now()
			r.tries++
			d.launch(&m)
		}
	}
}

// mostCounting bounds the nodes that are asked for counters at one moment; chosen by us.
const mostCounting = 256

// mostAsked bounds the requests of a program that nobody has answered; chosen by us.
const mostAsked = 4096

// Attach implements [sim.Fabric].
func (d *Driver) Attach(client, process int, node string) (name string, err error) {
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", process)) // it may have ended
	if e := d.ask(func() {
		at, ok := d.subnet.Find(node)
		if !ok {
			err = fmt.Errorf(
				"no node %q in this fabric: name a NIC or a switch as linkmon ls does, or by its description", node)
			return
		}
		name = d.subnet.Name(at)
		p := &program{at: at, asked: map[uint64]*request{}}
		p.command = cmp.Or(strings.TrimSpace(string(command)), "process")
		p.who = fmt.Sprintf("%s %d at %s", p.command, process, d.subnet.Where(at))
		d.clients[client] = p
	}); e != nil {
		return "", e
	}
	return name, err
}

// Detach implements [sim.Fabric].
func (d *Driver) Detach(client int) {
	_ = d.ask(func() {
		if p := d.clients[client]; p != nil {
			delete(d.clients, client)
			if p.manager {
				d.subnet.SetManager(p.at, false)
				d.sendTraps(true)
			}
		}
	})
}

// SetManager implements [sim.Fabric].
func (d *Driver) SetManager(client int, is bool) (err error) {
	if e := d.ask(func() {
		p := d.clients[client]
		switch {
		case p == nil || p.manager == is:
			return
		case is && d.subnet.ManagerAt(p.at):
			err = fmt.Errorf("a subnet manager runs at %s already: attach another one elsewhere, with --at",
				d.subnet.Where(p.at))
			return
		}
		p.manager = is
		d.subnet.SetManager(p.at, is)
		d.sendTraps(true)
	}); e != nil {
		return e
	}
	return err
}

// Info implements [sim.Fabric].
func (d *Driver) Info(client int) (node, port, keys [64]byte) {
	_ = d.ask(func() {
		if p := d.clients[client]; p != nil {
			node, port, keys = d.subnet.Info(p.at)
		}
	})
	return node, port, keys
}

// Send implements [sim.Fabric].
func (d *Driver) Send(client int, m ib.Datagram) {
	d.post(func() {
		p := d.clients[client]
		if p == nil {
			return
		}
		d.subnet.Begin(&m, p.at)
		m.Owner, m.Program = p.who, p.command
		if p.manager {
			d.managerAsks(&m.MAD)
		}
		if !m.IsAnswer() {
			if len(p.asked) >= mostAsked {
				clear(p.asked)
			}
			id := m.Transaction()
			m.SetTransaction(id&lower48 | uint64(client+1)<<48)
			p.asked[id&lower48] = &request{d: m, upper: uint16(id >> 48), sent: time.Now(), tries: 1}
		}
		d.launch(&m)
	})
}

const lower48 = 1<<48 - 1

// launch sends a datagram from the node that it is at.
func (d *Driver) launch(m *ib.Datagram) {
	if d.inFlight >= mostFlying {
		d.lost["too many at once"]++
		return
	}
	d.inFlight++
	d.advance(m)
}

// advance takes a datagram from node to node.
func (d *Driver) advance(m *ib.Datagram) {
	for {
		switch d.subnet.Step(m) {
		case ib.Delivered:
			d.inFlight--
			d.deliver(m)
			return
		case ib.Dropped:
			d.inFlight--
			d.lost[m.Lost]++
			return
		}
		if d.cfg.Hop > 0 {
			d.after(d.slowed(d.cfg.Hop), func() { d.advance(m) })
			return
		}
	}
}

// deliver gives a datagram to whoever it is for at its node.
func (d *Driver) deliver(m *ib.Datagram) {
	ofAgent := m.Method() == ib.MethodTrapRepress && m.Transaction()>>48 == 0 // to a trap that an agent has sent
	if m.IsAnswer() && !ofAgent {
		d.answered(m)
		return
	}
	ofManager := m.Attribute() == ib.AttrSMInfo || m.Method() == ib.MethodTrap
	forManager := m.Class() == ib.ClassAdministration || m.IsSubnet() && ofManager
	switch {
	case forManager:
		d.toManager(m)
	case m.IsSubnet():
		d.toAgent(m)
	case m.Class() == ib.ClassPerformance:
		d.count(m)
	default:
		d.lost["no agent for its class"]++
	}
}

// toManager gives a datagram to the subnet manager at its node.
func (d *Driver) toManager(m *ib.Datagram) {
	if d.own != nil && m.At.Node == d.own.at.Node {
		d.ownTold(m)
		return
	}
	for n, p := range d.clients {
		if p.manager && p.at.Node == m.At.Node {
			d.give(n, m)
			return
		}
	}
	if m.IsSubnet() && m.Method() != ib.MethodTrap {
		m.Refuse()
		d.subnet.TurnBack(m)
		d.launch(m)
		return
	}
	d.lost["no subnet manager where it came"]++
}

// toAgent has the agent of the node answer. An answer that says that switches forward otherwise is
// sent when they do.
func (d *Driver) toAgent(m *ib.Datagram) {
	reply, effects := d.subnet.Answer(m.At, &m.MAD)
	d.written(m, effects)
	d.apply(effects, m.Owner)
	if !reply {
		return
	}
	d.subnet.TurnBack(m)
	left := 1
	loaded := func() {
		if left--; left == 0 {
			d.launch(m)
		}
	}
	for _, e := range effects {
		if e.Kind == ib.EffectTables && d.cfg.Forward {
			left++
			d.tables.whenLoaded(e.Switch, loaded)
		}
	}
	loaded()
}

// answered gives an answer to who has asked.
func (d *Driver) answered(m *ib.Datagram) {
	id := m.Transaction()
	if id>>48 == ib.InquiryMark {
		d.heard(m)
		return
	}
	if id>>48 == watchMark {
		d.sawManager(m)
		return
	}
	if id>>48 == ownMark {
		if d.own != nil {
			d.ownHeard(m)
		}
		return
	}
	client := int(id>>48) - 1
	p := d.clients[client]
	if p == nil || p.at.Node != m.At.Node {
		d.lost["nobody waits for it"]++
		return
	}
	r, ok := p.asked[id&lower48]
	if !ok {
		d.lost["nobody waits for it"]++
		return
	}
	m.SetTransaction(id&lower48 | uint64(r.upper)<<48)
	if d.give(client, m) { // else it is asked again
		delete(p.asked, id&lower48)
	}
}

// give reports whether a program will read a datagram.
func (d *Driver) give(client int, m *ib.Datagram) bool {
	err := d.server.Deliver(client, m)
	if err != nil {
		d.lost["a program does not read, or is gone"]++
	}
	return err == nil
}

// count answers a datagram of performance management, once the node of the fabric has said what it
// has counted.
func (d *Driver) count(m *ib.Datagram) {
	ports := d.subnet.NeedsCounters(m.At, &m.MAD)
	answer := func(values []ib.Counters) {
		if d.subnet.Count(m.At, &m.MAD, ports, values) {
			d.subnet.TurnBack(m)
			d.launch(m)
		}
	}
	if len(ports) == 0 {
		answer(nil)
		return
	}
	var ends []weft.End
	for _, r := range ports {
		end, _ := d.subnet.End(r)
		ends = append(ends, end)
	}
	if d.counting >= mostCounting {
		d.lost["too many at once"]++
		return
	}
	d.counting++
	d.running.Go(func() {
		values := d.read(ends)
		d.post(func() { d.counting--; answer(values) })
	})
}

// read reads the counters of some ports of one node.
func (d *Driver) read(ends []weft.End) (list []ib.Counters) {
	size := uint64(d.cfg.Bytes)
	if node := ends[0].Node; !node.IsSwitch() {
		n := d.cfg.Fabric.NIC(weft.NICID(node.Index))
		c := n.Counters
		return []ib.Counters{{
			SentPackets: c.Sent, ReceivedPackets: c.Received,
			SentBytes: c.Sent * size, ReceivedBytes: c.Received * size,
			Errors: c.Gaps + c.Violations,
		}}
	}
	s := d.cfg.Fabric.Switch(weft.SwitchID(ends[0].Node.Index))
	for _, e := range ends {
		p := s.Ports[e.Port]
		c := p.Counters
		x := ib.Counters{
			SentPackets: c.Sent, ReceivedPackets: c.Received,
			SentBytes: c.Sent * size, ReceivedBytes: c.Received * size,
			Discarded: p.Lost, Errors: c.Gaps + c.Violations,
		}
		for _, vc := range p.VCs {
			x.Waited += vc.Stalls[switching.StallNoCredit]
		}
		list = append(list, x)
	}
	return list
}
