package fabric

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/wire"
)

// HopView is one event of a traced packet: a switch's decision, its departure from a NIC or, after
// a wait, from a switch, or its end.
type HopView struct {
	N    uint64  `json:"n"` // numbers what is told, from 1 without gaps
	Src  string  `json:"src"`
	Dst  string  `json:"dst"`
	Seq  uint64  `json:"seq"`    // of the packet in its flow
	At   float64 `json:"at"`     // seconds since the fabric started
	Age  float64 `json:"age_us"` // since the packet was generated
	Node string  `json:"node"`   // switch or NIC
	Hops int     `json:"hops"`   // switches that it had crossed before

	In    int `json:"in"` // port; -1: none
	InVC  int `json:"in_vc"`
	Out   int `json:"out"` // port; -1: none
	OutVC int `json:"out_vc"`

	To         string          `json:"to,omitempty"`   // the node that Out leads to
	Link       string          `json:"link,omitempty"` // the link at Out
	Rule       string          `json:"rule,omitempty"` // that decided
	Rerouted   bool            `json:"rerouted,omitempty"`
	Waited     float64         `json:"waited_us,omitempty"` // before the decision; where Left, before it left
	Why        []string        `json:"why,omitempty"`       // it waited: reasons as in the stalls of a switch
	Candidates []CandidateView `json:"candidates,omitempty"`
	Dead       []DeadPort      `json:"dead,omitempty"` // of a decision to reroute or to discard

	// What routing has written into the header on arrival, as "port field p1, misroute 0b10, route
	// p4,p1"; empty: nothing.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	// Left: it left a NIC, or the output queue of a switch that had decided before and where it
	// waited for a credit.
	Egress bool `json:"left,omitempty"`
	Bytes  int  `json:"payload_bytes,omitempty"` // that it carries, of one that left a NIC
	// what that is, a packet of IP, as "TCP 10.64.0.1:49152 > 10.64.0.2:80 seq 1, ack 1"
	Carries string `json:"payload,omitempty"`
	End     string `json:"end,omitempty" jsonschema:"enum=delivered,enum=lost,enum=discarded"`
	Detail  string `json:"detail,omitempty"` // of a packet that was lost: how
	Fault   string `json:"fault,omitempty"`  // in force on Link, as "cut, fault 3"
	Missed  uint64 `json:"missed,omitempty"` // events before this one that the reader was too slow for
}

// CandidateView is a candidate of a decision.
type CandidateView struct {
	Port    int    `json:"port"`
	VC      int    `json:"vc"`
	Class   int    `json:"class"`
	Room    int    `json:"room"`    // packets that its output queue could take
	Credits int    `json:"credits"` // packets that the neighbour could take
	Chosen  bool   `json:"chosen,omitempty"`
	To      string `json:"to,omitempty"`
	Down    bool   `json:"down,omitempty"`
	Fault   string `json:"fault,omitempty"` // in force on its link, when it is down
}

// DeadPort is a port of a switch whose link is down as the switch sees it.
type DeadPort struct {
	Port  int    `json:"port"`
	Link  string `json:"link"`
	Fault string `json:"fault,omitempty"` // in force there
}

// Ends of a packet, as HopView.End names them.
const (
	EndDelivered = "delivered"
	EndLost      = "lost"
	EndDiscarded = "discarded"
)

// hopsPage bounds the views of one call of Hops.
const hopsPage = 256

// Hops returns the events of traced packets after a number, oldest first, at most 256. Last is the
// number to ask for next time; missed counts events that are no longer kept. The newest 4,096 are
// kept. Hops never delays a switch.
func (tr *tracing) Hops(after uint64) (views []HopView, last, missed uint64) {
	tr.findLost()
	list, first, missed := tr.traces.after(after, hopsPage)
	if len(list) == 0 {
		return nil, first - 1, missed
	}
	views = make([]HopView, len(list))
	for i := range list {
		views[i] = tr.viewHop(first+uint64(i), &list[i])
	}
	return views, first + uint64(len(list)) - 1, missed
}

// LastHop is the number of the latest hop event.
func (tr *tracing) LastHop() uint64 { return tr.traces.number() }

func (tr *tracing) viewHop(n uint64, e *hopEvent) HopView {
	h := &e.hop.Header
	v := HopView{
		N: n, Src: tr.graph.Name(h.Src.Node()), Dst: tr.graph.Name(h.Dst.Node()), Seq: h.Seq, At: e.at.Duration().Seconds(),
		Age: us(e.at - h.Injected), Hops: int(h.Hops), Node: tr.graph.Name(e.node), Waited: us(e.hop.Waited),
	}
	v.In, v.Out = -1, -1
	if e.hop.In != weft.NoPort {
		v.In, v.InVC = int(e.hop.In), int(e.hop.InVC)
	}
	if e.hop.Out != weft.NoPort {
		v.Out, v.OutVC = int(e.hop.Out), int(e.hop.OutVC)
		if l, side, ok := tr.linkAt(weft.End{Node: e.node, Port: e.hop.Out}); ok {
			v.Link, v.To = l.Name, tr.graph.Name(l.ends()[1-side].Node)
			v.Fault = tr.faultOn(l)
		}
	}
	switch e.kind {
	case hopDecided:
		tr.viewDecision(&v, e)
	case hopEgress:
		v.Egress, v.Bytes, v.Carries = true, e.carries.Bytes, e.carries.Text
		if e.node.IsSwitch() {
			v.Why = []string{switching.StallNoCredit.String()}
		}
	case hopArrived:
		v.End = EndDelivered
	default:
		v.End, v.Detail, v.Rule = EndLost, e.account.String(), e.rule
		if e.account == weft.Discarded {
			v.End, v.Detail = EndDiscarded, ""
		}
	}
	return v
}

// viewDecision adds what a decision has.
func (tr *tracing) viewDecision(v *HopView, e *hopEvent) {
	v.Rule, v.Rerouted = e.hop.Rule, e.hop.Turned
	for _, s := range switching.Stalls() {
		if e.hop.Why>>s&1 == 1 {
			v.Why = append(v.Why, s.String())
		}
	}
	for _, k := range e.hop.Candidates {
		w := CandidateView{
			Port: int(k.Port), VC: int(k.VC), Class: int(k.Class), Room: int(k.Room),
			Credits: int(k.Credits), Chosen: k.Chosen, Down: k.Down,
		}
		if l, side, ok := tr.linkAt(weft.End{Node: e.node, Port: k.Port}); ok {
			w.To = tr.graph.Name(l.ends()[1-side].Node)
			if k.Down {
				w.Fault = tr.faultOn(l)
			}
		}
		v.Candidates = append(v.Candidates, w)
	}
	if e.hop.Turned || e.hop.Out == weft.NoPort {
		v.Dead = tr.deadPorts(e.node)
	}
	v.Before = e.hop.Before.Text(tr.switchName)
	if e.hop.Out == weft.NoPort {
		v.End = EndDiscarded
	} else {
		v.After = e.hop.After.Text(tr.switchName)
	}
}

// deadPorts are the ports of a switch that are down now, a moment after its decision.
func (tr *tracing) deadPorts(n weft.Node) (list []DeadPort) {
	for p := range tr.graph.Switches[n.Index].Ports {
		if l, side, ok := tr.linkAt(weft.End{Node: n, Port: weft.PortID(p)}); ok && !tr.view(l).Up[side] {
			list = append(list, DeadPort{Port: p, Link: l.Name, Fault: tr.faultOn(l)})
		}
	}
	return list
}

// InMemory reports whether the links are inside this process, where no other process can listen.
func (rd *reader) InMemory() bool {
	return rd.live == nil || rd.opts.Transport.Enforcement() == wire.EnforcedInProcess
}

// us is t in microseconds.
func us(t weft.Time) float64 { return float64(t.Duration().Nanoseconds()) / 1e3 }
