package ledger

import (
	"cmp"
	"slices"
)

// attributeSession attributes what is newly known to be lost in a session. What is lost never comes
// back.
func (l *Ledger) attributeSession(s *Session) {
	for d := range s.Lost {
		_, lost := onWire(&s.Sides[d].Flow, &s.Sides[1-d].Flow)
		if lost <= s.Lost[d] {
			continue
		}
		if n := s.Channel.Node; n.Kind != 0 {
			l.ofNode(n).Crash += lost - s.Lost[d]
		} else {
			l.ofLink(s.Channel.Link).Wire += lost - s.Lost[d]
		}
		s.Lost[d] = lost
	}
}

// attributeCounted attributes what a host has newly counted as lost. What is in lists never gets
// less: a number in now that is below that in was is raised to it.
func (l *Ledger) attributeCounted(was, now *Counted) {
	now.Wire = merge(was.Wire, now.Wire, LinkLost.Compare, func(a, b *LinkLost) {
		for d := range b.Wire {
			b.Wire[d] = max(a.Wire[d], b.Wire[d])
			if more := b.Wire[d] - a.Wire[d]; more > 0 {
				l.ofLink(b.Link).Wire += more
			}
		}
	})
	now.Queue = merge(was.Queue, now.Queue, EndLost.Compare, func(a, b *EndLost) {
		b.Packets = max(a.Packets, b.Packets)
		if b.Packets > a.Packets {
			l.ofLink(l.ends[b.End]).Queued += b.Packets - a.Packets
		}
	})
	now.Crash = merge(was.Crash, now.Crash, NodeLost.Compare, func(a, b *NodeLost) {
		b.Packets = max(a.Packets, b.Packets)
		if b.Packets > a.Packets {
			l.ofNode(b.Switch.Node()).Crash += b.Packets - a.Packets
		}
	})
}

// Add adds o to c.
func (c *Counted) Add(o *Counted) {
	c.Counters.Add(&o.Counters)
	c.addDiscards(o.Discards)
	c.Wire = merge(c.Wire, o.Wire, LinkLost.Compare, func(a, b *LinkLost) {
		b.Wire[0], b.Wire[1] = b.Wire[0]+a.Wire[0], b.Wire[1]+a.Wire[1]
	})
	c.Queue = merge(c.Queue, o.Queue, EndLost.Compare, func(a, b *EndLost) { b.Packets += a.Packets })
	c.Crash = merge(c.Crash, o.Crash, NodeLost.Compare, func(a, b *NodeLost) { b.Packets += a.Packets })
}

func (c *Counted) addDiscards(list []Rule) {
	if len(list) > 0 {
		c.Discards = merge(c.Discards, list, Rule.compare, func(a, b *Rule) { b.Packets += a.Packets })
	}
}

// merge is both lists in order, without changing either. both turns b, an entry of the second list,
// into that of the result; a is the same object's in the first list, or has numbers of 0. What only
// the first has stays.
func merge[T any](first, second []T, order func(a, b T) int, both func(a, b *T)) []T {
	if len(first)+len(second) == 0 {
		return nil
	}
	out := make([]T, 0, max(len(first), len(second)))
	for _, b := range second {
		for len(first) > 0 && order(first[0], b) < 0 {
			out, first = append(out, first[0]), first[1:]
		}
		var a T
		if len(first) > 0 && order(first[0], b) == 0 {
			a, first = first[0], first[1:]
		}
		both(&a, &b)
		out = append(out, b)
	}
	return append(out, first...)
}

func (r Rule) compare(o Rule) int { return cmp.Compare(r.Name, o.Name) }

// Compare is the order of links.
func (n LinkLost) Compare(o LinkLost) int { return cmp.Compare(n.Link, o.Link) }

// Compare is the order of switches.
func (n NodeLost) Compare(o NodeLost) int { return cmp.Compare(n.Switch, o.Switch) }

// Compare is the order of ends: kind and number of the node, port.
func (n EndLost) Compare(o EndLost) int {
	return cmp.Or(cmp.Compare(n.End.Node.Kind, o.End.Node.Kind), cmp.Compare(n.End.Node.Index, o.End.Node.Index),
		cmp.Compare(n.End.Port, o.End.Port))
}

// sorted reports whether the lists of c are in order, each object once, and name what the fabric
// has.
func (l *Ledger) sorted(c *Counted) bool {
	return ascending(c.Discards, Rule.compare) && ascending(c.Wire, LinkLost.Compare) &&
		ascending(c.Queue, EndLost.Compare) && ascending(c.Crash, NodeLost.Compare) &&
		!slices.ContainsFunc(c.Wire, func(n LinkLost) bool { return int(n.Link) >= len(l.links) }) &&
		!slices.ContainsFunc(c.Queue, func(n EndLost) bool { _, ok := l.ends[n.End]; return !ok }) &&
		!slices.ContainsFunc(c.Crash, func(n NodeLost) bool { return !l.knows(n.Switch.Node()) })
}

func ascending[T any](list []T, order func(a, b T) int) bool {
	for i := 1; i < len(list); i++ {
		if order(list[i-1], list[i]) >= 0 {
			return false
		}
	}
	return true
}
