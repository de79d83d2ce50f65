package ib

import (
	"maps"
	"slices"
)

// Traps (table 132): what an agent tells the manager by itself, again and again until the manager
// says that it knows.
const (
	trapLinkState    = 128 // the state of a port of a switch has changed
	trapCapabilities = 144 // the capabilities of a port have changed
	trapRepeats      = 8   // chosen by us: a manager that has not answered by then finds out at its next sweep
	typeUrgent       = 1
	typeInfo         = 4
)

// traps are those that are not yet repressed, by node and number.
type traps struct {
	waiting map[trapKey]*trap
	number  uint64
}

type trapKey struct{ node, number int }

type trap struct {
	port PortRef
	sent int
}

func (t *traps) begin(key trapKey, from PortRef) {
	if t.waiting == nil {
		t.waiting = map[trapKey]*trap{}
	}
	t.waiting[key] = &trap{port: from}
}

// linkState has a switch send trap 128.
func (t *traps) linkState(node int) { t.begin(trapKey{node, trapLinkState}, PortRef{node, 0}) }

func (t *traps) forget(node int) {
	maps.DeleteFunc(t.waiting, func(k trapKey, _ *trap) bool { return k.node == node })
}

// repress stops the trap that a manager has heard.
func (t *traps) repress(node int, m *MAD) {
	delete(t.waiting, trapKey{node, int(be16(m.Data(), 4))})
}

// SetManager says that a subnet manager runs at a port, or no longer does: the capabilities of the
// port show it.
func (s *Subnet) SetManager(at PortRef, is bool) {
	p := s.managed(at)
	s.nodes[at.Node].manager = is
	was := p.info[infoCaps+3]
	p.info[infoCaps+3] = was &^ capIsSM
	if is {
		p.info[infoCaps+3] |= capIsSM
	}
	if p.info[infoCaps+3] != was {
		s.traps.begin(trapKey{at.Node, trapCapabilities}, at)
	}
}

// Traps are the datagrams that agents send now, for traps that no manager has repressed: fresh are
// those alone that were not sent yet. More reports whether some will have to be sent again.
func (s *Subnet) Traps(fresh bool) (list []Datagram, more bool) {
	keys := slices.SortedFunc(maps.Keys(s.traps.waiting), func(a, b trapKey) int {
		if a.node != b.node {
			return a.node - b.node
		}
		return a.number - b.number
	})
	for _, k := range keys {
		t := s.traps.waiting[k]
		p := s.managed(t.port)
		if fresh && t.sent > 0 {
			continue
		}
		if t.sent++; p.info.smLID() == 0 || t.sent > trapRepeats {
			delete(s.traps.waiting, k)
			continue
		}
		more = true
		list = append(list, s.trap(k, t))
	}
	return list, more
}

func (s *Subnet) trap(k trapKey, t *trap) Datagram {
	p, n := s.managed(t.port), &s.nodes[k.node]
	s.traps.number++
	d := Datagram{At: t.port, From: p.info.lid(), To: int(p.info.smLID())}
	d.MAD.head(ClassSubnet, 1, MethodTrap, AttrNotice, 0)
	d.MAD.SetTransaction(s.traps.number)
	b := d.MAD.Data()
	kind := byte(typeUrgent)
	if k.number == trapCapabilities {
		kind = typeInfo
	}
	b[0] = 0x80 | kind // generic
	b[3] = n.kind      // producer: adapters and switches have the numbers of node types
	putBE16(b, 4, uint16(k.number))
	putBE16(b, 6, uint16(p.info.lid()))
	putBE16(b, 10, uint16(p.info.lid())) // data details begin
	if k.number == trapCapabilities {
		copy(b[14:18], p.info[infoCaps:infoCaps+4])
	}
	return d
}
