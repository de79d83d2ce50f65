package verify

import (
	"cmp"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// model is what all workers share and nobody changes: the topology as arrays, and who sends to
// whom.
type model struct {
	g        *topology.Graph
	runs     []running                                             // the firmware, or the two of a mixture
	names    []string                                              // of the two
	around   func(dead *subnet.Dead) ([]switching.Firmware, error) // makes them for a set; nil: all have the same
	vcs      int
	when     When
	most     int  // faults dead at one moment
	oneByOne bool // see Config
	regs     Registers

	first    []int32 // per switch: where its ports begin in peers
	peers    []peer
	channels int     // directed links between switches times VCs; a channel is (port of the sender) * vcs + VC
	turns    []int64 // per switch: where its pairs of (in channel, out channel) begin
	pairs    int64   // all of these
	number   []int32 // per channel: the firmware's numbering; nil when it has none
	stateful bool
	kept     int // answers and such that a worker may keep

	apart  bool // the packets of each source are a flow, whatever the firmware says
	merged bool // the firmware is destination-based: the packets of all sources of a destination are one flow
	flows  []flow
}

// running is a firmware that switches run.
type running struct {
	fw       switching.Firmware
	declared []int // per switch: how many registers it has
}

// registers are those that switch sw has, of their values.
func (r *running) registers(of []uint64, sw int32) []uint64 { return of[:r.declared[sw]] }

// mixed reports whether each switch may run one of two firmwares.
func (m *model) mixed() bool { return len(m.runs) > 1 }

// peer is what a port leads to.
type peer struct {
	kind weft.NodeKind // 0: nowhere
	node uint32
	port weft.PortID
	link weft.LinkID
}

// flow is what is explored together: all packets that a firmware cannot tell apart but by where
// they start.
type flow struct {
	dst  weft.NICID
	srcs []weft.NICID
}

func newModel(c *Config) (*model, error) {
	g := c.Graph
	m := &model{g: g, vcs: c.VCs, when: c.When, most: c.AtOnce, oneByOne: c.OneByOne, regs: c.Regs, around: c.around()}
	m.kept = c.held(maxKept)
	for s := range g.Switches {
		m.first = append(m.first, int32(len(m.peers)))
		m.turns = append(m.turns, m.pairs)
		place := g.Place(weft.SwitchID(s))
		for p := range place.Ports() {
			var to peer
			if e, l, ok := g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: weft.PortID(p)}); ok {
				to = peer{e.Node.Kind, e.Node.Index, e.Port, l}
			}
			m.peers = append(m.peers, to)
		}
		m.pairs += int64(place.Ports()*m.vcs) * int64(place.Ports()*m.vcs)
	}
	m.first = append(m.first, int32(len(m.peers)))
	m.channels = len(m.peers) * m.vcs
	if m.pairs > maxPairs {
		return nil, fmt.Errorf("%w: %s has %d pairs of channels in its switches, at most %d", ErrConfig, g.Spec,
			m.pairs, int64(maxPairs))
	}
	if c.Mixed != nil {
		m.names = []string{cmp.Or(c.Name, c.Firmware.Name), c.Mixed.name()}
	}
	return m, m.use(c.firmwares()...)
}

// use makes these the firmwares that are explored.
func (m *model) use(fws ...switching.Firmware) error {
	g := m.g
	m.runs, m.number, m.stateful = nil, nil, false
	for _, fw := range fws {
		r := running{fw: fw, declared: make([]int, len(g.Switches))}
		m.stateful = m.stateful || fw.Registers != nil
		for s := range g.Switches {
			place := g.Place(weft.SwitchID(s))
			if r.declared[s] = len(fw.RegistersAt(place)); r.declared[s] > maxRegisters {
				return fmt.Errorf("%w: the firmware declares %d registers at switch %s, at most %d can be explored",
					ErrConfig, r.declared[s], place.Name, maxRegisters)
			}
		}
		m.runs = append(m.runs, r)
	}
	// In a mixture the numbers of one firmware say nothing of the other's channels.
	if number := fws[0].ChannelNumber; number != nil && !m.mixed() {
		m.number = make([]int32, m.channels)
		for s := range g.Switches {
			place := g.Place(weft.SwitchID(s))
			for p := range weft.PortID(m.ports(s)) {
				for vc := range weft.VC(m.vcs) {
					if m.peer(s, p).kind == weft.KindSwitch {
						m.number[m.channel(s, p, vc)] = int32(number(place, p, vc))
					}
				}
			}
		}
	}
	m.index()
	return nil
}

// maxPairs bounds the memory for what has been seen: 4 bytes each, per worker.
const maxPairs = 1 << 27

// maxListed is for how many NICs each destination has its own list of sources, in order.
const maxListed = 2048

// index makes the flows: one per destination if the firmware looks at nothing else, otherwise one
// per pair.
func (m *model) index() {
	merged := !m.apart
	for i := range m.runs {
		merged = merged && m.runs[i].fw.DestinationBased
	}
	if m.flows != nil && merged == m.merged {
		return
	}
	m.flows, m.merged = nil, merged
	var around []weft.NICID // all NICs, twice: a list for each destination would take gigabytes where there are thousands
	if n := len(m.g.NICs); merged && n > maxListed {
		for i := range 2 * n {
			around = append(around, weft.NICID(i%n))
		}
	}
	for dst := range m.g.NICs {
		f := flow{dst: weft.NICID(dst)}
		if around != nil {
			f.srcs = around[dst+1 : dst+len(m.g.NICs)]
			m.flows = append(m.flows, f)
			continue
		}
		for src := range m.g.NICs {
			if src == dst {
				continue
			}
			f.srcs = append(f.srcs, weft.NICID(src))
			if !m.merged {
				m.flows = append(m.flows, f)
				f.srcs = nil
			}
		}
		if m.merged {
			m.flows = append(m.flows, f)
		}
	}
}

// dated reports whether the moment at which a packet is somewhere decides what it can meet next.
func (m *model) dated() bool { return m.when == Arriving || m.when == Repaired }

func (m *model) ports(sw int) int { return int(m.first[sw+1] - m.first[sw]) }

func (m *model) peer(sw int, p weft.PortID) *peer { return &m.peers[int(m.first[sw])+int(p)] }

// channel is the number of the channel that leaves sw by p in vc.
func (m *model) channel(sw int, p weft.PortID, vc weft.VC) int32 {
	return (m.first[sw]+int32(p))*int32(m.vcs) + int32(vc)
}

// port is the port that a channel leaves its switch by.
func (m *model) port(channel int32) weft.PortID {
	port := channel / int32(m.vcs)
	return weft.PortID(port - m.first[m.owner(port)])
}

// into is the channel by which a packet came into sw, or -1 when a NIC sent it.
func (m *model) into(sw int, in weft.PortID, vc weft.VC) int32 {
	from := m.peer(sw, in)
	if from.kind != weft.KindSwitch {
		return -1
	}
	return m.channel(int(from.node), from.port, vc)
}

// turn is the number of the pair of (channel into sw, channel out of sw).
func (m *model) turn(sw int, in weft.PortID, inVC weft.VC, out weft.PortID, outVC weft.VC) int32 {
	width := int64(m.ports(sw) * m.vcs)
	// fewer than maxPairs
	return int32(m.turns[sw] + (int64(in)*int64(m.vcs)+int64(inVC))*width + int64(out)*int64(m.vcs) + int64(outVC))
}

// channelName is a channel in words: s0.00-s1.10 vc1.
func (m *model) channelName(c int32) string {
	port, vc := c/int32(m.vcs), c%int32(m.vcs)
	sw := m.owner(port)
	to := m.peers[port]
	name := "nowhere"
	if to.kind == weft.KindSwitch {
		name = m.g.Switches[to.node].Name
	}
	return fmt.Sprintf("%s>%s vc%d", m.g.Switches[sw].Name, name, vc)
}

// owner is the switch that a port, counted over all switches, belongs to.
func (m *model) owner(port int32) int {
	lo, hi := 0, len(m.first)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; m.first[mid] <= port {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// headers are the packets of a flow as its source sends them, where its switch runs r: one for each
// address that it chooses among.
func (m *model) headers(r *running, src, dst weft.NICID) []weft.Header {
	sw, p := m.g.SwitchOf(src)
	var list []weft.Address
	if r.fw.Addresses != nil {
		list = r.fw.Addresses(m.g.Place(sw), p, dst)
	}
	if len(list) == 0 {
		list = []weft.Address{{}}
	}
	headers := make([]weft.Header, len(list))
	for i, a := range list {
		h := &headers[i]
		*h = weft.Header{Src: src, Dst: dst, Size: 256, VC: a.VC, Fields: weft.NewFields()}
		if int(a.VC) >= m.vcs {
			h.VC = 0 // as NICs do
		}
		h.Path, h.Layers = a.Path, a.Layers
		if r.fw.Source != nil {
			r.fw.Source(m.g.Place(sw), p, h)
		}
	}
	return headers
}

// route asks a firmware about one of packets, of a source of a flow.
func (m *model) route(
	fw *switching.Firmware, sw switching.View, f, src int, in weft.PortID, vc weft.VC, fields weft.Fields, sent int,
) switching.Decision {
	pkt := packets[sent]
	pkt.Src, pkt.Dst, pkt.VC, pkt.Fields = m.flows[f].srcs[src], m.flows[f].dst, vc, fields
	return m.decided(fw, sw, in, &pkt)
}

// decided asks a firmware about a packet. Where it panics the packet is discarded, as in a switch.
func (m *model) decided(fw *switching.Firmware, sw switching.View, in weft.PortID,
	pkt *weft.Header,
) (d switching.Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = switching.Discard(switching.RulePanicked + ": " + switching.PanicReason(v))
		}
	}()
	return fw.Route(pkt, switching.Arrival{Port: in, VC: pkt.VC, From: sw.Place().Roles[in]}, sw)
}
