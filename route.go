package weft

import (
	"errors"
	"strconv"
)

// SourceRoute is a stack of ports that a NIC writes into a packet: the port by which the first
// switch sends it, then that of the next, to the port of the NIC it is for. Each switch takes its
// own off. It holds at most MaxRoute ports; the zero value is no route, and routes of the same
// ports are equal.
type SourceRoute [2]uint64

// MaxRoute is how many ports a SourceRoute holds.
const MaxRoute = 15

// The next port is in the lowest byte, the one after it in the byte above; the highest byte is the
// length, and the bytes between are zero.
const lengthShift = 56

// Len is the number of ports.
func (r SourceRoute) Len() int { return min(int(r[1]>>lengthShift), MaxRoute) }

// Next is the port that comes next; NoPort when there is none.
func (r SourceRoute) Next() PortID { return r.At(0) }

// At is port i from the front; NoPort when the route has no so many.
func (r SourceRoute) At(i int) PortID {
	if i < 0 || i >= r.Len() {
		return NoPort
	}
	return PortID(byte(r[i/8] >> (i % 8 * 8)))
}

// Pop is the route without its next port; an empty one stays empty.
func (r SourceRoute) Pop() SourceRoute {
	n := uint64(r.Len())
	if n == 0 {
		return SourceRoute{}
	}
	ports := r[1] &^ (0xFF << lengthShift)
	return SourceRoute{r[0]>>8 | ports<<lengthShift, ports>>8 | (n-1)<<lengthShift}
}

// Push is the route with p before all its ports. ok is false, and the route as it was, when it is
// full or p is no port that a switch can have.
func (r SourceRoute) Push(p PortID) (longer SourceRoute, ok bool) {
	n := uint64(r.Len())
	if n == MaxRoute || p >= MaxPorts {
		return r, false
	}
	ports := r[1] &^ (0xFF << lengthShift)
	return SourceRoute{r[0]<<8 | uint64(p), ports<<8 | r[0]>>lengthShift | (n+1)<<lengthShift}, true
}

// String prints the ports in their order, as "p4,p1,p0"; an empty route is "".
func (r SourceRoute) String() string {
	var text []byte
	for i := range r.Len() {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, r.At(i).String()...)
	}
	return string(text)
}

// ErrRoute means that a text is no source route.
var ErrRoute = errors.New("a source route is at most " + strconv.Itoa(MaxRoute) + " ports, as p4,p1,p0")

// ParseSourceRoute reads what String prints. The error is ErrRoute.
func ParseSourceRoute(s string) (r SourceRoute, err error) {
	for end := len(s); end > 0; {
		start := end - 1
		for start > 0 && s[start] != 'p' {
			start--
		}
		p, err := strconv.ParseUint(s[start+1:end], 10, 16)
		longer, ok := r.Push(PortID(p))
		if s[start] != 'p' || err != nil || !ok || start > 0 && (start < 3 || s[start-1] != ',') {
			return SourceRoute{}, ErrRoute
		}
		r, end = longer, max(0, start-1)
	}
	return r, nil
}

// MarshalText writes the route as String does.
func (r SourceRoute) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText writes. The error is ErrRoute.
func (r *SourceRoute) UnmarshalText(text []byte) (err error) {
	*r, err = ParseSourceRoute(string(text))
	return err
}
