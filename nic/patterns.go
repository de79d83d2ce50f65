package nic

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// Destinations draws the destinations of one NIC's packets.
type Destinations interface {
	// Next is where the next packet goes; ok is false when this NIC has nobody to send to, now or
	// later.
	Next(r Rand) (dst weft.NICID, ok bool)
}

// destinations returns, for each NIC, where it sends by the pattern, which is none or one with a
// load. o.Rand decides what the pattern leaves to chance. Errors: a number of NICs that the pattern
// cannot do with, a NIC that is not there.
func (t *Traffic) destinations(o Over) ([]Destinations, error) {
	nics, r := o.NICs, o.Rand
	out := make([]Destinations, nics)
	for i := range out {
		out[i] = nowhere{}
	}
	if nics < 2 {
		return out, nil
	}
	switch t.Pattern {
	case "uniform":
		for i := range out {
			out[i] = uniform{self: weft.NICID(i), nics: uint64(nics)}
		}
	case "hotspot":
		return out, t.hotspot(o, out)
	case "pairwise":
		order := shuffled(nics, r)
		for i := 0; i+1 < nics; i += 2 {
			a, b := order[i], order[i+1]
			out[a], out[b] = only(b), only(a)
		}
	case "all-to-all":
		for i := range out {
			out[i] = &allInTurn{self: uint32(i), nics: uint32(nics)}
		}
	case "incast":
		return out, t.incast(o, out)
	default:
		to, err := t.permute(nics)
		if err != nil {
			return nil, err
		}
		for i, dst := range to {
			if int(dst) != i { // a packet to itself would not cross the fabric
				out[i] = only(dst)
			}
		}
	}
	return out, nil
}

// shuffled is a random order of all NICs (Fisher and Yates, inside out).
func shuffled(nics int, r Rand) []weft.NICID {
	order := make([]weft.NICID, nics)
	for i := range order {
		order[i] = weft.NICID(i)
		j := int(below(r, uint64(i+1)))
		order[i], order[j] = order[j], order[i]
	}
	return order
}

type uniform struct {
	self weft.NICID
	nics uint64
}

func (u uniform) Next(r Rand) (weft.NICID, bool) {
	d := weft.NICID(below(r, u.nics-1))
	if d >= u.self {
		d++
	}
	return d, true
}

type only weft.NICID

func (o only) Next(Rand) (weft.NICID, bool) { return weft.NICID(o), true }

type nowhere struct{}

func (nowhere) Next(Rand) (weft.NICID, bool) { return 0, false }

// allInTurn sends to all others one after another. As each begins with the NIC after itself, no two
// send to the same at once.
type allInTurn struct{ self, nics, step uint32 }

func (t *allInTurn) Next(Rand) (weft.NICID, bool) {
	dst := (t.self + 1 + t.step) % t.nics
	if t.step++; t.step == t.nics-1 {
		t.step = 0
	}
	return weft.NICID(dst), true
}

// hotspot draws a hot NIC or, with the rest of the probability, any but the sender.
type hotspot struct {
	uniform
	hot  []weft.NICID // shared by all
	mine int          // which of them is the sender; len(hot) when none is
	hots uint64       // how many others are hot; not 0
	p    uint64       // the probability that it is a hot NIC's turn, see inParts
}

func (h *hotspot) Next(r Rand) (weft.NICID, bool) {
	if !share(r, h.p) {
		return h.uniform.Next(r)
	}
	i := int(below(r, h.hots))
	if i >= h.mine {
		i++
	}
	return h.hot[i], true
}

func (t *Traffic) hotspot(o Over, out []Destinations) error {
	hot, err := t.hotNICs(o)
	if err != nil {
		return err
	}
	probability := t.Share
	probability = cmp.Or(probability, DefaultShare)
	for i := range out {
		h := &hotspot{
			uniform: uniform{weft.NICID(i), uint64(o.NICs)}, hot: hot, mine: len(hot), hots: uint64(len(hot)),
			p: inParts(probability),
		}
		for j, id := range hot {
			if int(id) == i {
				h.mine, h.hots = j, h.hots-1
			}
		}
		out[i] = h
		if h.hots == 0 { // the only hot one
			out[i] = h.uniform
		}
	}
	return nil
}

// hotNICs are the NICs that are hot.
func (t *Traffic) hotNICs(o Over) ([]weft.NICID, error) {
	n, err := strconv.Atoi(t.Hot)
	if t.Hot == "" {
		n, err = 1, nil
	}
	if err == nil {
		if n > o.NICs {
			return nil, fmt.Errorf("%d NICs cannot be hot: there are %d", n, o.NICs)
		}
		return shuffled(o.NICs, o.Rand)[:n:n], nil
	}
	var hot []weft.NICID
	for _, name := range strings.Split(t.Hot, "/") {
		id, err := o.find(name)
		if err != nil {
			return nil, fmt.Errorf("hot: %w", err)
		}
		hot = append(hot, id)
	}
	return hot, nil
}

func (t *Traffic) incast(o Over, out []Destinations) error {
	order := shuffled(o.NICs, o.Rand)
	to := order[0]
	if t.To != "" {
		var err error
		if to, err = o.find(t.To); err != nil {
			return fmt.Errorf("to: %w", err)
		}
	}
	from := t.From
	switch {
	case from == 0:
		from = o.NICs - 1
	case from > o.NICs-1:
		return fmt.Errorf("%d NICs cannot send to one: there are %d in all", from, o.NICs)
	}
	for _, id := range order {
		if id != to && from > 0 {
			out[id] = only(to)
			from--
		}
	}
	return nil
}
