package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// resolver turns the names of a listing into nodes and gives out the ports that were not.
type resolver struct {
	doc  *document.Doc
	file file
	errs document.Errors

	switches []Switch
	nics     []NIC
	joined   []Link // as listed, then those of the NICs
	byName   map[string]weft.Node
	names    []string // in the order of the file, for errors
	used     []map[weft.PortID]bool
	nextFree []int // per switch: no port below it is free

	identities map[weft.Node]Identity
	byGUID     map[GUID]string // the name of who has it
}

func (r *resolver) fail(path, format string, args ...any) {
	if !r.errs.Full() { // finding the nearest name and the line takes time
		r.errs.Add(r.doc.Errorf(path, format, args...))
	}
}

func (r *resolver) nodes() {
	r.identities, r.byGUID = map[weft.Node]Identity{}, map[GUID]string{}
	r.byName = make(map[string]weft.Node, len(r.file.Switches)+len(r.file.NICs))
	know := func(name string, n weft.Node) {
		if _, ok := r.byName[name]; !ok { // check reports the second
			r.byName[name] = n
			r.names = append(r.names, name)
		}
	}
	for i, s := range r.file.Switches {
		sw := Switch{Name: s.ID}
		path := fmt.Sprintf("$.switches[%d]", i)
		if s.Ports != nil {
			if sw.Ports = *s.Ports; sw.Ports < 1 || sw.Ports > weft.MaxPorts {
				r.fail(path+".ports", "switch %s: %d ports, expected 1 to %d", nearest.Clip(s.ID), sw.Ports, weft.MaxPorts)
				sw.Ports = 0
			}
		}
		if r.file.Spec == "" && s.Coord != nil {
			r.fail(path, "switch %s: %w", nearest.Clip(s.ID), errOnlyWithSpec)
		}
		r.switches = append(r.switches, sw)
		know(s.ID, weft.SwitchID(i).Node())
		r.guid(path+".guid", s.GUID, s.ID, weft.SwitchID(i).Node())
	}
	for i, n := range r.file.NICs {
		r.nics = append(r.nics, NIC{Name: n.ID})
		know(n.ID, weft.NICID(i).Node())
		r.guid(fmt.Sprintf("$.nics[%d].guid", i), n.GUID, n.ID, weft.NICID(i).Node())
	}
	r.used = make([]map[weft.PortID]bool, len(r.switches))
	for i := range r.used {
		r.used[i] = map[weft.PortID]bool{}
	}
	r.nextFree = make([]int, len(r.switches))
}

// guid notes the GUID of a node.
func (r *resolver) guid(path, text, name string, n weft.Node) {
	if text == "" {
		return
	}
	guid, err := parseGUID(text)
	if err != nil {
		r.fail(path, "%s: %w", nearest.Clip(name), err)
		return
	}
	if other, ok := r.byGUID[guid]; ok {
		r.fail(path, "%s: GUID %v is that of %s, expected one of its own", nearest.Clip(name), guid, nearest.Clip(other))
		return
	}
	r.byGUID[guid] = name
	id := Identity{GUID: guid, PortGUID: guid, Enhanced: true, Description: name}
	if !n.IsSwitch() {
		id.Port, id.Ports = 1, 1
	}
	r.identities[n] = id
}

// links resolves all ends first, so that no port is given out that is asked for further down.
func (r *resolver) links() {
	nicLink := make(map[weft.Node]int, len(r.nics))
	for i, l := range r.file.Links {
		path := fmt.Sprintf("$.links[%d]", i)
		a := r.end(path+".a", l.A, l.APort)
		b := r.end(path+".b", l.B, l.BPort)
		r.joined = append(r.joined, Link{A: a, B: b})
		nicLink[a.Node], nicLink[b.Node] = i, i
	}
	for i, n := range r.file.NICs {
		path := fmt.Sprintf("$.nics[%d].switch", i)
		switch {
		case n.Switch == "" && n.SwitchPort != nil:
			r.fail(path, "NIC %s: switch_port without switch", nearest.Clip(n.ID))
			continue
		case n.Switch == "":
			continue
		}
		e := r.end(path, n.Switch, n.SwitchPort)
		if e.Node.Kind == weft.KindNIC {
			r.fail(path, "NIC %s: %s is a NIC, expected a switch", nearest.Clip(n.ID), nearest.Clip(n.Switch))
			continue
		}
		nic := r.byName[n.ID]
		at, ok := nicLink[nic]
		if !ok {
			r.joined = append(r.joined, Link{A: e, B: weft.End{Node: weft.NICID(i).Node()}})
			continue
		}
		other := r.joined[at].Other(nic)
		if e.Node.Kind != 0 && (other.Node != e.Node || e.Port != weft.NoPort && other.Port != e.Port) {
			r.fail(path, "NIC %s: switch differs from that of its link at %v", nearest.Clip(n.ID),
				r.doc.At(fmt.Sprintf("$.links[%d]", at)))
		}
	}
	if r.errs.Len() > 0 {
		return
	}
	for i := range r.joined {
		r.assign(func() string { return r.file.linkPath(i) }, &r.joined[i].A)
		r.assign(func() string { return r.file.linkPath(i) }, &r.joined[i].B)
	}
}

// end resolves a name and the port, if any. The zero End is a name that is not known, which has
// been reported.
func (r *resolver) end(path, name string, port *int) weft.End {
	n, ok := r.byName[name]
	if !ok {
		if !r.errs.Full() {
			r.fail(path, "%w", document.Unknown("switch or NIC", name, r.names))
		}
		return weft.End{}
	}
	e := weft.End{Node: n, Port: weft.NoPort}
	switch {
	case !n.IsSwitch() && port != nil && *port != 0:
		r.fail(path+"_port", "port %d of NIC %s, expected 0, its only port", *port, nearest.Clip(name))
	case !n.IsSwitch():
		e.Port = 0
	case port == nil:
	case *port < 0 || *port >= weft.MaxPorts:
		r.fail(path+"_port", "port %d of %s, expected 0 to %d", *port, nearest.Clip(name), weft.MaxPorts-1)
	default:
		e.Port = weft.PortID(*port)
		r.used[n.Index][e.Port] = true
	}
	return e
}

// assign gives an end without a port the lowest free one.
func (r *resolver) assign(path func() string, e *weft.End) {
	if e.Port != weft.NoPort {
		return
	}
	s := e.Node.Index
	most := r.switches[s].Ports
	most = cmp.Or(most, weft.MaxPorts)
	p := r.nextFree[s]
	for p < most && r.used[s][weft.PortID(p)] {
		p++
	}
	r.nextFree[s] = p + 1
	if p >= most {
		r.nextFree[s] = most
		if !r.errs.Full() {
			r.fail(path(), "no free port on switch %s, which has %d", r.switches[s].Name, most)
		}
		return
	}
	e.Port = weft.PortID(p)
}

// checkIDs holds the ids of links against the names they have.
func (r *resolver) checkIDs(g *Graph) {
	for i, l := range r.file.Links {
		at := g.Links[i]
		reverse := g.linkName(at.B, at.A, at.Name != g.linkName(at.A, at.B, false))
		if l.ID != "" && l.ID != at.Name && l.ID != reverse {
			r.fail(fmt.Sprintf("$.links[%d].id", i), "link id %s, expected %s, or no id", nearest.Clip(l.ID), at.Name)
		}
	}
}

// checkTiers holds tiers and digits of switches against those that follow from the links.
func (r *resolver) checkTiers(g *Graph) {
	for i, s := range r.file.Switches {
		path, is := fmt.Sprintf("$.switches[%d]", i), g.Switches[i]
		switch {
		case s.Tier == nil && s.Digits == nil:
		case g.noTree != nil:
			r.fail(path, "switch %s: %w: %w", nearest.Clip(s.ID), errOnlyWithSpec, g.noTree)
			return
		case s.Tier != nil && *s.Tier != int(is.Tier), s.Digits != nil && !slices.Equal(s.Digits, is.Digits):
			r.fail(path,
				"switch %s: by the links it is in tier %d and has the digits %v: correct tier and digits, or leave them out",
				nearest.Clip(s.ID), is.Tier, is.Digits)
		}
	}
}
