// Package settings declares what a fabric can be told: its switches, NICs, links, liveness, manager
// and traffic. [Settings] has them as a file has them, and [All] says of each its flag, default,
// bounds, help and schema. fabricd up, scenarios and experiments take all of that from here.
package settings

import (
	"cmp"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// Settings are all that a fabric is told. The zero value of a field is its default. Settings can be
// compared with ==; [Settings.Filled] makes settings that mean the same the same. As YAML and as
// JSON they have the same form.
type Settings struct {
	Topology   string   `yaml:"topology" json:"topology"`
	Routing    string   `yaml:"routing" json:"routing" was:"firmware"`
	Switch     Switch   `yaml:"switch,omitempty" json:"switch,omitzero" jsonschema_description:"Virtual channels, buffers and policies of every switch."`
	NIC        NIC      `yaml:"nic,omitempty" json:"nic,omitzero" jsonschema_description:"Send queue and packets of every NIC."`
	Link       Link     `yaml:"link,omitempty" json:"link,omitzero" jsonschema_description:"Rate, pacing and delay of every link."`
	Liveness   Liveness `yaml:"liveness,omitempty" json:"liveness,omitzero" jsonschema_description:"How the ends of a link find out that their neighbour is silent."`
	Manager    Manager  `yaml:"manager,omitempty" json:"manager,omitzero" jsonschema_description:"The subnet manager, which replaces tables after faults; none unless given."`
	TimeFactor float64  `yaml:"time_factor,omitempty" json:"time_factor,omitempty"`
	FixedTime  bool     `yaml:"fixed_time,omitempty" json:"fixed_time,omitempty"`
	Traffic    string   `yaml:"traffic,omitempty" json:"traffic,omitempty"`
	Seed       uint64   `yaml:"seed,omitempty" json:"seed,omitempty"`
}

// Switch is the settings of every switch.
type Switch struct {
	VCs          int    `yaml:"vcs,omitempty" json:"vcs,omitempty"`
	InputBuffer  int    `yaml:"input_buffer,omitempty" json:"input_buffer,omitempty"`   // packets per VC
	OutputBuffer int    `yaml:"output_buffer,omitempty" json:"output_buffer,omitempty"` // packets per VC
	Queueing     string `yaml:"queueing,omitempty" json:"queueing,omitempty"`
	Selection    string `yaml:"selection,omitempty" json:"selection,omitempty"`
	Waiting      string `yaml:"waiting,omitempty" json:"waiting,omitempty"`
	EagerCredits bool   `yaml:"eager_credits,omitempty" json:"eager_credits,omitempty"`
	Requeue      bool   `yaml:"requeue,omitempty" json:"requeue,omitempty"`
	Batch        int    `yaml:"batch,omitempty" json:"batch,omitempty"` // packets
}

// NIC is the settings of every NIC.
type NIC struct {
	QueueBytes  int      `yaml:"queue_bytes,omitempty" json:"queue_bytes,omitempty"`
	PacketBytes int      `yaml:"packet_bytes,omitempty" json:"packet_bytes,omitempty"`
	Notices     Duration `yaml:"notices,omitempty" json:"notices,omitempty"`
	TraceEvery  int      `yaml:"trace_every,omitempty" json:"trace_every,omitempty"` // packets
}

// Link is the settings of every link.
type Link struct {
	Rate  float64  `yaml:"rate,omitempty" json:"rate,omitempty"` // bytes per second
	Paced bool     `yaml:"paced,omitempty" json:"paced,omitempty"`
	Delay Duration `yaml:"delay,omitempty" json:"delay,omitempty"`
}

// Liveness is the settings of the failure detector of every link end.
type Liveness struct {
	Interval   Interval `yaml:"interval,omitempty" json:"interval,omitempty"`
	Multiplier int      `yaml:"multiplier,omitempty" json:"multiplier,omitempty"`
	Damping    Damping  `yaml:"damping,omitempty" json:"damping,omitzero" jsonschema_description:"Keeps links down that flap; none unless given."`
}

// Damping keeps links down that flap.
type Damping struct {
	HalfLife Duration `yaml:"half_life" json:"half_life"`
	Suppress float64  `yaml:"suppress,omitempty" json:"suppress,omitempty"` // losses
	Reuse    float64  `yaml:"reuse,omitempty" json:"reuse,omitempty"`       // losses
	Max      Duration `yaml:"max,omitempty" json:"max,omitempty"`
}

// Manager is the settings of the subnet manager.
type Manager struct {
	Method     string   `yaml:"method" json:"method"`
	Args       string   `yaml:"args,omitempty" json:"args,omitempty"`
	Detect     Duration `yaml:"detect,omitempty" json:"detect,omitempty"`
	Compute    Duration `yaml:"compute,omitempty" json:"compute,omitempty"`
	Distribute Duration `yaml:"distribute,omitempty" json:"distribute,omitempty"`
}

// Config is what s says of the core of a switch; who makes the switch adds the rest. A policy that
// is not given, or not known, is the default.
func (s Switch) Config() switching.Config {
	return switching.Config{
		VCs: s.VCs, InputBuffer: s.InputBuffer, OutputBuffer: s.OutputBuffer, Queueing: queueing[s.Queueing],
		Selection: selection[s.Selection], Waiting: waiting[s.Waiting], EagerCredits: s.EagerCredits, Requeue: s.Requeue,
	}
}

// Config is what n, and the settings of the switch at the other end of its link, say of the core of
// a NIC; who makes the NIC adds the rest.
func (n NIC) Config(s Switch) nic.Config {
	return nic.Config{
		VCs: s.VCs, Buffer: s.InputBuffer, QueueBytes: n.QueueBytes, EagerCredits: s.EagerCredits,
		HonourNotices: weft.FromDuration(n.Notices.Time()),
	}
}

// Pace is the pacing that the sending end of a link gets.
func (l Link) Pace() link.Pace {
	p := link.Pace{Delay: l.Delay.Time()}
	if l.Paced {
		p.Rate = l.Rate
	}
	return p
}

// Detector is the failure detector that each end of a link gets; without an interval it hears no
// hellos.
func (l Liveness) Detector() link.Liveness {
	return link.Liveness{
		Interval: weft.FromDuration(Duration(l.Interval).Time()), Multiplier: l.Multiplier,
		Damping: link.Damping{
			HalfLife: weft.FromDuration(l.Damping.HalfLife.Time()), Suppress: l.Damping.Suppress,
			Reuse: l.Damping.Reuse, Max: weft.FromDuration(l.Damping.Max.Time()),
		},
	}
}

var (
	queueing  = map[string]switching.Queueing{"virtual-output": switching.VirtualOutput, "fifo": switching.FIFO}
	selection = map[string]switching.Selection{
		"most-credits": switching.MostCredits, "random": switching.Random, "round-robin": switching.RoundRobin,
	}
	waiting = map[string]switching.Waiting{"all": switching.WaitForAll, "one": switching.WaitForOne}
)

// Damping that is not given in full, chosen by us; the help of the settings says so too.
const (
	defaultSuppress = 3 // losses
	defaultReuse    = 1 // losses
	heldHalfLives   = 4 // how long a link is held down at most
)

// Filled returns s with the default of each field that is not given, and with every time written in
// one way: two settings that mean the same are then equal. What depends on topology or routing
// stays empty.
func (s Settings) Filled() Settings {
	s.Liveness.Interval = s.Liveness.Interval.plain()
	if s.Liveness.Interval.Off() {
		s.Liveness.Multiplier = 0 // of nothing
	}
	for _, x := range All() {
		v := s.field(x.Path)
		if d, ok := v.Addr().Interface().(*Duration); ok {
			*d = d.plain()
		}
		if v.IsZero() && x.Default != "" && !(x.Path == "liveness.multiplier" && s.Liveness.Interval.Off()) {
			must(s.Set(x.Path, x.Default))
		}
	}
	d := &s.Liveness.Damping
	if d.HalfLife.Time() == 0 && d.Max.Time() == 0 && d.Suppress == 0 && d.Reuse == 0 {
		*d = Damping{}
		return s
	}
	d.Suppress, d.Reuse = cmp.Or(d.Suppress, defaultSuppress), cmp.Or(d.Reuse, defaultReuse)
	d.Max = cmp.Or(d.Max, Duration((heldHalfLives * d.HalfLife.Time()).String()))
	return s
}

// Short is [Settings.Filled] without what is the default: what there is to write down.
func (s Settings) Short() Settings {
	s = s.Filled()
	if d := &s.Liveness.Damping; *d == (Settings{Liveness: Liveness{Damping: Damping{HalfLife: d.HalfLife}}}).Filled().Liveness.Damping {
		*d = Damping{HalfLife: d.HalfLife}
	}
	for _, x := range All() {
		if v := s.field(x.Path); x.Default != "" && s.Text(x.Path) == x.Default {
			v.SetZero()
		}
	}
	return s
}

// must panics on an error that is a bug in the table.
func must(err error) {
	if err != nil {
		panic("settings: BUG: " + err.Error())
	}
}

// Time is the time that is written; 0 when none is, or when it cannot be read.
func (d Duration) Time() time.Duration {
	t, _ := time.ParseDuration(string(d))
	return t
}

// plain writes d in one way, if it can be read.
func (d Duration) plain() Duration {
	t, err := time.ParseDuration(string(d))
	if err != nil {
		return d
	}
	return Duration(t.String())
}

// Off reports whether there are no hellos.
func (i Interval) Off() bool { return i.plain() == off }

const off = "off"

func (i Interval) plain() Interval {
	switch d := Duration(i).plain(); d {
	case "0s":
		return off
	default:
		return Interval(d)
	}
}
