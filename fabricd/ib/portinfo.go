package ib

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// PortState is the logical state of a port (section 14.2.5.6). Data flows only between ports that
// are active.
type PortState uint8

// The states of a port.
const (
	Down PortState = iota + 1
	Init
	Armed
	Active
)

// Physical states.
const (
	physNoChange = 0
	physSleep    = 1
	physPolling  = 2
	physDisabled = 3
	physLinkUp   = 5
)

// Capabilities of a port (table 146).
const (
	capIsSM       = 1 << 1
	capNotice     = 1 << 2
	capTrap       = 1 << 3
	capSLMap      = 1 << 6
	capSystemGUID = 1 << 11
	capCommMgt    = 1 << 16
	capMaskNotice = 1 << 22
	capReregister = 1 << 25
	allPorts      = capNotice | capTrap | capSLMap | capSystemGUID | capCommMgt | capMaskNotice | capReregister
)

// portInfo is the attribute PortInfo as it is answered: fields are read and written where the
// specification has them (table 145).
type portInfo [64]byte

// Where the fields of PortInfo are: byte, shift and width for those shorter than a byte.
const (
	infoMKey, infoPrefix, infoLID, infoSMLID, infoCaps = 0, 8, 16, 18, 20
	infoLocalPort, infoWidths, infoWidthActive         = 28, 29, 31
	infoVLHighLimit, infoViolations, infoGUIDCap       = 38, 44, 50
)

func (i *portInfo) state() PortState     { return PortState(bits(i[:], 32, 0, 4)) }
func (i *portInfo) setState(v PortState) { putBits(i[:], 32, 0, 4, uint8(v)) }
func (i *portInfo) physical() uint8      { return bits(i[:], 33, 4, 4) }
func (i *portInfo) setPhysical(v uint8)  { putBits(i[:], 33, 4, 4, v) }
func (i *portInfo) lid() int             { return int(be16(i[:], infoLID)) }
func (i *portInfo) smLID() uint16        { return be16(i[:], infoSMLID) }
func (i *portInfo) lmc() int             { return int(bits(i[:], 34, 0, 3)) }
func (i *portInfo) mkey() (k [8]byte)    { copy(k[:], i[:8]); return k }
func (i *portInfo) protection() uint8    { return bits(i[:], 34, 6, 2) }
func (i *portInfo) operVLs() uint8       { return bits(i[:], 43, 4, 4) }
func (i *portInfo) lanes() int           { return lanesOf(i.operVLs()) }

// lanesOf is how many data virtual lanes a value of VLCap or OperationalVLs stands for.
func lanesOf(v uint8) int {
	switch {
	case v == 0:
		return 1
	case v >= 5:
		return 15
	}
	return 1 << (v - 1)
}

// vlCap is that value.
func vlCap(vls int) uint8 {
	for v := uint8(5); v > 1; v-- {
		if lanesOf(v) <= vls {
			return v
		}
	}
	return 1
}

// Values of every port: 4x QDR, as topology files have it, and an MTU of 4096.
const (
	width4x   = 2
	widths    = 3 // 1x and 4x
	speedQDR  = 4
	speeds    = 7
	mtu4096   = 5
	arbLength = 8 // entries of each table of VL arbitration
)

// makePorts sets all ports of a node as they are when it is switched on.
func (n *node) makePorts(vls int) {
	for p := range n.ports {
		n.ports[p].reset(n, p, vls)
	}
}

func (p *port) reset(n *node, number, vls int) {
	p.info = portInfo{}
	i := p.info[:]
	putBE64(i, infoPrefix, 0xfe80<<48)
	putBE32(i, infoCaps, allPorts)
	i[infoLocalPort] = uint8(number)
	i[infoWidths], i[infoWidths+1], i[infoWidthActive] = widths, widths, width4x
	putBits(i, 32, 4, 4, speeds)
	putBits(i, 33, 0, 4, physPolling) // when it goes down
	putBits(i, 35, 4, 4, speedQDR)
	putBits(i, 35, 0, 4, speeds)
	putBits(i, 36, 4, 4, mtu4096)
	putBits(i, 37, 4, 4, vlCap(vls))
	i[infoVLHighLimit+1], i[infoVLHighLimit+2] = arbLength, arbLength
	putBits(i, 41, 0, 4, mtu4096)
	putBits(i, 43, 4, 4, vlCap(vls))
	i[infoGUIDCap] = 1
	i[51], i[52] = 18, 16 // timeouts, as real devices have them
	putBits(i, 53, 4, 4, 8)
	putBits(i, 53, 0, 4, 8)
	p.pkeys = [pkeyBlocks * 32]uint16{0xffff}
	p.lanes, p.arbiter, p.guids = nil, [4][64]byte{}, [8]uint64{uint64(p.guid)}
	if n.kind == typeSwitch && number == 0 {
		p.info.setState(Active)
		p.info.setPhysical(physLinkUp)
		return
	}
	p.info.setState(Down)
	p.info.setPhysical(physPolling)
}

// Effect is what follows from a datagram, or from a change of a link, outside the subnet.
type Effect struct {
	Kind   EffectKind
	Switch weft.SwitchID // of EffectTables
	// Entries of a table of the switch were written that were others before; 0: it is to forward
	// otherwise for another reason.
	Entries int
	Link    weft.LinkID // of EffectCut and EffectRestore
	Port    PortRef     // whose agent it was
}

// EffectKind is what is to be done.
type EffectKind uint8

// What follows.
const (
	EffectTables  EffectKind = iota + 1 // the switch is to forward otherwise
	EffectPaths                         // a LID is another port's: all switches forward anew, NICs ask for paths
	EffectCut                           // the port was disabled
	EffectRestore                       // it was enabled again, and so is the one at the other end
)

// SetLink tells the subnet that a link has signal at both ends, or not. Ports that lose it are
// down, and those that get it begin at Init.
func (s *Subnet) SetLink(id weft.LinkID, up bool) (out []Effect) {
	l := &s.graph.Links[id]
	for _, e := range [2]weft.End{l.A, l.B} {
		r := s.ports[e]
		p := s.port(r)
		if p.up == up {
			continue
		}
		p.up = up
		switch {
		case up && p.info.physical() != physDisabled:
			p.info.setState(Init)
			p.info.setPhysical(physLinkUp)
		case !up:
			p.downed++
			p.info.setState(Down)
			if p.info.physical() != physDisabled {
				p.info.setPhysical(physPolling)
			}
		}
		out = s.stateChanged(r, out)
	}
	return out
}

// SetCrashed tells the subnet that a switch has lost all it knew, as one does that is switched off
// and on: tables, LIDs, lanes.
func (s *Subnet) SetCrashed(id weft.SwitchID) (out []Effect) {
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.kind != typeSwitch || n.id != id {
			continue
		}
		n.sw = &switchState{enhanced: n.sw.enhanced, multicast: map[uint32][32]uint16{}}
		for p := range n.ports {
			up := n.ports[p].up
			if n.ports[p].reset(n, p, s.cfg.VLs); up {
				n.ports[p].info.setState(Init)
				n.ports[p].info.setPhysical(physLinkUp)
			}
		}
		s.traps.forget(i)
		out = append(out, Effect{Kind: EffectTables, Switch: id})
	}
	return out
}

// stateChanged has a switch note that a port of its has changed its state, tell the manager, and
// forward by the ports that are active.
func (s *Subnet) stateChanged(r PortRef, out []Effect) []Effect {
	n := &s.nodes[r.Node]
	if n.kind == typeSwitch {
		n.sw.stateChanged = true
		s.traps.linkState(r.Node)
	}
	return s.tablesOf(r, out)
}

// tablesOf has the switches at both ends of the link of a port forward anew.
func (s *Subnet) tablesOf(r PortRef, out []Effect) []Effect {
	for _, x := range [2]PortRef{r, s.port(r).peer} {
		n := &s.nodes[x.Node]
		if e := (Effect{Kind: EffectTables, Switch: n.id}); n.kind == typeSwitch && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// carriesData reports whether packets may leave by a port: it and its peer are active.
func (s *Subnet) carriesData(r PortRef) bool {
	p := s.port(r)
	return p.linked && p.up && p.info.state() == Active && s.port(p.peer).info.state() == Active
}

// setPortInfo writes what a manager may write of a port. A status other than OK: nothing was
// written.
func (s *Subnet) setPortInfo(r PortRef, b []byte, out []Effect) (Status, []Effect) {
	p := s.port(r)
	own := s.nodes[r.Node].kind != typeSwitch || r.Port == 0 // it has the LID
	state, phys := PortState(bits(b, 32, 0, 4)), bits(b, 33, 4, 4)
	was := p.info.state()
	switch {
	case state > Active, phys > physDisabled && phys != physLinkUp:
		return StatusField, out
	case state == Init, state == Armed && was != Init && was != Armed, state == Active && was != Armed && was != Active:
		return StatusField, out // table 145: only these changes may be asked for
	}
	if own && (be16(b, infoLID) == 0 || int(be16(b, infoLID))+1<<bits(b, 34, 0, 3) > linearCap) {
		return StatusField, out
	}
	if vls := bits(b, 43, 4, 4); vls > bits(p.info[:], 37, 4, 4) {
		return StatusField, out
	}
	old := p.info
	if own {
		copy(p.info[:infoCaps], b[:infoCaps])
		copy(p.info[26:28], b[26:28]) // lease of the key
		p.info[34] = b[34] & 0xc7
		p.info[51] = b[51] & 0x1f
	}
	if v := b[infoWidths]; v != 0 && v != 0xff {
		p.info[infoWidths] = v
	}
	if v := bits(b, 33, 0, 4); v == physSleep || v == physPolling {
		putBits(p.info[:], 33, 0, 4, v)
	}
	if v := bits(b, 35, 0, 4); v != 0 && v != 15 {
		putBits(p.info[:], 35, 0, 4, v)
	}
	p.info[36], p.info[infoVLHighLimit] = b[36], b[infoVLHighLimit]
	putBits(p.info[:], 36, 4, 4, max(1, bits(b, 36, 4, 4)))
	p.info[42] = b[42]
	if v := bits(b, 43, 4, 4); v != 0 {
		putBits(p.info[:], 43, 4, 4, v)
	}
	putBits(p.info[:], 43, 0, 4, bits(b, 43, 0, 4))
	copy(p.info[infoViolations:infoGUIDCap], b[infoViolations:infoGUIDCap])
	p.info[53] = b[53]

	out = s.setState(r, state, phys, out)
	reregister := own && bits(b, 51, 7, 1) == 1
	switch {
	case reregister, own && (old.lid() != p.info.lid() || old.lmc() != p.info.lmc()):
		out = append(out, Effect{Kind: EffectPaths})
	case old.operVLs() != p.info.operVLs():
		out = s.tablesOf(r, out)
	}
	return StatusOK, out
}

// setState takes a port from one state to another as a manager asks, 0: as it is.
func (s *Subnet) setState(r PortRef, state PortState, phys uint8, out []Effect) []Effect {
	p := s.port(r)
	if r.Port == 0 && s.nodes[r.Node].kind == typeSwitch {
		return out
	}
	switch disabled := p.info.physical() == physDisabled; {
	case phys == physDisabled && !disabled:
		p.info.setPhysical(physDisabled)
		p.info.setState(Down)
		out = s.tablesOf(r, out)
		if p.linked {
			out = append(out, Effect{Kind: EffectCut, Link: p.link, Port: r})
		}
		return out
	case (phys == physPolling || phys == physSleep) && disabled:
		p.info.setPhysical(physPolling)
		if p.linked && s.port(p.peer).info.physical() != physDisabled {
			out = append(out, Effect{Kind: EffectRestore, Link: p.link, Port: r})
		}
		return out
	case state == 0 || state == p.info.state() || !p.up:
		return out
	case state == Down: // the link comes up again by itself
		for _, x := range [2]PortRef{r, p.peer} {
			s.port(x).info.setState(Init)
			out = s.stateChanged(x, out)
		}
		return out
	}
	p.info.setState(state) // which a switch does not report as a change: the manager has made it
	return s.tablesOf(r, out)
}
