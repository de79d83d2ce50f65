package manager

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/lease"
)

// Config of a manager. Fabric and State are required; what is zero has a default.
type Config struct {
	Fabric Fabric
	State  State
	Method string // as manage.Parse reads it, or manage.Auto; empty: that of the manager before, and else manage.Auto
	Holder string // names this manager among others; another one each time

	// Window is how long after a port's change its manager waits for others that belong to it, and
	// Most how long for all of them together. Both ends of a link that is cut tell of it within a
	// millisecond, and so do the neighbours of a switch that crashes: 2 ms and 10 ms. Where both
	// ends of every link agree nobody is awaited, but for what else was cut with it: Agreed, 500
	// us.
	Window, Most, Agreed time.Duration
	// Patience is how long an upload waits for a switch before it goes on without, 250 ms; such a
	// switch is tried again after Retry, 500 ms.
	Patience, Retry time.Duration
	Drain           time.Duration // how long a static reconfiguration waits for the last packet: 10 s
	Lease           time.Duration // of a manager that has died: [lease.Default]

	Tell func(Note)   // hears what it does, and must not block; nil: nobody
	Log  *slog.Logger // nil: discarded
}

// Kinds of [Note].
const (
	NoteStandby = "standby" // another one manages
	NoteManages = "manages"
	NotePlanned = "planned" // a job is written down, no switch has heard of it
	NoteRound   = "round"   // new tables are in force
)

// Note is something that a manager did.
type Note struct {
	Kind  string
	Text  string
	Round fabric.Round // with NoteRound
}

// Line is a note as fabricd manage --json prints it.
type Line struct {
	Fabric          string                 `json:"fabric"`
	Kind            string                 `json:"kind"` // standby, manages or round
	Text            string                 `json:"text"`
	Reconfiguration *fault.Reconfiguration `json:"reconfiguration,omitempty"` // of a round
}

// Line is the note, told of a fabric.
func (n Note) Line(fabric string) Line {
	l := Line{Fabric: fabric, Kind: n.Kind, Text: n.Text}
	if n.Kind == NoteRound {
		l.Reconfiguration = &n.Round.Reconfiguration
	}
	return l
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		of  *time.Duration
		def time.Duration
	}{
		{&c.Window, 2 * time.Millisecond},
		{&c.Most, 10 * time.Millisecond},
		{&c.Agreed, 500 * time.Microsecond},
		{&c.Patience, 250 * time.Millisecond},
		{&c.Retry, 500 * time.Millisecond},
		{&c.Drain, 10 * time.Second},
		{&c.Lease, lease.Default},
	} {
		*d.of = cmp.Or(*d.of, d.def)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Holder == "" {
		host, _ := os.Hostname()
		c.Holder = fmt.Sprintf("process %d on %s, since %s", os.Getpid(), host,
			time.Now().Format(time.TimeOnly+".000000"))
	}
	return c
}
