package ib

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ring is a subnet of four switches with a NIC each; all links have signal.
func ring(t *testing.T) *Subnet {
	t.Helper()
	g, err := topology.Parse("ring:4")
	require.NoError(t, err)
	s := New(g, Config{VLs: 8})
	for _, l := range g.Links {
		s.SetLink(l.ID, true)
	}
	return s
}

// request is a directed-route request from the first NIC.
func request(s *Subnet, method uint8, attribute uint16, modifier uint32, path ...byte) *Datagram {
	d := &Datagram{}
	d.head(ClassSubnetDirected, 1, method, attribute, modifier)
	d.MAD[7] = byte(len(path))
	putBE16(d.MAD[:], 32, permissive)
	putBE16(d.MAD[:], 34, permissive)
	copy(d.initialPath()[1:], path)
	d.From, d.To = permissive, permissive
	at, _ := s.Find("")
	s.Begin(d, at)
	return d
}

// travel takes a datagram to its end.
func travel(s *Subnet, d *Datagram) Outcome {
	for {
		if o := s.Step(d); o != Forwarded {
			return o
		}
	}
}

// ask sends a request and brings the answer back.
func ask(t *testing.T, s *Subnet, d *Datagram) (Status, []Effect) {
	t.Helper()
	require.Equal(t, Delivered, travel(s, d), d.Lost)
	reply, effects := s.Answer(d.At, &d.MAD)
	require.True(t, reply)
	s.TurnBack(d)
	require.Equal(t, Delivered, travel(s, d), d.Lost)
	at, _ := s.Find("")
	require.Equal(t, at, d.At)
	return d.Status(), effects
}

func TestADirectedRouteGoesThereAndBack(t *testing.T) {
	s := ring(t)
	d := request(s, MethodGet, AttrNodeInfo, 0, 1, portTo(t, s, 0, 1), portTo(t, s, 1, 2))
	status, _ := ask(t, s, d)
	require.Equal(t, StatusOK, status)
	want := s.graph.Identity(weft.SwitchID(2).Node()).GUID
	require.Equal(t, byte(typeSwitch), d.Data()[2])
	require.Equal(t, be64(d.Data()[4:]), uint64(want))
}

func be64(b []byte) (v uint64) {
	for _, x := range b[:8] {
		v = v<<8 | uint64(x)
	}
	return v
}

// portTo is the port of a switch that leads to another, as InfiniBand numbers it.
func portTo(t *testing.T, s *Subnet, from, to weft.SwitchID) byte {
	t.Helper()
	for p := range s.nodes[from].ports {
		if x := s.nodes[from].ports[p]; x.linked && x.peer.Node == int(to) {
			return byte(p)
		}
	}
	t.Fatalf("no link from %d to %d", from, to)
	return 0
}

func TestACutLinkLosesTheDatagram(t *testing.T) {
	s := ring(t)
	for _, l := range s.graph.Links {
		if l.Name == "s1-s2" {
			s.SetLink(l.ID, false)
		}
	}
	d := request(s, MethodGet, AttrNodeInfo, 0, 1, portTo(t, s, 0, 1), portTo(t, s, 1, 2))
	require.Equal(t, Dropped, travel(s, d))
	require.Equal(t, "a link on its way is down", d.Lost)
}

func TestRoutesThatAreNoRoutesAreDropped(t *testing.T) {
	s := ring(t)
	nic, _ := s.Find("")
	through := byte(s.port(nic).peer.Port) // back to the adapter, and on from there
	for _, path := range [][]byte{{2}, {0}, {1, 0}, {1, 200}, {1, through, 1}} {
		d := request(s, MethodGet, AttrNodeInfo, 0, path...)
		require.Equal(t, Dropped, travel(s, d), path)
	}
	d := request(s, MethodGet, AttrNodeInfo, 0)
	d.MAD[7] = 200
	require.Equal(t, Dropped, travel(s, d))
}

func TestWhatIsNotSupportedIsAnsweredSo(t *testing.T) {
	s := ring(t)
	for _, c := range []struct {
		method    uint8
		attribute uint16
		modifier  uint32
		path      []byte
		want      Status
	}{
		{MethodGet, AttrSwitchInfo, 0, nil, StatusUnsupported}, // of an adapter
		{MethodGet, 0x30, 0, []byte{1}, StatusUnsupported},
		{MethodSet, AttrNodeInfo, 0, []byte{1}, StatusMethod},
		{0x03, AttrNodeInfo, 0, []byte{1}, StatusMethod},
		{MethodGet, AttrPortInfo, 77, []byte{1}, StatusField},
		{MethodGet, AttrLinearTable, linearCap / 64, []byte{1}, StatusField},
		{MethodGet, AttrVLArbitration, 0, []byte{1}, StatusField},
		{MethodGet, AttrPKeyTable, 5, []byte{1}, StatusField},
		{MethodGet, AttrMulticastTable, 500, []byte{1}, StatusField},
	} {
		status, effects := ask(t, s, request(s, c.method, c.attribute, c.modifier, c.path...))
		require.Equal(t, c.want, status, c)
		require.Empty(t, effects)
	}
}

// setPort writes the state of a port of switch 0.
func setPort(t *testing.T, s *Subnet, port byte, state PortState, phys uint8) (Status, []Effect) {
	t.Helper()
	d := request(s, MethodGet, AttrPortInfo, uint32(port), 1)
	_, _ = ask(t, s, d)
	data := [64]byte(d.Data())
	d = request(s, MethodSet, AttrPortInfo, uint32(port), 1)
	copy(d.Data(), data[:])
	putBits(d.Data(), 32, 0, 4, uint8(state))
	putBits(d.Data(), 33, 4, 4, phys)
	return ask(t, s, d)
}

func TestPortStatesGoDownInitArmedActive(t *testing.T) {
	s := ring(t)
	port := portTo(t, s, 0, 1)
	r := PortRef{0, int(port)}
	require.Equal(t, Init, s.port(r).info.state())
	for _, c := range []struct {
		to   PortState
		want Status
	}{
		{Active, StatusField},
		{Init, StatusField},
		{Armed, StatusOK},
		{Armed, StatusOK},
		{Active, StatusOK},
		{Armed, StatusField},
	} {
		status, _ := setPort(t, s, port, c.to, 0)
		require.Equal(t, c.want, status, c)
	}
	require.False(t, s.carriesData(r), "its peer is not active")
	s.port(s.port(r).peer).info.setState(Active)
	require.True(t, s.carriesData(r))
	effects := s.SetLink(s.port(r).link, false)
	require.Equal(t, Down, s.port(r).info.state())
	require.True(t, slices.ContainsFunc(effects, func(e Effect) bool { return e.Kind == EffectTables }))
	require.Len(t, s.traps.waiting, 4)
	s.SetLink(s.port(r).link, true)
	require.Equal(t, Init, s.port(r).info.state())
}

// A switch says that a port has changed its state where its link went down or came up, and not
// where a manager has changed it: OpenSM would sweep for what it did itself.
func TestASwitchReportsWhatLinksDo(t *testing.T) {
	s := ring(t)
	sm, _ := s.Find("")
	require.True(t, s.Unswept(sm), "links came up")
	for i := range s.graph.Switches {
		s.nodes[i].sw.stateChanged = false
	}
	port := portTo(t, s, 0, 1)
	setPort(t, s, port, Armed, 0)
	setPort(t, s, port, Active, 0)
	require.False(t, s.Unswept(sm))
	s.SetLink(s.port(PortRef{0, int(port)}).link, false)
	require.True(t, s.Unswept(sm))
}

func TestDisablingCutsAndEnablingRestores(t *testing.T) {
	s := ring(t)
	port := portTo(t, s, 0, 1)
	link := s.port(PortRef{0, int(port)}).link
	of := func(kind EffectKind, list []Effect) bool {
		return slices.ContainsFunc(list, func(e Effect) bool { return e.Kind == kind && e.Link == link })
	}
	_, effects := setPort(t, s, port, 0, physDisabled)
	require.True(t, of(EffectCut, effects))
	s.SetLink(link, false)
	require.Equal(t, byte(physDisabled), s.port(PortRef{0, int(port)}).info.physical())
	_, effects = setPort(t, s, port, Down, physPolling)
	require.True(t, of(EffectRestore, effects))
}

func TestTrapsAreRepeatedUntilTheyAreRepressed(t *testing.T) {
	s := ring(t)
	for i := range s.nodes {
		if s.nodes[i].kind == typeSwitch {
			putBE16(s.nodes[i].ports[0].info[:], infoSMLID, 1)
			putBE16(s.nodes[i].ports[0].info[:], infoLID, uint16(10+i))
		}
	}
	list, more := s.Traps(true)
	require.Len(t, list, 4)
	fresh, _ := s.Traps(true)
	require.Empty(t, fresh)
	require.True(t, more)
	require.Equal(t, uint16(trapLinkState), be16(list[2].Data(), 4))
	require.Equal(t, uint16(12), be16(list[2].Data(), 10))
	repress := list[2].MAD
	repress[3] = MethodTrapRepress
	reply, _ := s.Answer(PortRef{2, 0}, &repress)
	require.False(t, reply)
	list, _ = s.Traps(false)
	require.Len(t, list, 3)
	for range trapRepeats {
		list, more = s.Traps(false)
	}
	require.Empty(t, list)
	require.False(t, more)
}

func TestAKeyKeepsOthersFromWriting(t *testing.T) {
	s := ring(t)
	copy(s.nodes[0].ports[0].info[:8], "secret!!")
	d := request(s, MethodSet, AttrSwitchInfo, 0, 1)
	require.Equal(t, Delivered, travel(s, d))
	reply, _ := s.Answer(d.At, &d.MAD)
	require.False(t, reply)
	copy(d.MAD[24:], "secret!!")
	reply, _ = s.Answer(d.At, &d.MAD)
	require.True(t, reply)
}

// Any bytes as datagrams, one after the other, end somewhere, and leave the agents as they can be.
func FuzzDatagram(f *testing.F) {
	s0 := New(mustRing(f), Config{VLs: 8})
	for _, a := range []uint16{AttrNodeInfo, AttrPortInfo, AttrLinearTable, AttrSLToVL, AttrSwitchInfo} {
		set, get := request(s0, MethodSet, a, 1, 1, 2), request(s0, MethodGet, a, 0, 1)
		f.Add(set.MAD[:], uint16(3))
		f.Add(get.MAD[:], uint16(permissive))
		f.Add(slices.Concat(get.MAD[:], set.MAD[:], get.MAD[:]), uint16(permissive))
	}
	f.Fuzz(func(t *testing.T, b []byte, lid uint16) {
		s := New(mustRing(t), Config{VLs: 8})
		for _, l := range s.graph.Links {
			s.SetLink(l.ID, true)
		}
		for mad := range slices.Chunk(b[:min(len(b), 8*len(MAD{}))], len(MAD{})) {
			d := &Datagram{To: int(lid)}
			copy(d.MAD[:], mad)
			s.handle(d)
		}
		for i := range s.graph.Switches {
			p := s.Program(weft.SwitchID(i), 1)
			for _, row := range p.Rows {
				for _, h := range row {
					require.True(t, h[0] == uint16(weft.NoPort) || int(h[0]) < s.graph.Switches[i].Ports)
					require.Less(t, h[1], uint16(8))
				}
			}
		}
	})
}

// handle has agents do what they do with a datagram from the first NIC, whatever that is.
func (s *Subnet) handle(d *Datagram) {
	at, _ := s.Find("")
	s.Begin(d, at)
	if travel(s, d) != Delivered {
		return
	}
	ports := s.NeedsCounters(d.At, &d.MAD)
	if d.Class() == ClassPerformance {
		s.Count(d.At, &d.MAD, ports, make([]Counters, len(ports)))
	} else if reply, _ := s.Answer(d.At, &d.MAD); reply {
		s.TurnBack(d)
		travel(s, d)
	}
}

func mustRing(tb testing.TB) *topology.Graph {
	g, err := topology.Parse("ring:4")
	require.NoError(tb, err)
	return g
}
