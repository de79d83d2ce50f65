package process

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// place tells where a switch stands, before the first question about it. One of a number that was
// told before takes the place of that.
type place struct {
	Place int           `json:"place"`
	ID    weft.SwitchID `json:"id"`
	Name  string        `json:"switch"`
	Ports []port        `json:"ports"`
	Tree  *tree         `json:"tree,omitempty"`
	Grid  *weft.Grid    `json:"grid,omitempty"`
}

type port struct {
	Role string  `json:"role"`         // as weft.Role
	To   *uint32 `json:"to,omitempty"` // the switch or NIC at the other end
}

type tree struct {
	Tier   weft.Tier `json:"tier"`
	Tiers  int       `json:"tiers"`
	Digits []int     `json:"digits"`
	Down   []int16   `json:"down"` // ports; -1, which is weft.NoPort: missing
	Up     []int16   `json:"up"`
	Above  uint32    `json:"above"`
	Below  uint32    `json:"below"`
	Prefix uint32    `json:"prefix"`
}

func placeOf(number int, p *weft.Place) place {
	m := place{Place: number, ID: p.Switch, Name: p.Name, Ports: make([]port, p.Ports()), Grid: p.Grid}
	for i, role := range p.Roles {
		m.Ports[i].Role = role.String()
		if i < len(p.Neighbours) && role != weft.RoleNone {
			m.Ports[i].To = &p.Neighbours[i].Index
		}
	}
	if t := p.Tree; t != nil {
		m.Tree = &tree{Tier: t.Tier, Tiers: t.N, Digits: t.W, Above: t.Above, Below: t.Below, Prefix: t.Prefix}
		for j := range t.Down {
			m.Tree.Down = append(m.Tree.Down, int16(t.DownAt(j)))
		}
		for j := range t.Ups() {
			m.Tree.Up = append(m.Tree.Up, int16(t.Up(j)))
		}
	}
	return m
}

// batch is of questions, and then of their answers in the same order.
type batch struct {
	Batch     uint64      `json:"batch"`
	Questions []*question `json:"questions,omitempty"`
	Answers   []answer    `json:"answers,omitempty"`
}

// question has the names of a question to fabricd explain. What the program does not read is left
// out.
type question struct {
	Place  int               `json:"place"`
	InPort weft.PortID       `json:"in_port"`
	From   string            `json:"from"`
	VC     weft.VC           `json:"vc"`
	VCs    int               `json:"vcs"` // of a link
	Header header            `json:"header"`
	Dead   []weft.PortID     `json:"dead_ports,omitempty"`
	State  map[string]uint64 `json:"state,omitempty"`
	Queues [][3]int          `json:"queues,omitempty"` // by port*vcs+vc: room, occupancy, credits
	Random uint64            `json:"random,omitempty"`
	Now    weft.Time         `json:"now,omitempty"` // picoseconds
}

type header struct {
	Dst       weft.NICID  `json:"dst"`
	Number    *uint32     `json:"number,omitempty"` // that the digits of dst make, in a tree
	Src       *weft.NICID `json:"src,omitempty"`
	Seq       uint64      `json:"seq,omitempty"`
	Size      uint32      `json:"size,omitempty"`
	Hops      uint16      `json:"hops,omitempty"`
	Reroutes  uint16      `json:"reroutes,omitempty"`
	PortField *int16      `json:"port_field,omitempty"`
	Misroute  uint64      `json:"misroute,omitempty"`
	Path      uint16      `json:"path,omitempty"`
	Layers    uint16      `json:"layers,omitempty"`
	Route     string      `json:"route,omitempty"`
	Sub       string      `json:"sub,omitempty"`
}

// question is the question about k.
func (p *Process) question(k *switching.Ask) question {
	h, view, at := &k.Packet, k.View, k.View.Place()
	q := question{
		InPort: k.At.Port, From: cameFrom[k.At.From], VC: k.At.VC, VCs: view.VCs(), Dead: deadPorts(view),
		Header: header{
			Dst: h.Dst, Misroute: h.Misroute, Path: h.Path, Layers: h.Layers,
			Route: h.Route.String(), Sub: h.Sub.String(),
		},
	}
	if h.PortField != weft.PortFieldNone {
		q.Header.PortField = &h.PortField
	}
	if t := at.Tree; t != nil {
		q.Header.Number = new(t.Number(h.Dst))
	}
	if !p.Firmware.DestinationBased {
		q.Header.Src, q.Header.Seq, q.Header.Size = &h.Src, h.Seq, h.Size
		q.Header.Hops, q.Header.Reroutes = h.Hops, h.Reroutes
	}
	q.State = make(map[string]uint64, len(p.hello.Registers))
	for i, r := range p.hello.Registers {
		q.State[r.Name] = view.Register(i)
	}
	if p.Firmware.Reads.Queues {
		for i := range weft.PortID(at.Ports()) {
			for vc := range weft.VC(view.VCs()) {
				q.Queues = append(q.Queues, [3]int{view.Room(i, vc), view.Occupancy(i, vc), view.Credits(i, vc)})
			}
		}
	}
	if p.Firmware.Reads.Draw {
		q.Random = view.Draw()
	}
	if p.Firmware.Reads.Now {
		q.Now = view.Now()
	}
	return q
}

// cameFrom says where a packet came from, as fabricd explain does.
var cameFrom = map[weft.Role]string{
	weft.RoleUp: "above", weft.RoleDown: "below", weft.RoleNIC: "nic", weft.RolePeer: "peer",
}

// deadPorts are the ports that lead somewhere by a link that is dead.
func deadPorts(v switching.View) (list []weft.PortID) {
	for i, role := range v.Place().Roles {
		if role != weft.RoleNone && !v.PortUp(weft.PortID(i)) {
			list = append(list, weft.PortID(i))
		}
	}
	return list
}

type answer struct {
	Candidates []candidate       `json:"candidates"`
	Rule       string            `json:"rule"`
	Turn       string            `json:"turn"`
	Notify     bool              `json:"notify"`
	Writes     map[string]uint64 `json:"writes"`
}

type candidate struct {
	Port   int     `json:"port"`
	VC     int     `json:"vc"`
	Class  int     `json:"class"`
	Need   int     `json:"need"`
	Fields *fields `json:"fields"`
}

// fields are those that change.
type fields struct {
	PortField *int    `json:"port_field"`
	Misroute  *uint64 `json:"misroute"`
	Path      *int    `json:"path"`
	Layers    *int    `json:"layers"`
	Route     *string `json:"route"`
	Sub       *string `json:"sub"`
}
