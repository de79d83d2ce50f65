package leader

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Config is what does not change while a fabric is led.
type Config struct {
	Graph       *topology.Graph
	Seed        uint64
	PacketBytes int
	Detection   weft.Time // after which a neighbour that is not heard counts as down
	Bin         weft.Time // of throughput
	Scattered   bool      // the neighbours of a switch that returns get carrier one after the other, see [Scatter]

	// Hosts are those there are from the start on, and Switches and NICs says which runs each node.
	Hosts    []Host
	Switches []ledger.HostID
	NICs     []ledger.HostID
	// Processes is the number of the host that is the processes of switch 0; others follow.
	Processes ledger.HostID
}

// Direction is one direction of a link: from its end A to B, or back.
type Direction struct {
	Link weft.LinkID
	Back bool
}

// direction is direction d of a link: 0 is from A to B.
func direction(id weft.LinkID, d int) Direction { return Direction{id, d == 1} }

// side is the end that sends.
func (d Direction) side() int {
	if d.Back {
		return 1
	}
	return 0
}

// Link is what has been done to a link, and what its ends make of it. Both arrays are by direction,
// A to B first, or by end, A first.
type Link struct {
	Cut      [2]int // the fault that cuts it; 0: none
	Impaired [2]int // the fault that impairs it
	Suffers  [2]fault.Impairment
	Carrier  [2]bool  // what the end was given last
	Up       [2]bool  // as the end sees it
	Outages  []Outage // why no broker carries it; empty: one does
}

// Outage is the loss of a connection to the broker that carried a link.
type Outage struct{ Shard, Incident int }

// Fault is a fault in force. Its number is that of its incident.
type Fault struct {
	ID     int
	Spec   fault.Spec
	Link   weft.LinkID // unless it is of a switch
	Switch weft.SwitchID
	Crash  bool // of a switch
	FlapUp bool // of a flap: the link is up for now

	next  func() (fault.Edge, bool) // of a flap: what comes after the change that is due
	start weft.Time                 // of a flap
	down  bool                      // of a flap: the change that is due
	ends  bool                      // it ends when its timer is due
}

// Host is a host as far as decisions need it.
type Host struct {
	ID     ledger.HostID
	Name   string // as reports have it
	Label  string // as sentences have it: "host east"
	Remote bool   // what it tells comes some moments later, and perhaps never

	// Process says that it is the processes of one switch, one after another, and Runs that one is
	// the switch now.
	Process bool
	Switch  weft.SwitchID
	Runs    bool

	Inside []weft.LinkID // both ends are its own
	Border []weft.LinkID // one is

	Suspect  bool // it does not answer
	Failed   bool // nobody answers for it: its nodes count as crashed
	Incident int  // of its absence; 0: it is there
}

// links are all of the host.
func (h *Host) links() []weft.LinkID { return slices.Concat(h.Border, h.Inside) }

// State is the state of a leader. Whoever has it calls Step, and reads it in between.
type State struct {
	cfg        Config
	now        weft.Time
	Ledger     *ledger.Ledger
	Links      []Link
	Crashed    []int // per switch, the fault; 0: it runs
	Generation uint16
	Rounds     RoundCounts
	Incidents  []*Incident // the latest, in order; bound: maxIncidents
	Hosts      []Host
	Moves      []Move    // under way, in the order in which they began
	HeldUntil  weft.Time // NICs inject nothing until then; weft.Never: until somebody says so; 0: they do
	Traffic    Traffic
	Tempo      Tempo

	found    int            // the latest incident of the ledger that reportFound has seen
	faults   map[int]*Fault // by number
	process  []int          // per switch, the host of its processes, by place in Hosts; -1: there were none
	place    map[ledger.HostID]int
	attached [][]weft.LinkID // per switch
	open     []*Incident     // of Incidents, the ones that still count
	watch    watch
	samples  samples
	counted  Counted
	actions  map[int]*action
	action   int // the number of the latest
	out      []Effect
	restored []*Fault  // of the leader before, and not resumed yet
	holdTime weft.Time // how long NICs were to be held when that was asked for; 0: the leader before was asked
}

// New is the state of a leader of a fabric that is about to start.
func New(c Config, l *ledger.Ledger) *State {
	s := &State{
		cfg: c, Ledger: l, Links: make([]Link, len(c.Graph.Links)), Crashed: make([]int, len(c.Graph.Switches)),
		faults: map[int]*Fault{}, process: make([]int, len(c.Graph.Switches)), place: map[ledger.HostID]int{},
		attached: make([][]weft.LinkID, len(c.Graph.Switches)), watch: watch{last: map[weft.End]*lastDown{}},
		samples: samples{width: c.Bin.Duration()}, actions: map[int]*action{}, Tempo: tempoOf(Tempo{}),
	}
	for i := range s.process {
		s.process[i] = -1
	}
	for i := range c.Hosts {
		s.addHost(c.Hosts[i])
	}
	for _, l := range c.Graph.Links {
		for _, e := range ends(&l) {
			if e.Node.IsSwitch() {
				s.attached[e.Node.Index] = append(s.attached[e.Node.Index], l.ID)
			}
		}
	}
	return s
}

// Fault is a fault in force.
func (s *State) Fault(id int) *Fault { return s.faults[id] }

// Incident is an incident that is kept; nil: it is not.
func (s *State) Incident(id int) *Incident {
	i, ok := s.indexOf(id)
	if !ok {
		return nil
	}
	return s.Incidents[i]
}

// Host is a host; nil: there is none of that number.
func (s *State) Host(id ledger.HostID) *Host {
	i, ok := s.place[id]
	if !ok {
		return nil
	}
	return &s.Hosts[i]
}

func (s *State) addHost(h Host) {
	s.place[h.ID] = len(s.Hosts)
	if h.Process {
		s.process[h.Switch] = len(s.Hosts)
	}
	s.Hosts = append(s.Hosts, h)
}

// home is the host that runs a node, unless a process does.
func (s *State) home(n weft.Node) *Host {
	if n.IsSwitch() {
		return s.Host(s.cfg.Switches[n.Index])
	}
	return s.Host(s.cfg.NICs[n.Index])
}

// runner is the host that runs a node now.
func (s *State) runner(n weft.Node) *Host {
	if n.IsSwitch() {
		if i := s.process[n.Index]; i >= 0 && s.Hosts[i].Runs {
			return &s.Hosts[i]
		}
	}
	return s.home(n)
}

// link is what does not change of a link.
func (s *State) link(id weft.LinkID) *topology.Link { return &s.cfg.Graph.Links[id] }

// ends are A and B.
func ends(l *topology.Link) [2]weft.End { return [2]weft.End{l.A, l.B} }

// at is the link at a port, and which of its ends that is.
func (s *State) at(e weft.End) (id weft.LinkID, side int, ok bool) {
	_, id, ok = s.cfg.Graph.Peer(e)
	if ok && s.link(id).B == e {
		side = 1
	}
	return id, side, ok
}

// both are both directions.
var both = [2]bool{true, true}

// IsCut reports whether nothing comes through a direction now.
func (s *State) IsCut(id weft.LinkID, d int) bool {
	f := s.faults[s.Links[id].Cut[d]]
	return f != nil && !f.FlapUp
}

// Signalled reports whether the ends know of the cut of a direction.
func (s *State) Signalled(id weft.LinkID, d int) bool {
	return s.IsCut(id, d) && !s.faults[s.Links[id].Cut[d]].Spec.Silent
}

// carrier says which ends should have carrier. An end is without when both directions are cut and
// it was told; when only what comes to it is cut, it goes on saying so to its neighbour. A switch
// that moves gets its carrier when it has come, and keeps it if the leader before has given it.
func (s *State) carrier(id weft.LinkID) [2]bool {
	if !s.Alive(id) || s.Signalled(id, 0) && s.Signalled(id, 1) {
		return [2]bool{}
	}
	e, has := ends(s.link(id)), s.Links[id].Carrier
	return [2]bool{has[0] || !s.moves(e[0].Node), has[1] || !s.moves(e[1].Node)}
}

// Alive reports whether a link is held by two nodes that run and a broker.
func (s *State) Alive(id weft.LinkID) bool {
	for _, e := range ends(s.link(id)) {
		if e.Node.IsSwitch() && s.Crashed[e.Node.Index] != 0 {
			return false
		}
	}
	return len(s.Links[id].Outages) == 0 && !s.failed(id)
}

// failed reports whether an end of a link is at a host that has failed.
func (s *State) failed(id weft.LinkID) bool {
	l := s.link(id)
	return s.runner(l.A.Node).Failed || s.runner(l.B.Node).Failed
}

// Usable reports whether a link should carry packets.
func (s *State) Usable(id weft.LinkID) bool {
	return s.Alive(id) && !s.IsCut(id, 0) && !s.IsCut(id, 1)
}

// IsBack reports whether both ends of a link see it up, or nobody can wait for that, damping aside:
// an end is at a host that does not answer, every frame is lost, or another fault has taken the
// link.
func (s *State) IsBack(id weft.LinkID) bool {
	l := &s.Links[id]
	return l.Up[0] && l.Up[1] || !s.Usable(id) || s.suspect(id) || l.Suffers[0].Loss == 100 || l.Suffers[1].Loss == 100
}

// suspect reports whether an end of a link is at a host that does not answer.
func (s *State) suspect(id weft.LinkID) bool {
	for _, e := range ends(s.link(id)) {
		if h := s.runner(e.Node); h.Suspect && !h.Failed {
			return true
		}
	}
	return false
}

// up are the ends that see the link up.
func (s *State) up(id weft.LinkID) (list []weft.End) {
	for i, e := range ends(s.link(id)) {
		if s.Links[id].Up[i] {
			list = append(list, e)
		}
	}
	return list
}

// Step takes an event and returns what is to be done, in this order.
func (s *State) Step(now weft.Time, ev Event) []Effect {
	s.now, s.out = now, nil
	// What nodes report is told apart first: they run on goroutines of their own, by the ten
	// thousand, whose stacks would all have to grow for the frame of decide.
	switch e := ev.(type) {
	case PortChanged:
		s.portChanged(e)
	case Rerouted:
		s.watch.rerouted(s, e.At)
	default:
		s.decide(ev)
	}
	return s.out
}

// decide takes the events that do not come from nodes.
func (s *State) decide(ev Event) {
	switch e := ev.(type) {
	case Apply:
		s.apply(e.Specs)
	case Acted:
		s.acted(e.Action)
	case Finished:
		s.finished(e)
	case MoveBegins:
		s.moveBegins(e)
	case MoveEnds:
		s.moveEnds(e.Switch)
	case Revive:
		s.revive(e.Switch)
	case TimerDue:
		s.timerDue(e)
	case CarrierDue:
		s.carrierDue(e)
	case PortSynced:
		if id, side, ok := s.at(e.End); ok {
			s.Links[id].Up[side] = e.Up
		}
	case Seen:
		s.noteSeen()
	case Counted:
		s.counted = e
	case Sampled:
		s.samples.add(s.now, e.Delivered)
	case Suffered:
		s.suffered(e)
	case Tick:
		s.tick(e.Asked)
	case Close:
		s.closeAll()
	case Drop:
		delete(s.actions, e.Action)
	case SetTraffic:
		s.setTraffic(e.Traffic)
	case SetTimeFactor:
		s.setTimeFactor(e)
	case Measured:
		s.measured(e)
	case Hold:
		if s.Held() || !e.Longer {
			s.hold(e.For, "")
		}
	case Generate:
		s.nextGeneration()
	case Found:
		s.reportFound()
	case Adopted:
		s.suspectSilences("it lost packets while nobody led the fabric")
	case Reached:
		s.Generation = max(s.Generation, e.Generation)
	case Sync:
		s.sync(e.Links)
	case BrokerLost:
		s.brokerLost(e)
	case BrokerBack:
		s.brokerBack(e)
	case Managed:
		s.managed(e.Round)
	case Settled:
		s.settled(e.Version)
	case Resume:
		s.resume()
	default:
		s.host(ev)
	}
}

// host takes the events of hosts.
func (s *State) host(ev Event) {
	switch e := ev.(type) {
	case HostAdded:
		s.addHost(e.Host)
	case HostAnswers:
		h := s.Host(e.Host)
		h.Suspect, h.Failed = e.Suspect, e.Failed
	case HostSuspect:
		s.hostSuspect(e)
	case HostFailed:
		s.hostFailed(e)
	case HostWrittenOff:
		s.hostWrittenOff(e)
	case HostBack:
		s.hostBack(e.Host)
	case HostReported:
		s.hostReported(e)
	case HostLeft:
		s.hostLeft(e)
	case Resync:
		s.resync(e)
	default:
		panic(fmt.Sprintf("leader: %T is no event", ev))
	}
}

func (s *State) do(e Effect) { s.out = append(s.out, e) }

func (s *State) publish(p Published) { s.do(Publish{p}) }
