package capture

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Text is a sink that prints a line for each packet and mark.
type Text struct {
	out   *bufio.Writer
	wires []Interface
	json  bool
}

// NewText prints to w, as JSON lines or for a human.
func NewText(w io.Writer, asJSON bool, interfaces []Interface) *Text {
	return &Text{out: bufio.NewWriter(w), wires: interfaces, json: asJSON}
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
}

// Write implements Sink.
func (t *Text) Write(i int, at time.Time, r *Record, _ ...string) error {
	h := &r.Header
	if t.json {
		l := Line{At: at, Wire: t.wires[i].Name, State: r.State.String(), Mark: r.Text}
		if r.Kind == KindPacket {
			l.VC, l.Src, l.Dst, l.Seq, l.Size = new(int(h.VC)), r.SrcName, r.DstName, new(h.Seq), h.Size
			l.Hops, l.Reroutes, l.Traced = h.Hops, h.Reroutes, h.Traced
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
	if h.Traced {
		fmt.Fprint(t.out, ", traced")
	}
	if r.State != StateUp {
		fmt.Fprintf(t.out, "  [%v]", r.State)
	}
	_, err := fmt.Fprintln(t.out)
	return err
}

// Missed implements Sink.
func (t *Text) Missed(int, uint64) {}

// Flush implements Sink.
func (t *Text) Flush() error { return t.out.Flush() }

// Close implements Sink.
func (t *Text) Close(time.Time, time.Time) error { return t.out.Flush() }
