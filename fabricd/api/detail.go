package api

import (
	"fmt"
	"net/http"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	switching "github.com/weft-fabric/weft/switch"
)

// SwitchState is a switch in the list of all.
type SwitchState struct {
	I       int    `json:"i"`
	ID      string `json:"id"`
	State   string `json:"state" jsonschema:"enum=up,enum=down,enum=suspect"`
	Held    int    `json:"held" jsonschema_description:"Packets inside."`
	Blocked int    `json:"blocked" jsonschema_description:"Of them, those that wait for room."`
	Counts  Counts `json:"counts"`
	Vector  string `json:"vector,omitempty" jsonschema_description:"Registers that are not zero, as p0.1: 0b10."`
	Tables  uint64 `json:"tables,omitempty" jsonschema_description:"Version of the tables that it forwards by; none where its firmware decides by rules alone."`
}

// Counts are packets since the start.
type Counts struct {
	Received  uint64 `json:"received"`
	Forwarded uint64 `json:"forwarded"`
	Rerouted  uint64 `json:"rerouted"`
	UTurns    uint64 `json:"u_turns"`
	Discarded uint64 `json:"discarded"`
	LostQueue uint64 `json:"lost_queued"`
	LostCrash uint64 `json:"lost_crash"`
	Requeued  uint64 `json:"requeued"`
}

func counts(s switching.Stats) Counts {
	return Counts{s.Received, s.Forwarded, s.Rerouted, s.UTurns, s.Discarded, s.LostQueue, s.LostCrash, s.Requeued}
}

// SwitchDetail is all about one switch.
type SwitchDetail struct {
	SwitchState
	Tier      *int              `json:"tier,omitempty" jsonschema_description:"In a tree, 0 at the top."`
	Digits    []int             `json:"digits,omitempty"`
	Coord     []int             `json:"coord,omitempty"`
	Routing   string            `json:"routing,omitempty" jsonschema_description:"The firmware that it runs, if it is another than the fabric's."`
	Process   string            `json:"process,omitempty" jsonschema_description:"The process that is this switch, if it is one of its own."`
	Ports     []PortView        `json:"ports"`
	Registers []RegisterView    `json:"registers"`
	Discards  map[string]uint64 `json:"discards" jsonschema_description:"Packets, by rule."`
	Waiting   []WaitingView     `json:"waiting" jsonschema_description:"Packets that wait for room, at most 64."`
	Table     []ForwardingView  `json:"forwarding,omitempty" jsonschema_description:"The forwarding table, where the firmware has one; not with forwarding=false."`
}

// PortView is one port of a switch.
type PortView struct {
	Port     int      `json:"port"`
	Link     string   `json:"link,omitempty" jsonschema_description:"None: it leads nowhere."`
	Peer     string   `json:"peer,omitempty"`
	PeerPort int      `json:"peer_port"`
	State    string   `json:"state" jsonschema_description:"up, down, or init while the ends have not answered each other."`
	Held     bool     `json:"held,omitempty" jsonschema_description:"Damping keeps it down."`
	Sent     uint64   `json:"sent"`
	Received uint64   `json:"received"`
	Lost     uint64   `json:"lost_queued" jsonschema_description:"Packets that were queued here when the link died."`
	VCs      []VCView `json:"vcs"`
}

// VCView is one virtual channel of a port.
type VCView struct {
	VC      int               `json:"vc"`
	Input   int               `json:"input" jsonschema_description:"Packets in the input queue."`
	Output  int               `json:"output" jsonschema_description:"Packets in the output queue."`
	Credits int               `json:"credits" jsonschema_description:"Packets that the neighbour can take."`
	Stalls  map[string]uint64 `json:"stalls" jsonschema_description:"How often a packet began to wait, by reason; those that are zero are left out."`
}

// RegisterView is one register of the firmware.
type RegisterView struct {
	Name    string  `json:"name"`
	Value   string  `json:"value" jsonschema_description:"As 0b0010, with all its bits."`
	Expires float64 `json:"expires_in_s,omitempty" jsonschema_description:"Until it is zeroed, unless it is written before."`
}

// WaitingView is a packet that waits.
type WaitingView struct {
	In   int          `json:"in"`
	InVC int          `json:"in_vc"`
	Src  string       `json:"src"`
	Dst  string       `json:"dst"`
	Seq  uint64       `json:"seq"`
	For  []OutputView `json:"for" jsonschema_description:"The outputs of which any would do."`
}

// OutputView names an output queue.
type OutputView struct {
	Port int `json:"port"`
	VC   int `json:"vc"`
}

// Bounds of one answer, chosen by us.
const (
	maxWaitingShown    = 64
	maxForwardingShown = 8192 // lines
)

func (w *Web) switches(*http.Request) (any, error) {
	f := w.Server.fabric
	g := f.Topology()
	out := make([]SwitchState, len(g.Switches))
	w.sample(func(r *fabric.Reading, sampler *fabric.Sampler) {
		for i := range r.Switches {
			s := &r.Switches[i]
			out[i] = SwitchState{
				i, g.Switches[i].Name, s.State, s.Held, s.Blocked, counts(sampler.Stats(i)), s.Registers,
				f.TableVersion(weft.SwitchID(i)),
			}
		}
	})
	return out, nil
}

func (w *Web) switchDetail(r *http.Request) (any, error) {
	table, err := truth(r, "forwarding")
	if err != nil {
		return nil, err
	}
	d, err := detail(w.Server.fabric, r.PathValue("id"), table)
	if err != nil {
		return nil, notFound(err)
	}
	return d, nil
}

// detail is all about the switch of that name, with its forwarding table when that is wanted.
func detail(f *fabric.Fabric, name string, table bool) (SwitchDetail, error) {
	g := f.Topology()
	id, err := g.SwitchByName(name)
	if err != nil {
		return SwitchDetail{}, err
	}
	sn, s := f.Switch(id), g.Switches[id]
	d := SwitchDetail{
		SwitchState: SwitchState{
			int(id), s.Name, f.SwitchState(id), sn.Held, len(sn.Blocked), counts(sn.Stats),
			fabric.RegisterText(sn.Registers), sn.Version,
		},
		Digits: s.Digits, Coord: s.Coord, Process: f.ProcessOf(id), Routing: f.RoutingOf(id),
		Ports: []PortView{}, Registers: []RegisterView{}, Waiting: []WaitingView{}, Discards: sn.Discards,
	}
	if g.Tiers > 0 {
		d.Tier = new(int(s.Tier))
	}
	for i, p := range sn.Ports {
		d.Ports = append(d.Ports, portView(f, weft.End{Node: id.Node(), Port: weft.PortID(i)}, p))
	}
	for _, v := range sn.Registers {
		rv := RegisterView{Name: v.Name, Value: fmt.Sprintf("0b%0*b", v.Width, v.Value)}
		if v.Expires != weft.Never {
			rv.Expires = max(0, (v.Expires - f.Now()).Duration().Seconds())
		}
		d.Registers = append(d.Registers, rv)
	}
	for _, b := range sn.Blocked[:min(len(sn.Blocked), maxWaitingShown)] {
		d.Waiting = append(d.Waiting, waitingView(f, b))
	}
	if table {
		d.Table = forwarding(f, id)
	}
	return d, nil
}

func portView(f *fabric.Fabric, e weft.End, p switching.PortSnapshot) PortView {
	v := PortView{
		Port: int(e.Port), State: p.State.String(), Held: p.Suppressed, Sent: p.Counters.Sent, Received: p.Counters.Received,
		Lost: p.Lost,
		VCs:  []VCView{},
	}
	if peer, link, ok := f.Topology().Peer(e); ok {
		v.Link, v.Peer, v.PeerPort = f.Topology().Links[link].Name, f.Topology().Name(peer.Node), int(peer.Port)
	}
	for vc, c := range p.VCs {
		view := VCView{VC: vc, Input: c.Input, Output: c.Output, Credits: c.Credits, Stalls: map[string]uint64{}}
		for _, reason := range switching.Stalls() {
			if n := c.Stalls[reason]; n > 0 {
				view.Stalls[reason.String()] = n
			}
		}
		v.VCs = append(v.VCs, view)
	}
	return v
}

func waitingView(f *fabric.Fabric, b switching.Blocked) WaitingView {
	g := f.Topology()
	v := WaitingView{
		In: int(b.In), InVC: int(b.InVC), Src: g.Name(b.Header.Src.Node()), Dst: g.Name(b.Header.Dst.Node()),
		Seq: b.Header.Seq, For: []OutputView{},
	}
	for _, o := range b.For {
		v.For = append(v.For, OutputView{int(o.Port), int(o.VC)})
	}
	return v
}
