package settings

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/switch/link"
)

// Setting is what is known of one field of [Settings].
type Setting struct {
	Path   string // of the field in a scenario, as link.rate; in the base of an experiment it is the last word
	Flag   string // of fabricd up; empty: there is none
	Letter string // that is short for the flag; empty: none is
	Help   string // what the value does, in what unit; a clause without a full stop
	// Default is the value of a field that is not given, as it is written; empty: it depends on
	// topology or routing, or there is none.
	Default string
	// Least and Most bound a number, or a time in nanoseconds. In Settings 0 is not given.
	Least, Most float64
	Words       []string // that the value is one of; nil: it is another text
	Not         bool     // the flag says the opposite of the field
	Zero        bool     // the flag takes 0, too: the default
}

// Bounds chosen by us.
const (
	MaxDelay      = 24 * time.Hour // of a link, and of what a manager takes
	MaxNotices    = 24 * time.Hour
	MaxQueueBytes = 1 << 30
	MaxTraceEvery = 1_000_000_000
	MinTimeFactor = 0.001 // a picture in slow motion
	MaxTimeFactor = 100
)

// All are the settings, in the order of a file.
var All = sync.OnceValue(func() []Setting {
	nanoseconds := func(d time.Duration) float64 { return float64(d) }
	return []Setting{
		{
			Path: "topology", Flag: "topology", Letter: "t",
			Help: "topology, as kary-ntree:4,3, mport-tree:8,3, leaf-spine:4,8,12, mesh:4x4, torus:4x4x4, " +
				"irregular:16,32,1 or ring:8, or a topology file; see fabricd topology generate --help",
		},
		{
			Path: "routing", Flag: "routing",
			Help: "routing function of every switch, as adaptive-link, or as updn:layers=2 with options",
		},
		{
			Path: "switch.vcs", Flag: "vcs", Least: 1, Most: weft.MaxVCs, Zero: true,
			Help: "virtual channels per link direction; unless given what the routing needs, and the manager for " +
				"spare layers",
		},
		{
			Path: "switch.input_buffer", Flag: "input-buffer", Default: "2", Least: 1, Most: weft.MaxBuffer, Zero: true,
			Help: "packets per input VC queue",
		},
		{
			Path: "switch.output_buffer", Flag: "output-buffer", Default: "2", Least: 1, Most: weft.MaxBuffer,
			Zero: true,
			Help: "packets per output VC queue",
		},
		{
			Path: "switch.queueing", Default: "virtual-output", Words: []string{"virtual-output", "fifo"},
			Help: "which packets of an input VC queue may go",
		},
		{
			Path: "switch.selection", Default: "most-credits", Words: []string{"most-credits", "random", "round-robin"},
			Help: "which candidate with room is taken",
		},
		{
			Path: "switch.waiting", Default: "all", Words: []string{"all", "one"},
			Help: "which of its candidates a packet waits for when none has room: all, or one that is picked in turn",
		},
		{Path: "switch.eager_credits", Help: "return each credit in a frame of its own at once"},
		{
			Path: "switch.requeue", Flag: "requeue",
			Help: "route packets again that are queued for a dead link, instead of losing them",
		},
		{Path: "switch.batch", Default: "64", Least: 1, Most: weft.MaxBatch, Help: "most packets in a frame"},
		{
			Path: "nic.queue_bytes", Default: "1300000", Least: 1, Most: MaxQueueBytes,
			Help: "bound of the send queue in bytes",
		},
		{Path: "nic.packet_bytes", Default: "256", Least: 1, Most: weft.MaxPacket, Help: "bytes per packet"},
		{
			Path: "nic.notices", Flag: "notices", Default: "0s", Most: nanoseconds(MaxNotices),
			Help: "when a switch discards a packet, notify its source, which pauses that destination for this long, " +
				"as 2s; 0 is off",
		},
		{
			Path: "nic.trace_every", Flag: "trace-every", Most: MaxTraceEvery,
			Help: "trace one of so many packets that each NIC generates, for linkmon trace --all and the page; 0 is " +
				"none",
		},
		{
			Path: "link.rate", Flag: "link-rate", Default: "256000", Least: fault.MinRate, Most: fault.MaxRate,
			Help: "bytes per second of a link, which a load of 1 stands for; a packet has 256",
		},
		{Path: "link.paced", Flag: "unpaced", Not: true, Help: "links send no faster than their rate"},
		{
			Path: "link.delay", Flag: "link-delay", Default: "0s", Most: nanoseconds(MaxDelay),
			Help: "propagation delay of a link, as 1ms",
		},
		{
			Path: "liveness.interval", Flag: "hello-interval", Most: nanoseconds(link.MaxInterval.Duration()),
			Help: "time between hellos on a link; 50ms unless given, longer in large fabrics; 0 or off: there are " +
				"none, and silent cuts are never noticed",
		},
		{
			Path: "liveness.multiplier", Flag: "hello-multiplier", Default: "3", Least: 1, Most: link.MaxMultiplier,
			Help: "so many hellos must be missing before a neighbour counts as dead",
		},
		{
			Path: "liveness.damping.half_life", Flag: "damping", Default: "0s",
			Most: nanoseconds(link.MaxHalfLife.Duration()),
			Help: "keep links down that flap: each loss counts 1, halved every so often, as 5s; 0 is off",
		},
		{
			Path: "liveness.damping.suppress", Most: link.MaxSuppress,
			Help: "a loss that lifts the count above this holds the link down; 3 unless given",
		},
		{
			Path: "liveness.damping.reuse", Least: link.MinReuse, Most: link.MaxSuppress,
			Help: "the link may come up when the count has fallen to this, below suppress; 1 unless given",
		},
		{
			Path: "liveness.damping.max", Most: nanoseconds(link.MaxSuppressed.Duration()),
			Help: "longest time that a link is held down; four half-lives unless given",
		},
		{
			Path: "manager.method", Flag: "method",
			Help: "how tables are replaced after faults: ddrc, dqr with options as dqr:path=end-to-end, direct or " +
				"direct:mode=dynamic, engine or engine:NAME; auto: by the routing; or none; in a scenario also opensm",
		},
		{
			Path: "manager.args",
			Help: "of method opensm: its arguments, as -R updn -F opensm.conf; files are beside the scenario",
		},
		{
			Path: "manager.detect", Default: "10ms", Most: nanoseconds(MaxDelay),
			Help: "in virtual time: from a change of a port to the beginning of computing; live it is what it is",
		},
		{
			Path: "manager.compute", Default: "10ms", Most: nanoseconds(MaxDelay),
			Help: "in virtual time: how long computing takes",
		},
		{
			Path: "manager.distribute", Default: "10ms", Most: nanoseconds(MaxDelay),
			Help: "in virtual time: until all switches have their tables",
		},
		{
			Path: "time_factor", Flag: "time-factor", Default: "1", Least: MinTimeFactor, Most: MaxTimeFactor,
			Help: "how fast the clock of a live fabric may go, compared with that of the machine, where links are paced: " +
				"it goes slower while the machine is late",
		},
		{Path: "fixed_time", Flag: "fixed", Help: "the clock goes with --time-factor, however late the machine is"},
		{
			Path: "traffic", Flag: "traffic",
			Help: "what every NIC injects from the start: a pattern, a load as share of the link rate, and options, " +
				"as uniform:0.2 or hotspot:0.2,hot=4,share=0.1; none; or trace:FILE. See docs/howto/traffic.md",
		},
		{Path: "seed", Flag: "sim-seed", Default: "1", Help: "seed of every random draw"},
	}
})

// Of is the setting of that path, or of that last word of a path. Another word is a bug.
func Of(path string) Setting {
	i := slices.IndexFunc(All(), func(x Setting) bool { return x.Path == path || x.Name() == path })
	if i < 0 {
		panic(fmt.Sprintf("settings: BUG: there is no setting %s", path))
	}
	return All()[i]
}

// Name is the last word of the path: what a field of an experiment is called.
func (x Setting) Name() string { return x.Path[strings.LastIndexByte(x.Path, '.')+1:] }
