package subnet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Entry describes one way of routing that can be chosen by name: a firmware, with its tables if it needs any.
type Entry struct {
	Name  string
	About string // one line
	Bears firmware.Bears
	// New makes it for a topology, and says how many virtual channels it needs at least there.
	New func(g *topology.Graph) (fw firmware.Firmware, vcs int, err error)
	// Routes computes what it forwards by; nil: it has no tables.
	Routes func(g *topology.Graph) (*layered.Routing, error)
}

// None is the name of the firmware that forwards nothing.
const None = "none"

// Entries lists what can be chosen, by name; None is not among them.
func Entries() []Entry {
	entries := []Entry{{
		Name: "deterministic-table", Bears: firmware.Bears{Links: true}, New: newDeterministicTable, Routes: tableRoutes,
		About: "fat trees: deterministic-link by forwarding tables (Algorithm 1)",
	}}
	for _, e := range firmware.Entries() {
		entries = append(entries, Plain(e))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

// Plain is the entry of a firmware without tables, one of a user's own too.
func Plain(e firmware.Entry) Entry {
	return Entry{Name: e.Name, About: e.About, Bears: e.Bears, New: func(g *topology.Graph) (firmware.Firmware, int, error) {
		fw := e.New()
		return fw, max(e.VCs, LeastVCs(fw, g)), nil
	}}
}

func newDeterministicTable(g *topology.Graph) (firmware.Firmware, int, error) {
	tables, err := Algorithm1(g, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("firmware deterministic-table: %w", err)
	}
	return firmware.DeterministicTable{Tables: tables}, tables.VCs(), nil
}

// Names lists the names of Entries.
func Names() []string {
	var names []string
	for _, e := range Entries() {
		names = append(names, e.Name)
	}
	return names
}

// ByName finds what can be chosen, None too. The error for an unknown name holds the nearest known one.
func ByName(name string) (Entry, error) {
	if name == None {
		return Entry{Name: None, About: "forwards nothing: every packet is discarded", New: newNone}, nil
	}
	if e, ok := hackEngine(name); ok {
		return e, nil
	}
	entries := Entries()
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i], nil
	}
	return Entry{}, document.Unknown("firmware", name, append(Names(), None))
}

func newNone(*topology.Graph) (firmware.Firmware, int, error) { return firmware.None{}, 1, nil }

// Firmware makes the firmware of that name for a topology, and says how many virtual channels it needs at least. It is the one
// place where names become firmwares. Errors are an unknown name, and a topology for which no tables can be computed; whether
// a firmware without tables can run there, its Check says.
func Firmware(name string, g *topology.Graph) (fw firmware.Firmware, vcs int, err error) {
	e, err := ByName(name)
	if err != nil {
		return nil, 0, err
	}
	return e.New(g)
}

// LeastVCs is the least number of virtual channels with which f runs in every switch of g, 0 when there is none.
func LeastVCs(f firmware.Firmware, g *topology.Graph) int {
	c, ok := f.(firmware.Checker)
	if !ok {
		return 1
	}
	for vcs := 1; vcs <= weft.MaxVCs; vcs++ {
		unfit := func(s topology.Switch) bool { return c.Check(g.Place(s.ID), vcs) != nil }
		if !slices.ContainsFunc(g.Switches, unfit) {
			return vcs
		}
	}
	return 0
}
