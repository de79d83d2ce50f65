package namespace

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

// Bounds of a [Report], chosen by us: it must fit a message of NATS (1 MB).
const (
	MaxConnections = 1024
	MaxRates       = 8   // the latest
	MaxPoints      = 600 // of a rate: ten minutes, at one a second
)

// maxWord bounds the bytes of a name that a program has, or gives.
const maxWord = 64

// Report is what programs on the NICs of a process do.
type Report struct {
	NICs        []NIC        `json:"nics"`
	Connections []Connection `json:"connections"` // those that go on first, then the latest that have ended
	Omitted     int          `json:"omitted"`     // connections above MaxConnections
	Rates       []Rate       `json:"rates"`       // the oldest first
}

// NIC is one that programs have now.
type NIC struct {
	NIC     string     `json:"nic"`
	Traffic ip.Traffic `json:"traffic"`
}

// Connection is one of TCP, of what a NIC sends.
type Connection struct {
	NIC string `json:"nic"`
	ip.Connection
	Process
}

// Process is one that has a connection. It is empty where the connection was over before anybody
// looked, or the system does not let this process see.
type Process struct {
	Program string `json:"program,omitempty"` // its name
	PID     int    `json:"pid,omitempty"`     // as this machine has it
}

// Rate is how fast a program goes, as it tells itself.
type Rate struct {
	NIC     string  `json:"nic"`
	Program string  `json:"program"`
	Unit    string  `json:"unit"` // as steps/s
	Points  []Point `json:"points"`
	Ended   bool    `json:"ended"` // the program
}

// Point is a rate at one moment of the fabric.
type Point struct {
	At    weft.Time `json:"at_ps"`
	Value float64   `json:"value"`
}

// told is what a client tells of its program.
type told struct {
	Program string  `json:"program"`
	Unit    string  `json:"unit"`
	Value   float64 `json:"value"`
}

// rates are those that programs tell. Bound: MaxRates.
type rates struct{ list []*Rate }

// tell notes what a client tells of its program. of is what the client told before; nil: nothing.
func (r *rates) tell(of *Rate, nic string, t told, at weft.Time) *Rate {
	if of == nil || of.Program != clip(t.Program) || of.Unit != clip(t.Unit) {
		if of != nil {
			of.Ended = true
		}
		of = &Rate{NIC: nic, Program: clip(t.Program), Unit: clip(t.Unit)}
		r.list = newest(append(r.list, of), MaxRates)
	}
	of.Points = newest(append(of.Points, Point{at, t.Value}), MaxPoints)
	return of
}

// all is a copy.
func (r *rates) all() []Rate {
	list := []Rate{}
	for _, of := range r.list {
		one := *of
		one.Points = slices.Clone(of.Points)
		list = append(list, one)
	}
	return list
}

func newest[T any](list []T, most int) []T {
	return slices.Delete(list, 0, max(0, len(list)-most))
}

func clip(word string) string { return word[:min(len(word), maxWord)] }
