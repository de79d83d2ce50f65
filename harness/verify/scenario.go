package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ErrNoReplay is wrapped by the error for a counterexample that no scenario can show.
var ErrNoReplay = errors.New("no scenario replays this")

// Scenario is c as a scenario that replays it: it fails as c says, and passes with a firmware that
// is right. cfg is what [Run] was given, routing the name of its firmware in scenario files. The
// error wraps [ErrNoReplay] when no scenario can show c, and when c is nil, as that of a result
// that holds is; it wraps [ErrConfig] when cfg has no topology, and names what the topology lacks.
//
// A packet is sent alone into a fabric with the faults, and choices settle what the firmware left
// open on the path. Faults that come while it travels are timed by links that hold the packet long;
// what that cannot show exactly the scenario's text says. For a deadlock there are packets of the
// pairs that can hold its channels, sent all at once, which may or may not run into it.
func (c *Counterexample) Scenario(cfg Config, routing string) (format.File, error) {
	if c == nil {
		return format.File{}, fmt.Errorf("%w: %s has no counterexample: the result holds", ErrNoReplay, routing)
	}
	if cfg.Graph == nil {
		return format.File{}, fmt.Errorf("%w: a topology is required", ErrConfig)
	}
	s := script{Counterexample: c, cfg: cfg}
	s.file = format.File{
		Name: routing + "-" + c.What,
		Settings: settings.Settings{
			Topology: cfg.Graph.Spec, Routing: routing,
			Liveness: settings.Liveness{Interval: "off"}, // a busy machine takes no neighbour for dead
		},
	}
	s.file.Routings = c.Routings
	if vcs := cmp.Or(cfg.VCs, cfg.leastVCs()); vcs > subnet.LeastVCs(cfg.Firmware, cfg.Graph) {
		s.file.Switch.VCs = vcs
	}
	for _, name := range c.Faults {
		e, err := ElementByName(cfg.Graph, name)
		if err != nil {
			return format.File{}, fmt.Errorf("counterexample: %w", err)
		}
		s.faults = append(s.faults, e)
	}
	switch {
	case cfg.Mixed != nil && cfg.knowing() && cfg.When == Before && len(c.Faults) > 0:
		return format.File{}, fmt.Errorf("%w: a subnet manager makes the tables of one routing", ErrNoReplay)
	case cfg.OneByOne:
		return format.File{}, fmt.Errorf("%w: the switches of a fabric return with all their ports", ErrNoReplay)
	case c.What == Deadlock:
		s.deadlock()
	case len(c.Path) == 0:
		return format.File{}, fmt.Errorf("%w: %s is found by looking at the channels, and no packet of a run shows it",
			ErrNoReplay, c.What)
	default:
		s.packet()
	}
	s.file.About = c.String() + strings.Join(s.about, "\n") + "\n"
	return s.file, nil
}

// script is a scenario in the making.
type script struct {
	*Counterexample
	cfg    Config
	faults []Element // as Faults
	file   format.File
	about  []string
}

func (s *script) say(format string, args ...any) {
	s.about = append(s.about, fmt.Sprintf(format, args...))
}

// Chosen by us: when the packet is sent, by when all that is dead from the start is dead; and how
// long packets are given to wait for each other.
const (
	sendTime     = 100 * time.Millisecond
	deadlockTime = time.Second
)

// burst is how many packets each pair of a deadlock sends: more than the channels of a circle hold,
// so that all queues fill up.
const burst = 128

// deadlock has the pairs whose packets hold the channels send all at once, over links that take
// longer for a packet than it takes to send them all.
func (s *script) deadlock() {
	s.say("Whether the packets come to hold all these channels at once is left to chance: a run that passes proves " +
		"nothing. One that fails names the channels.")
	if s.cfg.FixedChoice {
		s.say("Live, a packet that waits chooses anew whenever it can go on, so that these channels are set free again.")
	}
	s.dead(s.faults)
	s.manage()
	s.file.Traffic = "none"
	s.file.Link = settings.Link{Rate: 256_000, Paced: true}
	s.file.Switch.InputBuffer = 1 // the less there is room for, the sooner it is full
	for _, p := range s.Pairs {
		s.file.Timeline = append(s.file.Timeline, format.Step{
			At: format.Duration(sendTime.String()), Send: &format.Send{From: p.Src, To: p.Dst, Count: burst},
		})
	}
	s.file.Duration = format.Duration(deadlockTime.String())
}

// packet sends the one packet.
func (s *script) packet() {
	s.say("One packet is sent alone; choices are those that the firmware leaves open on its path.")
	if s.Others {
		s.say("Not in the scenario: the registers that others have written. Without what is printed above the packet " +
			"goes another way.")
	}
	s.addresses()
	s.choices()
	s.file.Expect.Discarded = new(uint64(0))
	send := format.Step{At: format.Duration(sendTime.String()), Send: &format.Send{From: s.Src, To: s.Dst}}
	faults := s.faults
	if s.cfg.When != Before {
		m := newMover(s)
		if m.plan(); len(m.orders) > 0 {
			m.write(send)
			return
		}
		faults = m.first // and none comes or goes on this path
	}
	s.dead(faults)
	s.manage()
	s.file.Timeline = append(s.file.Timeline, send)
	s.file.Duration = format.Duration((2 * sendTime).String())
	s.file.Expect.DeliveredAtLeast = 1
}

// addresses says it when the NIC has several to choose among, as it draws one.
func (s *script) addresses() {
	leaf, p := s.cfg.Graph.SwitchOf(s.From)
	fw := s.cfg.Firmware
	if s.Routings[s.cfg.Graph.Switches[leaf].Name] != "" {
		fw = s.cfg.Mixed.Firmware
	}
	if fw.Addresses == nil {
		return
	}
	if n := len(fw.Addresses(s.cfg.Graph.Place(leaf), p, s.To)); n > 1 {
		s.say("The NIC draws one of %d addresses, and this is the way of path %d from %v: a run in which it draws "+
			"another proves nothing. Try other seeds.",
			n, s.Path[0].Fields.Path, s.Path[0].VC)
	}
}

// dead makes faults that are there from the start.
func (s *script) dead(faults []Element) {
	var links, switches format.Names
	for _, e := range faults {
		if e.Switch {
			switches = append(switches, e.Name(s.cfg.Graph))
		} else {
			links = append(links, e.Name(s.cfg.Graph))
		}
	}
	if len(links) > 0 {
		s.file.Timeline = append(s.file.Timeline, format.Step{At: "0s", Cut: links})
	}
	if len(switches) > 0 {
		s.file.Timeline = append(s.file.Timeline, format.Step{At: "0s", Crash: switches})
	}
}

// manage has a subnet manager compute for the faults what the firmware forwards by, where that is
// what was explored: before the packets are sent.
func (s *script) manage() {
	if s.cfg.Around != nil && s.cfg.When == Before && len(s.faults) > 0 {
		s.file.Manager.Method = manage.Auto
	}
}

// choices settles what the firmware leaves open on the path. Where the packet comes the same way
// twice and goes on differently, the hop is named.
func (s *script) choices() {
	type came struct {
		sw weft.SwitchID
		in weft.PortID
	}
	type went struct {
		to weft.PortID
		vc weft.VC
	}
	ways := map[came][]went{}
	open := func(st *Step) bool { return st.Ways > 1 && st.Port != weft.NoPort }
	for i := range s.Path {
		if st := &s.Path[i]; open(st) {
			k, w := came{st.ID, st.InPort}, went{st.Port, st.OutVC}
			if !slices.Contains(ways[k], w) {
				ways[k] = append(ways[k], w)
			}
		}
	}
	told := map[came]bool{}
	vcs := cmp.Or(s.cfg.VCs, s.cfg.leastVCs())
	for i := range s.Path {
		st := &s.Path[i]
		k := came{st.ID, st.InPort}
		if !open(st) || told[k] {
			continue
		}
		c := format.Choice{Switch: st.Switch, In: port(s.cfg.Graph, st.ID, st.InPort), To: port(s.cfg.Graph, st.ID, st.Port)}
		if vcs > 1 {
			c.VC = new(int(st.OutVC))
		}
		if told[k] = len(ways[k]) == 1; !told[k] {
			c.Hop = i + 1
			if s.Again >= 0 && i >= s.Again {
				c.Every = len(s.Path) - s.Again
			}
		}
		s.file.Choices = append(s.file.Choices, c)
	}
}

// port names a port by the neighbour, or by its number when others lead there too.
func port(g *topology.Graph, sw weft.SwitchID, p weft.PortID) format.Port {
	peer, _, _ := g.Peer(weft.End{Node: sw.Node(), Port: p})
	for i := range g.Place(sw).Ports() {
		if to, _, ok := g.Peer(weft.End{Node: sw.Node(), Port: weft.PortID(i)}); ok && to.Node == peer.Node &&
			weft.PortID(i) != p {
			return format.Port(strconv.Itoa(int(p)))
		}
	}
	return format.Port(g.Name(peer.Node))
}
