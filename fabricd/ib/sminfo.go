package ib

import (
	"encoding/binary"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ManagerState is that of a subnet manager (section 14.4.1).
type ManagerState uint8

// The states of a manager.
const (
	ManagerIdle ManagerState = iota // it was disabled
	ManagerDiscovering
	ManagerStandby
	ManagerMaster
)

// String is the name of the state.
func (s ManagerState) String() string {
	return [...]string{"disabled", "discovering", "standby", "master"}[s&3]
}

// What a manager tells another one by the modifier of Set(SMInfo).
const (
	TellHandover    = 1 // be the master
	TellAcknowledge = 2 // I am
	TellDisable     = 3
	TellStandby     = 4
	TellDiscover    = 5
)

// ManagerInfo is the attribute SMInfo: who a manager is.
type ManagerInfo struct {
	GUID     topology.GUID // of its port
	Count    uint32        // of what it has done, which shows that it lives
	Priority uint8         // 0 to 15, the higher one manages
	State    ManagerState
}

// Above reports whether a manager goes before another: by priority, and then by the lower GUID.
func (i ManagerInfo) Above(b ManagerInfo) bool {
	return i.Priority > b.Priority || i.Priority == b.Priority && i.GUID < b.GUID
}

// managerKey is what managers of a subnet have in common: OpenSM's, unless its option sm_key says
// otherwise.
const managerKey = 1

// ManagerInfo reads the attribute SMInfo.
func (m *MAD) ManagerInfo() ManagerInfo {
	b := m.Data()
	return ManagerInfo{
		GUID: topology.GUID(binary.BigEndian.Uint64(b)), Count: binary.BigEndian.Uint32(b[16:]),
		Priority: b[20] >> 4, State: ManagerState(b[20] & 15),
	}
}

// SetManagerInfo writes it.
func (m *MAD) SetManagerInfo(i ManagerInfo) {
	b := m.Data()
	clear(b)
	putBE64(b, 0, uint64(i.GUID))
	putBE64(b, 8, managerKey)
	putBE32(b, 16, i.Count)
	b[20] = i.Priority<<4 | uint8(i.State)
}

// Reply makes of a request its answer, without an error.
func (m *MAD) Reply() { m.answer(StatusOK) }

// Repress makes of a trap the answer that the manager knows of it.
func (m *MAD) Repress() { m[3] = MethodTrapRepress }

// To is a request of subnet management from one port to another by a directed route over links that
// are up; false: there is none.
func (s *Subnet) To(from, to PortRef, method uint8, attribute uint16, modifier uint32) (*Datagram, bool) {
	route, ok := s.route(from, to.Node)
	if !ok || len(route) > maxPath {
		return nil, false
	}
	d := &Datagram{At: from, From: permissive, To: permissive}
	d.head(ClassSubnetDirected, 1, method, attribute, modifier)
	d.MAD[7] = byte(len(route))
	putBE16(d.MAD[:], 32, permissive)
	putBE16(d.MAD[:], 34, permissive)
	copy(d.initialPath()[1:], route)
	key := s.managed(to).info.mkey()
	copy(d.MAD[24:], key[:])
	return d, true
}

// route are the ports of a shortest way from a port to a node; an adapter is left by that port.
func (s *Subnet) route(from PortRef, to int) (ports []byte, ok bool) {
	seen := map[int]PortRef{from.Node: {}}
	for queue := []int{from.Node}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			for at != from.Node {
				by := seen[at]
				ports = append(ports, byte(by.Port))
				at = by.Node
			}
			slices.Reverse(ports)
			return ports, true
		}
		if at != from.Node && s.nodes[at].kind != typeSwitch {
			continue
		}
		for p := range s.nodes[at].ports {
			r := PortRef{at, p}
			if s.nodes[at].kind != typeSwitch && p != from.Port || !s.alive(r) {
				continue
			}
			next := s.port(r).peer.Node
			if _, known := seen[next]; !known {
				seen[next] = r
				queue = append(queue, next)
			}
		}
	}
	return nil, false
}

// alive reports whether datagrams cross the link of a port.
func (s *Subnet) alive(r PortRef) bool {
	p := s.port(r)
	return p.linked && p.up && s.port(p.peer).up && !s.cut[p.link] && p.info.physical() != physDisabled &&
		s.port(p.peer).info.physical() != physDisabled
}

// Managers are the ports where subnet managers run, as the capabilities of ports say.
func (s *Subnet) Managers() (list []PortRef) {
	for i := range s.nodes {
		if s.nodes[i].manager {
			list = append(list, s.firstPort(i))
		}
	}
	return list
}

// PortStates is how many ports with a link are in each state, by its name.
func (s *Subnet) PortStates() map[string]int {
	names := map[PortState]string{Down: "down", Init: "init", Armed: "armed", Active: "active"}
	count := map[string]int{}
	for i := range s.nodes {
		for p := range s.nodes[i].ports {
			if x := &s.nodes[i].ports[p]; x.linked {
				count[names[x.info.state()]]++
			}
		}
	}
	return count
}

// PortGUID is that of a port.
func (s *Subnet) PortGUID(r PortRef) topology.GUID { return s.managed(r).guid }

// Node is the port that manages a node of the graph.
func (s *Subnet) Node(n weft.Node) PortRef {
	if n.IsSwitch() {
		return PortRef{s.switchNode(weft.SwitchID(n.Index)), 0}
	}
	return s.ports[weft.End{Node: n}]
}
