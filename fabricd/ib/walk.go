package ib

import "github.com/weft-fabric/weft"

// Datagram is a management datagram on its way.
type Datagram struct {
	MAD
	At       PortRef // where it is, and the port that it came in by
	From, To int     // LIDs; of a directed route [permissive]
	hop      int     // hops of a directed route so far
	entered  bool    // it has left the node that sent it
	hops     int     // nodes crossed
	FromQP   uint32
	Size     int // bytes in use, of what a program has sent; 0: all
	ToQP     uint32
	Owner    string // who sent it, for reports
	Program  string // the name of that program

	Lost       string // why it went no further
	Unanswered bool   // a program has it back, because nobody answers it
}

// Outcome is what a step came to.
type Outcome uint8

// Outcomes of a step.
const (
	Forwarded Outcome = iota + 1 // it is on the next link, and at its end after the time of a hop
	Delivered                    // At is where
	Dropped                      // Lost says why
)

// maxHops bounds what tables that loop can do with a datagram.
const maxHops = weft.MaxHops

// directed reports whether ports are its route, and not a LID.
func (d *Datagram) directed() bool { return d.Class() == ClassSubnetDirected }

// TurnBack sends a datagram, which is the answer to itself by now, back from where it was
// delivered, as the port there.
func (s *Subnet) TurnBack(d *Datagram) {
	d.FromQP, d.ToQP, d.hops, d.entered = d.ToQP, d.FromQP, 0, false
	if d.directed() {
		d.From, d.To = permissive, permissive
		return
	}
	d.To = d.From
	d.From = s.managed(d.At).info.lid()
}

// Begin makes a datagram that a program has written ready to leave its port.
func (s *Subnet) Begin(d *Datagram, at PortRef) {
	d.At = at
	if !d.directed() && d.From == 0 {
		d.From = s.managed(at).info.lid()
	}
}

// Step takes a datagram through the node that it is at. Forwarded says that it is on a link.
func (s *Subnet) Step(d *Datagram) Outcome {
	if d.hops++; d.hops > maxHops {
		return d.drop("it goes round and round")
	}
	if d.directed() {
		return s.stepDirected(d)
	}
	return s.stepLID(d)
}

func (d *Datagram) drop(why string) Outcome {
	d.Lost = why
	return Dropped
}

// stepDirected follows the ports of the route (section 14.2.2): there by the initial path, whose
// return path is written on the way, and back by that.
func (s *Subnet) stepDirected(d *Datagram) Outcome {
	count := d.hopCount()
	if be16(d.MAD[:], 32) != permissive || be16(d.MAD[:], 34) != permissive {
		return d.drop("a part of its route goes by LID, which no agent here takes")
	}
	if count > maxPath {
		return d.drop("its route is too long")
	}
	back := d.MAD[4]&(directionBit>>8) != 0
	if back && !d.entered {
		d.hop, d.entered = count, true
	}
	n := &s.nodes[d.At.Node]
	switch {
	case back && d.hop == 0, !back && d.hop == count:
		if d.MAD[6] = byte(d.hop); back {
			d.MAD[6] = 0
		}
		return Delivered
	case !back && d.hop > 0 && n.kind != typeSwitch:
		return d.drop("its route goes through an adapter")
	}
	out := int(d.returnPath()[d.hop])
	if !back {
		out = int(d.initialPath()[d.hop+1])
	}
	at := PortRef{d.At.Node, out}
	if out == 0 || !s.valid(at) || n.kind == typeAdapter && !back && out != d.At.Port {
		return d.drop("its route leaves by a port that is not there")
	}
	if !s.cross(d, at) {
		return Dropped
	}
	if back {
		d.hop--
	} else {
		d.hop++
		d.returnPath()[d.hop] = byte(d.At.Port)
	}
	return Forwarded
}

// stepLID forwards by the linear table, as data is.
func (s *Subnet) stepLID(d *Datagram) Outcome {
	n := &s.nodes[d.At.Node]
	p := s.managed(d.At)
	lid, count := p.info.lid(), 1<<p.info.lmc()
	if n.kind == typeSwitch {
		count = 1
	}
	own := d.To >= lid && d.To < lid+count && lid != 0 || d.To == permissive
	switch {
	case own:
		return Delivered
	case d.To == 0 || d.To >= linearCap:
		return d.drop("it has no LID of a port")
	case n.kind == typeAdapter && d.entered:
		return d.drop("it came to an adapter that does not have its LID")
	}
	out := d.At
	if n.kind == typeSwitch {
		out.Port = int(n.sw.out(d.To))
		if out.Port == 0 || !s.valid(out) {
			return d.drop("no entry for its LID")
		}
	}
	if !d.IsSubnet() && !s.carriesData(out) {
		return d.drop("a port on its way is not active")
	}
	d.entered = true
	if !s.cross(d, out) {
		return Dropped
	}
	return Forwarded
}

// cross puts a datagram on the link of a port.
func (s *Subnet) cross(d *Datagram, out PortRef) bool {
	p := s.port(out)
	if !p.linked || !p.up || !s.port(p.peer).up || s.cut[p.link] {
		d.drop("a link on its way is down")
		return false
	}
	if p.info.physical() == physDisabled || s.port(p.peer).info.physical() == physDisabled {
		d.drop("a port on its way is disabled")
		return false
	}
	d.At = p.peer
	return true
}
