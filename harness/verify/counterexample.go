package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
)

// Counterexample is the smallest case found in which something is wrong.
type Counterexample struct {
	What   string   `json:"what"`          // unconnected, livelock, deadlock, numbering
	Faults []string `json:"faults"`        // links and switches
	Src    string   `json:"src,omitempty"` // the NIC that sends the packet; empty for a deadlock
	Dst    string   `json:"dst,omitempty"` // the NIC that it is for
	Ends   string   `json:"ends"`          // how it ends, in words
	Path   []Step   `json:"path,omitempty"`
	// Again is the step of the path that a livelock comes back to, -1 for none.
	Again int `json:"again"`
	// Others: registers hold what other packets have written, and without that nothing goes wrong
	// with these faults.
	Others bool `json:"others,omitempty"`
	// Channels wait for each other in a deadlock, each for the next and the last for the first.
	Channels []string `json:"channels,omitempty"`
	// Pairs send the packets of a deadlock: for each of the channels one whose packets can be in it
	// and want the next.
	Pairs []Pair `json:"pairs,omitempty"`

	// Routings names the switches that run the second routing of a mixture, with its name; the others
	// run the first. Of a packet's path, what the switches run at which it matters.
	Routings map[string]string `json:"routings,omitempty"`

	From, To weft.NICID // Src and Dst by number
}

// Step is one decision on the way of a packet.
type Step struct {
	Switch string      `json:"switch"`
	In     string      `json:"in"` // the neighbour it came from
	InPort weft.PortID `json:"in_port"`
	VC     weft.VC     `json:"vc"`
	Fields weft.Fields `json:"fields"`
	Dead   []string    `json:"dead,omitempty"`      // faults in force at this moment, when faults move
	Regs   []uint64    `json:"registers,omitempty"` // as the rule found them; empty if it has nothing to do with them
	Rule   string      `json:"rule"`
	Out    string      `json:"out,omitempty"` // the neighbour it goes to; empty when it ends here
	Port   weft.PortID `json:"out_port"`
	OutVC  weft.VC     `json:"out_vc"`
	After  weft.Fields `json:"fields_after"`
	Ways   int         `json:"ways"` // how many candidates there were
	// Routing is, in a mixture, what the switch runs, where it matters to this packet.
	Routing string        `json:"routing,omitempty"`
	ID      weft.SwitchID `json:"-"`
}

// String prints the counterexample for people, over several lines. A result that holds has none:
// nil prints "no counterexample".
func (c *Counterexample) String() string {
	if c == nil {
		return "no counterexample\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %s dead", c.What, orNothing(c.Faults))
	if c.Src != "" {
		fmt.Fprintf(&b, ", %s to %s", c.Src, c.Dst)
	}
	b.WriteString(":\n")
	for i, s := range c.Path {
		mark := "   "
		if i == c.Again {
			mark = ">> "
		}
		fmt.Fprintf(&b, "%s%2d  %s from %s %v%s  (%s)", mark, i+1, s.Switch, s.In, s.VC, fieldsText(s.Fields), s.Rule)
		if len(s.Dead) > 0 {
			fmt.Fprintf(&b, " [dead: %s]", strings.Join(s.Dead, ", "))
		}
		for j, r := range s.Regs {
			if r != 0 {
				fmt.Fprintf(&b, " [register %d: %b]", j, r)
			}
		}
		if s.Routing != "" {
			fmt.Fprintf(&b, " [%s]", s.Routing)
		}
		if s.Out != "" {
			fmt.Fprintf(&b, " -> %s %v%s", s.Out, s.OutVC, fieldsText(s.After))
			if s.Ways > 1 {
				fmt.Fprintf(&b, ", one of %d", s.Ways)
			}
		}
		b.WriteByte('\n')
	}
	if c.Others {
		b.WriteString("    the registers hold what other packets have written\n")
	}
	for _, ch := range c.Channels {
		fmt.Fprintf(&b, "    %s\n", ch)
	}
	for _, sw := range slices.Sorted(maps.Keys(c.Routings)) {
		fmt.Fprintf(&b, "    %s runs %s\n", sw, c.Routings[sw])
	}
	for i, p := range c.Pairs {
		fmt.Fprintf(&b, "%s%s to %s", [...]string{"    packets from ", ", "}[min(i, 1)], p.Src, p.Dst)
		if i == len(c.Pairs)-1 {
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "    %s\n", c.Ends)
	return b.String()
}

func fieldsText(f weft.Fields) (text string) {
	if f.PortField != weft.PortFieldNone {
		text += fmt.Sprintf(" port field %d", f.PortField)
	}
	if f.Path != 0 {
		text += fmt.Sprintf(" path %d", f.Path)
	}
	if f.Layers != 0 {
		text += fmt.Sprintf(" layers %b", f.Layers)
	}
	if f.Misroute != 0 {
		text += fmt.Sprintf(" vector %b", f.Misroute)
	}
	if f.Route.Len() > 0 {
		text += " route " + f.Route.String()
	}
	if f.Sub.Len() > 0 {
		text += " sub-headers " + f.Sub.String()
	}
	return text
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
