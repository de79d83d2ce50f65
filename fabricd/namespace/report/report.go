// Package report has what a process reports of the programs on its NICs. Package namespace makes
// it.
package report

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

// Bounds of a [Report], chosen by us: it must fit a message of NATS (1 MB).
const (
	MaxConnections = 1024
	MaxRates       = 8   // the latest
	MaxPoints      = 600 // of a rate: ten minutes, at one a second
)

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
	// Silent is the time since the latest point, by the clock of the machine, which the program has.
	Silent weft.Time `json:"silent_ps"`
}

// Point is a rate at one moment of the fabric.
type Point struct {
	At    weft.Time `json:"at_ps"`
	Value float64   `json:"value"`
	After weft.Time `json:"after_ps"` // the point before, by the clock of the machine; 0: it is the first
}
