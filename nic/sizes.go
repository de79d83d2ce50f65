package nic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// MaxSizes is how many packet sizes a mix may have.
const MaxSizes = 8

// Size is one size of a mix.
type Size struct {
	Bytes int
	Share float64 // of the packets, not of the bytes; above 0
}

// Sizes is a mix of packet sizes, up to the first of 0 bytes. The zero value leaves the size to
// others.
type Sizes [MaxSizes]Size

// ParseSizes reads "256" or "64:0.6/1500:0.4": bytes, and the share of all packets that have so
// many. The shares add up to 1.
func ParseSizes(text string) (s Sizes, err error) {
	parts := strings.Split(text, "/")
	if len(parts) > MaxSizes {
		return Sizes{}, fmt.Errorf("a mix has at most %d sizes, not %d", MaxSizes, len(parts))
	}
	for i, part := range parts {
		bytes, share, mixed := strings.Cut(part, ":")
		s[i].Share = 1
		if s[i].Bytes, err = strconv.Atoi(bytes); err != nil {
			return Sizes{}, fmt.Errorf("expected sizes in bytes as 256 or 64:0.6/1500:0.4, found %q", part)
		}
		if mixed {
			if s[i].Share, err = strconv.ParseFloat(share, 64); err != nil {
				return Sizes{}, fmt.Errorf("expected the share of the packets that have %s bytes, as %s:0.6, found %q", bytes,
					bytes, part)
			}
		}
		if s[i].Bytes == 0 { // would end the mix
			return Sizes{}, fmt.Errorf("packets have 1 to %d bytes, not 0", weft.MaxPacket)
		}
	}
	return s, s.check()
}

// String prints s as ParseSizes reads it.
func (s Sizes) String() string {
	list := s.list()
	if len(list) == 1 && list[0].Share == 1 {
		return strconv.Itoa(list[0].Bytes)
	}
	var b strings.Builder
	for i, z := range list {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(strconv.Itoa(z.Bytes) + ":" + number(z.Share))
	}
	return b.String()
}

// number prints the shortest text that is read as v.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (s *Sizes) list() []Size {
	for i := range s {
		if s[i].Bytes == 0 {
			return s[:i]
		}
	}
	return s[:]
}

func (s Sizes) check() error {
	list := s.list()
	sum := 0.0
	for i, z := range list {
		switch {
		case z.Bytes < 1 || z.Bytes > weft.MaxPacket:
			return fmt.Errorf("packets have 1 to %d bytes, not %d", weft.MaxPacket, z.Bytes)
		case !(z.Share > 0 && z.Share <= 1):
			return fmt.Errorf("the share of the packets of %d bytes must be above 0 and at most 1, not %v", z.Bytes, z.Share)
		}
		for _, other := range list[:i] {
			if other.Bytes == z.Bytes {
				return fmt.Errorf("%d bytes are in the mix twice", z.Bytes)
			}
		}
		sum += z.Share
	}
	if len(list) > 0 && !(sum > 1-1e-6 && sum < 1+1e-6) {
		return fmt.Errorf("the shares of the sizes add up to %v, not to 1", sum)
	}
	for _, z := range s[len(list):] {
		if z != (Size{}) {
			return fmt.Errorf("packets have 1 to %d bytes, not 0", weft.MaxPacket)
		}
	}
	return nil
}

// Mean is the mean size in bytes; 0 for no mix.
func (s Sizes) Mean() float64 {
	sum, shares := 0.0, 0.0
	for _, z := range s.list() {
		sum += float64(z.Share * float64(z.Bytes))
		shares += z.Share
	}
	if shares == 0 {
		return 0
	}
	return sum / shares
}

// mix draws sizes.
type mix struct {
	bytes [MaxSizes]uint32
	below [MaxSizes]uint64 // a draw below this, and not below the one before, has that size; see inParts
	least int              // bytes
	n     uint32
	only  uint32 // bytes, if all packets have one size
}

// newMix is the mix of the sizes, which have been checked; of packets of that many bytes when there
// are none.
func newMix(s Sizes, bytes int) mix {
	list := s.list()
	if len(list) == 0 {
		list = []Size{{bytes, 1}}
	}
	shares := 0.0
	for _, z := range list {
		shares += z.Share
	}
	m := mix{n: uint32(len(list)), only: uint32(list[0].Bytes), least: list[0].Bytes}
	sum := 0.0
	for i, z := range list {
		sum += z.Share
		m.bytes[i], m.below[i] = uint32(z.Bytes), inParts(min(1, sum/shares))
		m.least = min(m.least, z.Bytes)
	}
	return m
}

// next draws one size, in bytes.
func (m *mix) next(r Rand) uint32 {
	if m.n == 1 {
		return m.only
	}
	d := r.Uint64() >> 11
	for i := range m.n - 1 {
		if d < m.below[i] {
			return m.bytes[i]
		}
	}
	return m.bytes[m.n-1]
}
