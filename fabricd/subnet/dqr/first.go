package dqr

import "github.com/weft-fabric/weft/fabricd/subnet/layered"

// First are the tables before the last change with those of its entries that no packet asks yet:
// for channels by which none came for their destination since the last Settle, and for the NICs of
// a switch in layers in which they did not send there. Where they are in force in every switch
// before any of [Reconfiguration.Routing] is, packets take no turns but those of old and new paths,
// whatever the order in which switches get either. Without it a packet on a new path may come to an
// old entry that nobody had asked and no list knows: it may send it back.
func (r *Reconfiguration) First() (*layered.Routing, error) {
	x := &r.scratch
	var now []entry
	for i := len(x.journal) - 1; i >= 0; i-- { // the first that was overwritten comes last
		e := x.journal[i]
		if !r.wasAsked(e) {
			continue
		}
		at := &r.layers[e.layer].next
		if e.first {
			at = &r.layers[e.layer].first
		}
		now = append(now, entry{e.layer, e.at, (*at)[e.at], e.first})
		(*at)[e.at] = e.was
	}
	masks := make([]uint16, len(x.flows))
	for i, f := range x.flows {
		at := int(f.target)*r.w.n + int(f.from)
		masks[i], r.mask[at] = r.mask[at], f.mask
	}
	routing, err := r.tables()
	for i, f := range x.flows {
		r.mask[int(f.target)*r.w.n+int(f.from)] = masks[i]
	}
	for i := len(now) - 1; i >= 0; i-- {
		if e := now[i]; e.first {
			r.layers[e.layer].first[e.at] = e.was
		} else {
			r.layers[e.layer].next[e.at] = e.was
		}
	}
	return routing, err
}

// wasAsked reports whether packets asked an entry since the last Settle, but for the last change.
func (r *Reconfiguration) wasAsked(e entry) bool {
	y, n := r.layers[e.layer], r.w.n
	if !e.first {
		return y.asked[e.at]
	}
	k, s := int(e.at)/n, e.at%int32(n)
	return r.sent[e.at]>>e.layer&1 == 1 || r.passed(row(y.asked, k, len(r.w.To)), nil, s)
}

// noteAsked takes note of the entries that packets ask since the last change, before another
// begins.
func (r *Reconfiguration) noteAsked() {
	if r.sent == nil {
		r.sent = make([]uint16, len(r.mask))
	}
	for i, m := range r.mask {
		r.sent[i] |= m
	}
	for l, y := range r.layers {
		if y.asked == nil {
			y.asked = append([]bool(nil), y.live...)
			continue
		}
		if r.scratch.touched == nil {
			continue
		}
		for k, touched := range r.scratch.touched[l] {
			if !touched {
				continue
			}
			asked := row(y.asked, k, len(r.w.To))
			for c, is := range row(y.live, k, len(r.w.To)) {
				asked[c] = asked[c] || is
			}
		}
	}
}
