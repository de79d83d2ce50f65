package weft

import (
	"errors"
	"strconv"
	"strings"
)

// SubHeader says how a packet goes along one sub-path of its way through a torus or a mesh (Gomez,
// Flich, Lopez, Robles, Duato: A Routing Methodology for Achieving Fault Tolerance in Direct
// Networks, section 5.2 and figure 8): to which intermediate node, whether adaptively, and in which
// directions it is misrouted first. The zero value is none.
//
// From the lowest bit: the switch (16), the D bit, the other ways round (4, by dimension), three
// misroutes of 7 bits (the direction, as [Grid].Down and [Grid].Up number it, 3; the hops, 4),
// whether it leads nowhere, and, in the highest, whether there is one.
type SubHeader uint64

// MaxMisroutes is in how many directions a packet is misrouted on one sub-path, and MaxMisrouteHops
// how far in each (section 4.3).
const (
	MaxMisroutes    = 3
	MaxMisrouteHops = 8
)

const (
	subSwitch    = 1<<16 - 1
	subFixed     = 1 << 16
	subOther     = 17
	subMisroutes = 21
	subMisroute  = 7
	subHops      = 4
	subNowhere   = 1 << 42
	subIs        = 1 << 63
)

// NewSubHeader is a sub-path to a switch, adaptive and without misroutes. For the last sub-path,
// which ends at the packet's destination, the switch says nothing and is 0.
func NewSubHeader(to SwitchID) SubHeader { return subIs | SubHeader(to&subSwitch) }

// Nowhere is the sub-header of a packet for a destination to which no way is known: the first
// switch discards it.
const Nowhere SubHeader = subIs | subNowhere

// Is reports whether there is one.
func (h SubHeader) Is() bool { return h&subIs != 0 }

// To is the intermediate node.
func (h SubHeader) To() SwitchID { return SwitchID(h & subSwitch) }

// Deterministic is the D bit: adaptive routing is off.
func (h SubHeader) Deterministic() bool { return h&subFixed != 0 }

// WithDeterministic is h with the D bit set.
func (h SubHeader) WithDeterministic() SubHeader { return h | subFixed }

// OtherWay reports whether a packet that is half way round dimension i from its goal when the
// sub-path begins, where both ways are as short, takes the other than the one that dimension order
// takes by itself.
func (h SubHeader) OtherWay(i int) bool { return h>>(subOther+uint(i))&1 != 0 }

// WithOtherWay is h that takes the other way round dimension i, of at most four.
func (h SubHeader) WithOtherWay(i int) SubHeader { return h | 1<<(subOther+uint(i)) }

// Misroute is the direction in which the packet is misrouted i-th, as a port of a [Grid], and how
// many hops are left; 0 hops: none.
func (h SubHeader) Misroute(i int) (direction PortID, hops int) {
	m := h >> (subMisroutes + subMisroute*uint(i))
	return PortID(m >> subHops & 7), int(m & (1<<subHops - 1))
}

// WithMisroute is h whose i-th misroute, of MaxMisroutes, takes at most MaxMisrouteHops hops in a
// direction below 8.
func (h SubHeader) WithMisroute(i int, direction PortID, hops int) SubHeader {
	at := subMisroutes + subMisroute*uint(i)
	h &^= (1<<subMisroute - 1) << at
	return h | SubHeader(direction&7)<<(at+subHops) | SubHeader(min(hops, MaxMisrouteHops))<<at
}

// Misrouted is h after one hop of the first misroute; the next one is the first when no hops are
// left of it.
func (h SubHeader) Misrouted() SubHeader {
	if _, hops := h.Misroute(0); hops > 1 {
		return h - 1<<subMisroutes
	}
	const mask SubHeader = (1<<(MaxMisroutes*subMisroute) - 1) << subMisroutes
	return h&^mask | h&mask>>subMisroute&mask
}

// Leads reports whether it is not [Nowhere].
func (h SubHeader) Leads() bool { return h&subNowhere == 0 }

// Valid reports whether h is what the functions above make: misroutes follow each other without a
// gap, and no other bits are set.
func (h SubHeader) Valid() bool {
	if h == 0 || h == Nowhere {
		return true
	}
	ended := false
	for i := range MaxMisroutes {
		d, hops := h.Misroute(i)
		if hops > MaxMisrouteHops || hops == 0 && d != 0 || hops > 0 && ended {
			return false
		}
		ended = hops == 0
	}
	return h.Is() && h&^(subIs|1<<(subMisroutes+MaxMisroutes*subMisroute)-1) == 0
}

// SubHeaders are the sub-headers of a packet, that of the sub-path that it is on first; none: it
// goes to its destination adaptively.
type SubHeaders [MaxSubPaths]SubHeader

// MaxSubPaths is how many a packet has room for: three intermediate nodes, and the destination.
const MaxSubPaths = 4

// Len is how many there are.
func (h SubHeaders) Len() (n int) {
	for n < len(h) && h[n].Is() {
		n++
	}
	return n
}

// Via reports whether the sub-path ends at an intermediate node: the I bit.
func (h *SubHeaders) Via() bool { return h[1].Is() }

// Pop is what is left at the end of the sub-path.
func (h SubHeaders) Pop() (rest SubHeaders) {
	copy(rest[:], h[1:])
	return rest
}

// Valid reports whether all are valid and none follows a gap, and none but a first and only one
// leads nowhere.
func (h SubHeaders) Valid() bool {
	n := h.Len()
	for i, s := range h {
		if !s.Valid() || s.Is() != (i < n) || !s.Leads() && n != 1 {
			return false
		}
	}
	return true
}

// String prints each as where it leads, "d" without adaptive routing, "oI" for the other way round
// dimension I, and misroutes as port and hops: "12,d,p1x2;end,p3x1". None is "".
func (h SubHeaders) String() string {
	return h.Text(func(s SwitchID) string { return strconv.Itoa(int(s)) })
}

// Text prints them as String does, with the names of switches.
func (h SubHeaders) Text(name func(SwitchID) string) string {
	var text []byte
	n := h.Len()
	for i, s := range h[:n] {
		if i > 0 {
			text = append(text, ';')
		}
		switch {
		case !s.Leads():
			text = append(text, "nowhere"...)
		case i < n-1:
			text = append(text, name(s.To())...)
		default:
			text = append(text, "end"...)
		}
		text = s.append(text)
	}
	return string(text)
}

func (h SubHeader) append(text []byte) []byte {
	if h.Deterministic() {
		text = append(text, ",d"...)
	}
	for i := range subMisroutes - subOther {
		if h.OtherWay(i) {
			text = append(text, ",o"...)
			text = strconv.AppendInt(text, int64(i), 10)
		}
	}
	for i := range MaxMisroutes {
		if d, hops := h.Misroute(i); hops > 0 {
			text = append(append(append(text, ','), d.String()...), 'x')
			text = strconv.AppendInt(text, int64(hops), 10)
		}
	}
	return text
}

// ErrSubHeaders means that a text is no sub-headers.
var ErrSubHeaders = errors.New("sub-headers are at most " + strconv.Itoa(MaxSubPaths) +
	" of a switch's number or end, the last one end, each with d, o0 to o3, and up to " +
	strconv.Itoa(MaxMisroutes) + " misroutes of 1 to " + strconv.Itoa(MaxMisrouteHops) +
	" hops as p1x2, as in 12,d;end,p1x2,p3x1")

// ParseSubHeaders reads what String prints. The error is ErrSubHeaders.
func ParseSubHeaders(text string) (h SubHeaders, err error) {
	if text == "" {
		return h, nil
	}
	parts := strings.SplitN(text, ";", MaxSubPaths+1)
	if len(parts) > MaxSubPaths {
		return SubHeaders{}, ErrSubHeaders
	}
	for i, part := range parts {
		if h[i], err = parseSubHeader(part, i == len(parts)-1); err != nil {
			return SubHeaders{}, err
		}
	}
	if !h.Valid() {
		return SubHeaders{}, ErrSubHeaders
	}
	return h, nil
}

func parseSubHeader(text string, last bool) (h SubHeader, err error) {
	to, rest, more := strings.Cut(text, ",")
	switch s, e := strconv.ParseUint(to, 10, 16); {
	case to == "nowhere" && !more:
		return Nowhere, nil
	case last != (to == "end"), !last && e != nil:
		return 0, ErrSubHeaders
	default:
		h = NewSubHeader(SwitchID(s))
	}
	for n := 0; more; {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		port, hops, misroute := strings.Cut(strings.TrimPrefix(word, "p"), "x")
		switch {
		case word == "d":
			h = h.WithDeterministic()
		case len(word) == 2 && word[0] == 'o' && word[1] >= '0' && word[1] < '4':
			h = h.WithOtherWay(int(word[1] - '0'))
		case misroute && word[0] == 'p' && n < MaxMisroutes:
			p, errP := strconv.ParseUint(port, 10, 3)
			k, errK := strconv.ParseUint(hops, 10, 4)
			if errP != nil || errK != nil || k == 0 || k > MaxMisrouteHops {
				return 0, ErrSubHeaders
			}
			h = h.WithMisroute(n, PortID(p), int(k))
			n++
		default:
			return 0, ErrSubHeaders
		}
	}
	return h, nil
}

// MarshalText writes the sub-headers as String does.
func (h SubHeaders) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes. The error is ErrSubHeaders.
func (h *SubHeaders) UnmarshalText(text []byte) (err error) {
	*h, err = ParseSubHeaders(string(text))
	return err
}
