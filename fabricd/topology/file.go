package topology

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
)

// Read makes the graph of a topology file; see [Load].
func Read(path string) (*Graph, error) {
	data, err := document.Bytes(path)
	if err != nil {
		return nil, err
	}
	return Load(path, data)
}

// Load makes the graph of the topology file with that name and content. One that ends in .net,
// .ibnet or .ibnetdiscover, or looks like what ibnetdiscover prints whatever its name, is a
// topology of InfiniBand: port p of a switch is port p-1 here, each connected port of an adapter is
// a NIC, and names are made of the descriptions as far as they tell nodes apart. Any other is YAML
// or JSON, and has either
//
//	generate: kary-ntree:4,3      # any spec of Kinds
//	remove_links: [s0.00-s1.10]   # if links are missing
//
// or a listing of switches, nics and links:
//
//	switches: [{id: s0, ports: 8}, {id: s1}]
//	nics: [{id: n0, switch: s0}, {id: n1, switch: s1, switch_port: 7}]
//	links: [{a: s0, b: s1}, {a: s0, a_port: 3, b: s1, b_port: 2}]
//
// Every error has the line and says what was expected: unknown names with the nearest known one, a
// port used twice, a NIC with two links or none, a link from a switch to itself, parts that are not
// connected. Errors are collected.
func Load(name string, data []byte) (*Graph, error) {
	if isIBNet(name) || !isDocument(name) && looksIBNet(data) {
		return loadIBNet(name, data)
	}
	doc, f, err := document.Load[file](name, data)
	if err != nil {
		return nil, err
	}
	return build(doc, f)
}

func build(doc *document.Doc, f file) (*Graph, error) {
	if f.Generate != "" {
		return generated(doc, f)
	}
	if len(f.RemoveLinks) > 0 {
		return nil, doc.Errorf("$.remove_links", "remove_links without generate: leave the links out of the listing")
	}
	g, err := listed(doc, f)
	if err != nil {
		return nil, err
	}
	if f.Spec == "" {
		if f.Kind != "" && f.Kind != string(File) {
			return nil, doc.Errorf("$.kind", "kind %s without spec, expected kind file or none", f.Kind)
		}
		return g, nil
	}
	return placed(doc, f, g)
}

// generated makes the graph of a file with generate.
func generated(doc *document.Doc, f file) (*Graph, error) {
	for _, other := range []struct {
		field string
		there bool
	}{
		{"spec", f.Spec != ""},
		{"kind", f.Kind != ""},
		{"switches", f.Switches != nil},
		{"nics", f.NICs != nil},
		{"links", f.Links != nil},
	} {
		if other.there {
			return nil, doc.Errorf("$."+other.field, "%s beside generate, expected nothing but remove_links", other.field)
		}
	}
	g, err := Generate(f.Generate)
	if err != nil {
		return nil, doc.Errorf("$.generate", "%w", err)
	}
	g.Spec = doc.File()
	var errs document.Errors
	gone := make([]bool, len(g.Links))
	for i, name := range f.RemoveLinks {
		if errs.Full() {
			break
		}
		path := fmt.Sprintf("$.remove_links[%d]", i)
		l, err := g.LinkByName(name)
		switch {
		case err != nil:
			errs.Add(doc.Errorf(path, "%w", err))
		case gone[l.ID]:
			errs.Add(doc.Errorf(path, "link %s is removed twice", l.Name))
		case !l.BetweenSwitches():
			errs.Add(doc.Errorf(path, "link %s is the only one of its NIC, expected a link between switches", l.Name))
		default:
			gone[l.ID] = true
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	g.remove(gone)
	g.checkConnected(func(p problem) { errs.Add(doc.Errorf("$.remove_links", "%w", p.err)) })
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// remove takes links away, by id, and numbers the rest anew.
func (g *Graph) remove(gone []bool) {
	kept := g.Links[:0]
	for i, l := range g.Links {
		if gone[i] {
			g.removed = append(g.removed, l.Name)
			continue
		}
		l.ID = weft.LinkID(len(kept))
		kept = append(kept, l)
	}
	g.Links = kept
	g.finish()
}

// placed turns a listing with spec into what the spec makes, less the links that are not listed, so
// that its switches have their places.
func placed(doc *document.Doc, f file, g *Graph) (*Graph, error) {
	base, err := Generate(f.Spec)
	if err != nil {
		return nil, doc.Errorf("$.spec", "%w", err)
	}
	if f.Kind != "" && f.Kind != string(base.Kind) {
		return nil, doc.Errorf("$.kind", "kind %s, expected %s as spec says", f.Kind, base.Kind)
	}
	const advice = "correct it, or take spec away to read the listing as it is"
	if len(g.Switches) != len(base.Switches) || len(g.NICs) != len(base.NICs) {
		return nil, doc.Errorf("$.spec", "%d switches and %d NICs are listed, %s makes %d and %d: %s",
			len(g.Switches), len(g.NICs), f.Spec, len(base.Switches), len(base.NICs), advice)
	}
	var errs document.Errors
	differs := func(path, what string) {
		if !errs.Full() {
			errs.Add(doc.Errorf(path, "%s in %s: %s", what, f.Spec, advice))
		}
	}
	for i, s := range base.Switches {
		if l := f.Switches[i]; s.Name != l.ID || l.Ports != nil && *l.Ports != s.Ports ||
			l.Tier != nil && *l.Tier != int(s.Tier) ||
			l.Digits != nil && !slices.Equal(l.Digits, s.Digits) || l.Coord != nil && !slices.Equal(l.Coord, s.Coord) {
			differs(fmt.Sprintf("$.switches[%d]", i),
				fmt.Sprintf("switch %s, expected %s with %d ports as", l.ID, s.Name, s.Ports))
		}
	}
	for i, n := range base.NICs {
		if g.NICs[i].Name != n.Name {
			differs(fmt.Sprintf("$.nics[%d].id", i), fmt.Sprintf("NIC %s, expected %s as", g.NICs[i].Name, n.Name))
		}
	}
	gone := slices.Repeat([]bool{true}, len(base.Links))
	for i, l := range g.Links {
		end, id, ok := base.Peer(l.A)
		if !ok || end != l.B {
			differs(f.linkPath(i), fmt.Sprintf("link %s, expected a link that is", g.linkName(l.A, l.B, true)))
			continue
		}
		gone[id] = false
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	base.Spec, base.identities = g.Spec, g.identities
	base.remove(gone)
	return base, nil
}

// linkPath is where link i of a listing stands in the file: among the links, or after them, in
// order, at a NIC.
func (f file) linkPath(i int) string {
	if i < len(f.Links) {
		return fmt.Sprintf("$.links[%d]", i)
	}
	return fmt.Sprintf("$.nics[%d].switch", f.nicLinks()[i-len(f.Links)])
}

// nicLinks are the NICs whose link is made by their switch, not listed.
func (f file) nicLinks() []int {
	inLinks := make(map[string]bool, 2*len(f.Links))
	for _, l := range f.Links {
		inLinks[l.A], inLinks[l.B] = true, true
	}
	var nics []int
	for i, n := range f.NICs {
		if n.Switch != "" && !inLinks[n.ID] {
			nics = append(nics, i)
		}
	}
	return nics
}

// listed makes the graph of a listing.
func listed(doc *document.Doc, f file) (*Graph, error) {
	if err := bounds(len(f.Switches), len(f.NICs), add(len(f.Links), len(f.NICs)), 0); err != nil {
		return nil, doc.Errorf("$", "%w", err)
	}
	r := &resolver{doc: doc, file: f}
	r.nodes()
	r.links()
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	g, err := assemble(doc.File(), r.switches, r.nics, r.joined)
	if err != nil {
		return nil, doc.Errorf("$", "%w", err)
	}
	g.identities = r.identities
	report := func(p problem) {
		if r.errs.Full() {
			r.errs.Add(p.err) // only counted
			return
		}
		r.errs.Add(doc.Errorf(f.path(g, p), "%s%w", g.label(p), p.err))
	}
	g.check(report)
	if r.errs.Len() == 0 {
		r.checkIDs(g)
	}
	if r.errs.Len() == 0 {
		g.checkConnected(func(p problem) { r.errs.Add(doc.Errorf(f.path(g, p), "%w", p.err)) })
	}
	if f.Spec == "" && r.errs.Len() == 0 {
		r.checkTiers(g)
	}
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// path is where the part that a problem is about stands in the file.
func (f file) path(g *Graph, p problem) string {
	path, field := "$", p.field
	switch p.part {
	case aSwitch:
		path = fmt.Sprintf("$.switches[%d]", p.index)
	case aNIC:
		path = fmt.Sprintf("$.nics[%d]", p.index)
	case aLink:
		path = f.linkPath(p.index)
		if turned := p.index < len(f.Links) && f.Links[p.index].A != g.Name(g.Links[p.index].A.Node); turned {
			field = map[string]string{"a": "b", "b": "a"}[field]
		}
	}
	if field != "" {
		path += "." + field
	}
	return path
}

var errOnlyWithSpec = errors.New("only a listing with spec has coord, and only that of a tree has tier and digits")
