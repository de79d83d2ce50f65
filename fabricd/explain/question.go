package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// Question asks for one decision. Start from [NewQuestion]: the zero values of some fields mean
// something.
type Question struct {
	ID json.RawMessage // repeated in the answer; nil for none

	Topology string // a spec or a file, as topology.Parse takes it
	Routing  string // the name of a firmware; "" is what subnet.Default chooses
	VCs      int    // virtual channels per link direction; 0 is what the firmware needs

	Switch Ref // which switch decides
	In     Ref // the port the packet came in by, or the neighbour it came from
	VC     int // the virtual channel it came in

	Dst Ref
	Src Ref // unset: the NIC at the port it came in by; NIC 0 when it came from a switch
	// Header is the rest of the packet's header; its Src, Dst and VC are set by the fields above.
	Header weft.Header

	Dead  []Ref             // ports of the switch whose links are dead, or the neighbours there
	State map[string]uint64 // registers of the firmware in this switch by name; those left out are zero

	Free   int    // packets that every output queue can still take, and every neighbour in every VC
	Random uint64 // every draw of the firmware
}

// NewQuestion is a question about a packet that was never re-routed at a switch with empty queues.
func NewQuestion() Question {
	return Question{
		Header: weft.Header{Size: nic.DefaultPacketBytes, Fields: weft.NewFields()},
		Free:   switching.DefaultBuffer,
	}
}

// SetPortField sets the port field of the header to a port, [weft.PortFieldNone] or
// [weft.PortFieldDown]; nothing else can be in it.
func (q *Question) SetPortField(n int) error {
	if n < int(weft.PortFieldDown) || n >= weft.MaxPorts {
		return fmt.Errorf("found %d, expected a port, or -1 or -2", n)
	}
	q.Header.PortField = int16(n)
	return nil
}

// SetLayers sets the layers of the header that the packet may move between, bit i for VC i.
func (q *Question) SetLayers(v uint64) error {
	if v>>weft.MaxVCs != 0 {
		return fmt.Errorf("found %b, expected at most %d bits", v, weft.MaxVCs)
	}
	q.Header.Layers = uint16(v)
	return nil
}

// Ref names a switch, a NIC or a port: by name or by number. The zero value names nothing.
type Ref struct {
	kind   refKind
	name   string
	number int
}

type refKind uint8

const (
	unset refKind = iota
	byName
	byNumber
)

// Name is a reference by name. A port is named by the neighbour it leads to, with the neighbour's
// port if there are several links to it: "s1.00", "s7:2".
func Name(name string) Ref { return Ref{kind: byName, name: name} }

// Number is a reference by number, from 0.
func Number(n int) Ref { return Ref{kind: byNumber, number: n} }

// ParseRef reads a reference as a person writes it: digits are a number, all else is a name.
func ParseRef(text string) Ref {
	if n, err := strconv.Atoi(text); err == nil {
		return Number(n)
	}
	return Name(text)
}

// IsSet reports whether r names anything.
func (r Ref) IsSet() bool { return r.kind != unset }

// resolve finds what r names among the numbers below n, or by its name.
func resolve[ID ~uint32](r Ref, kind string, n int, named func(string) (ID, error)) (ID, error) {
	switch {
	case r.kind == unset:
		return 0, errors.New("missing: name a " + kind)
	case r.kind == byName:
		return named(r.name)
	case r.number < 0 || r.number >= n:
		return 0, fmt.Errorf("%s %d: expected 0 to %d", kind, r.number, n-1)
	}
	return ID(r.number), nil
}

// ParseBits reads a vector of up to 64 bits, the highest first, as "0101". Bit j, counted from the
// right, stands for up port j in the vectors of the firmwares that come with Weft.
func ParseBits(text string) (uint64, error) {
	v, err := strconv.ParseUint(text, 2, 64)
	if err != nil {
		return 0, fmt.Errorf("found %.80q, expected 1 to 64 bits, as 0101", text)
	}
	return v, nil
}

// bits is the inverse of ParseBits, with at least width digits.
func bits(v uint64, width int) string { return fmt.Sprintf("%0*b", width, v) }
