package explain

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Answer is what comes of one question: a decision, or an error that says why there is none.
type Answer struct {
	File string          `json:"file,omitempty"` // where the question stands; empty for standard input
	Line int             `json:"line,omitempty"` // from 1; 0 when it was not read from a file
	ID   json.RawMessage `json:"id,omitempty"`
	*Decision
	Error string `json:"error,omitempty"`
}

// Decision is what a firmware does with a packet, in the names of the topology.
type Decision struct {
	Switch  string `json:"switch"`
	Routing string `json:"routing"`
	InPort  int    `json:"in_port"`
	In      string `json:"in"`   // the neighbour at InPort
	From    string `json:"from"` // where that is: above, below, nic, or peer in a topology without tiers
	VC      int    `json:"vc"`
	Path    int    `json:"path,omitempty"`   // the address of Dst that it is sent to
	Layers  string `json:"layers,omitempty"` // those that it may move between, as bits
	Sub     string `json:"sub,omitempty"`    // sub-headers, as a question has them
	Dst     string `json:"dst"`

	Candidates []Candidate       `json:"candidates"` // in the order of the firmware; none: the packet is discarded
	Rule       string            `json:"rule"`
	Turn       string            `json:"turn"` // straight, reroute or u-turn
	Discard    bool              `json:"discard"`
	Notify     bool              `json:"notify,omitempty"` // the source may be told of the discard, if notices are on
	Writes     map[string]string `json:"writes,omitempty"` // registers that are written, as bits

	// Asked is what the firmware looked at beside the packet, its arrival and which ports are up,
	// so that the answer may be another when it is another: registers, queues, draw, now.
	Asked []string `json:"asked,omitempty"`
	// Problems are what the firmware must not do and did.
	Problems []string `json:"problems,omitempty"`
}

// Candidate is one way the packet may leave.
type Candidate struct {
	Port   int            `json:"port"`
	To     string         `json:"to"`      // the neighbour
	ToPort int            `json:"to_port"` // the port it arrives at there
	VC     int            `json:"vc"`
	Class  int            `json:"class"`            // lower ones are preferred whenever they have room
	Need   int            `json:"need"`             // free places wanted in the output queue
	Fields map[string]any `json:"fields,omitempty"` // the header's routing fields that change, as a question has them
}

// changed are the routing fields that differ on the way out, in the form in which a question gives
// them.
func changed(before, after weft.Fields, width int) map[string]any {
	if before == after {
		return nil
	}
	fields := map[string]any{}
	if before.PortField != after.PortField {
		fields["port_field"] = after.PortField
	}
	if before.Path != after.Path {
		fields["path"] = after.Path
	}
	if before.Layers != after.Layers {
		fields["layers"] = bits(uint64(after.Layers), 1)
	}
	if before.Misroute != after.Misroute {
		fields["misroute"] = bits(after.Misroute, width)
	}
	if before.Route != after.Route {
		fields["route"] = after.Route.String()
	}
	if before.Sub != after.Sub {
		fields["sub"] = after.Sub.String()
	}
	return fields
}

func turn(t switching.Turn) string {
	switch t {
	case switching.Straight:
		return "straight"
	case switching.Reroute:
		return "reroute"
	case switching.UTurn:
		return "u-turn"
	}
	return fmt.Sprintf("turn %d", t)
}

func from(r weft.Role) string {
	switch r {
	case weft.RoleUp:
		return "above"
	case weft.RoleDown:
		return "below"
	}
	return r.String()
}

func asked(a switching.Asked) (list []string) {
	for _, what := range []struct {
		name string
		did  bool
	}{{"registers", a.Register}, {"queues", a.Queues}, {"draw", a.Draw}, {"now", a.Now}} {
		if what.did {
			list = append(list, what.name)
		}
	}
	return list
}

// String is the answer as people read it, several lines, each ended.
func (d *Decision) String() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	row("switch", "%s, %s", d.Switch, d.Routing)
	where := ""
	if d.From == "above" || d.From == "below" {
		where = " (" + d.From + ")"
	}
	address := ""
	if d.Path != 0 {
		address += fmt.Sprintf(", path %d", d.Path)
	}
	if d.Layers != "" {
		address += ", layers " + d.Layers
	}
	if d.Sub != "" {
		address += ", sub " + d.Sub
	}
	row("packet", "for %s, from %s%s by port %d, vc %d%s", d.Dst, d.In, where, d.InPort, d.VC, address)
	row("rule", "%s", d.Rule)
	if !d.Discard {
		row("step", "%s", d.Turn)
	} else {
		told := ""
		if d.Notify {
			told = ", and its source is told"
		}
		row("goes to", "nowhere: it is discarded%s", told)
	}
	for i, c := range d.Candidates {
		name := ""
		if i == 0 && !d.Discard {
			name = "goes to"
		}
		row(name, "%s", c)
	}
	for _, name := range sortedKeys(d.Writes) {
		row("writes", "%s = %s", name, d.Writes[name])
	}
	if len(d.Asked) > 0 {
		row("looked at", "%s", strings.Join(d.Asked, ", "))
	}
	for _, p := range d.Problems {
		row("PROBLEM", "%s", p)
	}
	return b.String()
}

// String is one way out in one line: "s0.01 by port 5, vc 0".
func (c Candidate) String() string {
	s := fmt.Sprintf("%s by port %d, vc %d", c.To, c.Port, c.VC)
	if c.Class > 0 {
		s += fmt.Sprintf(", class %d", c.Class)
	}
	if c.Need > 1 {
		s += fmt.Sprintf(", needs %d free places", c.Need)
	}
	for _, name := range sortedKeys(c.Fields) {
		s += fmt.Sprintf(", %s = %v", name, c.Fields[name])
	}
	return s
}
