package capture

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic/ip"
)

// Text is a sink that prints a line for each packet and mark.
type Text struct {
	out   *bufio.Writer
	graph *topology.Graph
	wires []Interface
	json  bool
}

// NewText prints to w, as JSON lines or for a human, what is captured on the interfaces, links of
// g.
func NewText(w io.Writer, asJSON bool, g *topology.Graph, interfaces []Interface) *Text {
	return &Text{out: bufio.NewWriter(w), graph: g, wires: interfaces, json: asJSON}
}

// Line is a record as JSON.
type Line struct {
	At       time.Time `json:"at"`
	Wire     string    `json:"wire"`  // as s0.00->s1.00
	State    string    `json:"state"` // of the direction
	Mark     string    `json:"mark,omitempty"`
	VC       *int      `json:"vc,omitempty"`
	Src      string    `json:"src,omitempty"`
	Dst      string    `json:"dst,omitempty"`
	Seq      *uint64   `json:"seq,omitempty"`
	Size     uint32    `json:"size,omitempty"`
	Hops     uint16    `json:"hops,omitempty"`
	Reroutes uint16    `json:"reroutes,omitempty"`
	Traced   bool      `json:"traced,omitempty"`
	Carries  int       `json:"carries,omitempty"` // bytes of payload
	IP       string    `json:"ip,omitempty"`      // what it says of itself, as a segment of TCP

	// Routing fields that are not as a packet enters the fabric with them, in the words of fabricd
	// explain.
	PortField *int16 `json:"port_field,omitempty"`
	Misroute  string `json:"misroute,omitempty"` // bits
	Path      uint16 `json:"path,omitempty"`
	Layers    string `json:"layers,omitempty"` // bits
	Route     string `json:"route,omitempty"`
	Sub       string `json:"sub,omitempty"`
}

// fields takes the routing fields of a packet.
func (l *Line) fields(f *weft.Fields) {
	if f.PortField != weft.PortFieldNone {
		l.PortField = new(f.PortField)
	}
	l.Path, l.Route, l.Sub = f.Path, f.Route.String(), f.Sub.String()
	if f.Misroute != 0 {
		l.Misroute = strconv.FormatUint(f.Misroute, 2)
	}
	if f.Layers != 0 {
		l.Layers = strconv.FormatUint(uint64(f.Layers), 2)
	}
}

// Write implements Sink.
func (t *Text) Write(i int, at time.Time, r *Record, _ ...string) error {
	h := &r.Header
	if t.json {
		l := Line{At: at, Wire: t.wires[i].Name, State: r.State.String(), Mark: r.Text}
		if r.Kind == KindPacket {
			l.VC, l.Src, l.Dst, l.Seq, l.Size = new(int(h.VC)), r.SrcName, r.DstName, new(h.Seq), h.Size
			l.Hops, l.Reroutes, l.Traced = h.Hops, h.Reroutes, h.Traced
			l.Carries, l.IP = len(r.Payload), ip.Text(r.Payload)
			l.fields(&h.Fields)
		}
		e := json.NewEncoder(t.out)
		e.SetEscapeHTML(false)
		return e.Encode(l)
	}
	fmt.Fprintf(t.out, "%s  %-16s  ", at.Format("15:04:05.000000"), t.wires[i].Name)
	if r.Kind != KindPacket {
		_, err := fmt.Fprintf(t.out, "-- %s\n", strings.ReplaceAll(r.Text, "\n", "\n   "))
		return err
	}
	fmt.Fprintf(t.out, "%v  %s > %s #%d  %d bytes, %d hops", h.VC, r.SrcName, r.DstName, h.Seq, h.Size, h.Hops)
	if h.Reroutes > 0 {
		fmt.Fprintf(t.out, ", %d rerouted", h.Reroutes)
	}
	if fields := h.Text(t.name); fields != "" {
		fmt.Fprint(t.out, ", ", fields)
	}
	if h.Traced {
		fmt.Fprint(t.out, ", traced")
	}
	if len(r.Payload) > 0 {
		fmt.Fprintf(t.out, ", carries %d bytes", len(r.Payload))
		if text := ip.Text(r.Payload); text != "" {
			fmt.Fprint(t.out, ": ", text)
		}
	}
	if r.State != StateUp {
		fmt.Fprintf(t.out, "  [%v]", r.State)
	}
	_, err := fmt.Fprintln(t.out)
	return err
}

func (t *Text) name(s weft.SwitchID) string { return t.graph.Name(s.Node()) }

// Missed implements Sink.
func (t *Text) Missed(int, uint64) {}

// Flush implements Sink.
func (t *Text) Flush() error { return t.out.Flush() }

// Close implements Sink.
func (t *Text) Close(time.Time, time.Time) error { return t.out.Flush() }
