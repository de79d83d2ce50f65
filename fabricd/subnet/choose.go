package subnet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Entry describes one way of routing that can be chosen by name: a firmware, with its tables if it
// needs any.
type Entry struct {
	Name      string
	About     string         // one line
	On        firmware.Shape // the topologies it routes
	Keys      []Key          // what can follow the name, as "updn:layers=2,tree=dfs"
	Tolerance firmware.Tolerance
	// New makes it for a topology, and says how many virtual channels it needs at least there. New
	// and Around compute the tables, if there are any, unless ctx ends before.
	New func(ctx context.Context, g *topology.Graph) (fw firmware.Firmware, vcs int, err error)
	// Around makes it as the static fault model has it: for a topology in which these links and
	// switches are dead, which is known when it is computed. Pairs that it knows no way for are
	// discarded by their first switch. nil: it is the same whatever is dead.
	Around func(ctx context.Context, g *topology.Graph, dead *Dead) (fw firmware.Firmware, vcs int, err error)
	// Mechanisms are those by which ways around what is dead are computed; nil: there are no such
	// ways.
	Mechanisms *direct.Mechanisms
	// Direct is the firmware, of routings by rules that take options in meshes and tori; else nil.
	Direct *firmware.Direct
	// with is the entry with options of that text, under that name.
	with func(name, options string) (Entry, error)
	// Routes computes what it forwards by, unless ctx ends before; nil: it has no tables.
	Routes func(ctx context.Context, g *topology.Graph) (*layered.Routing, error)
}

// EntryResult is an entry in words, for lists.
type EntryResult struct {
	Name  string   `json:"name"`
	About string   `json:"about"`          // one line
	Keys  []string `json:"keys,omitempty"` // names of the options
}

// Result is the entry in words.
func (e Entry) Result() EntryResult {
	r := EntryResult{Name: e.Name, About: e.About}
	for _, k := range e.Keys {
		r.Keys = append(r.Keys, k.Name)
	}
	return r
}

// None is the name of the firmware that forwards nothing.
const None = "none"

// Entries lists what can be chosen, by name; None is not among them.
func Entries() []Entry {
	entries := []Entry{{
		Name: "deterministic-table", On: firmware.Trees, Tolerance: firmware.Tolerance{Links: true},
		About: "fat trees: deterministic-link by forwarding tables (Algorithm 1)",
		New:   newDeterministicTable, Routes: tableRoutes,
	}}
	entries = append(append(entries, hybrids()...), sourcePaths())
	for _, f := range firmware.All() {
		entries = append(entries, withDirectOptions(Plain(f)))
	}
	for _, e := range engines() {
		entries = append(entries, e.entry())
	}
	for _, s := range sources {
		if s.Syntax == "" {
			entries = append(entries, s.entry())
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

// Plain is the entry of a firmware without tables, one of a user's own too.
func Plain(fw firmware.Firmware) Entry {
	return Entry{
		Name: fw.Name, About: fw.About, On: fw.On, Tolerance: fw.Tolerance,
		New: func(_ context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
			vcs := LeastVCs(fw, g)
			if err := misfit(fw, g); vcs == 0 && err != nil {
				return firmware.Firmware{}, 0, err
			}
			return fw, max(fw.NeedsVCs(), vcs), nil
		},
	}
}

func newDeterministicTable(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
	tables, err := Algorithm1(ctx, g, nil)
	if err != nil {
		return firmware.Firmware{}, 0, instead(named("deterministic-table", err), g)
	}
	return firmware.DeterministicTable{Tables: tables}.Firmware(), tables.VCs(), nil
}

// Names lists the names of Entries.
func Names() []string {
	var names []string
	for _, e := range Entries() {
		names = append(names, e.Name)
	}
	return names
}

// ByName finds what can be chosen, None, FromFiles and FromManager too. Options follow the name of
// those that take some: "updn:layers=2,tree=dfs". The error for an unknown name or option holds the
// nearest known one, and that for a value says what is expected.
func ByName(name string) (Entry, error) {
	if name == None {
		return Plain(firmware.None()), nil
	}
	if spec, ok := filesSpec(name); ok {
		return filesEntry(name, spec), nil
	}
	if IsFromManager(name) {
		return managerEntry(name)
	}
	head, options, given := strings.Cut(name, ":")
	if s, ok := sourceOf(head); ok {
		if given && options == "" && s.Syntax == "" {
			return Entry{}, fmt.Errorf("firmware %s: nothing follows the colon: leave it out", head)
		}
		return s.entry().with(name, options)
	}
	entries := Entries()
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == head })
	switch {
	case i < 0:
		return Entry{}, document.Unknown("routing", name, allNames())
	case !given:
		return entries[i], nil
	}
	if entries[i].with == nil {
		return Entry{}, fmt.Errorf("firmware %s takes no options, found %q", head, options)
	}
	e, err := entries[i].with(name, options)
	return e, named(head, err)
}

// Known reports whether a name, without its options, is one that [ByName] finds.
func Known(name string) bool {
	head, _, _ := strings.Cut(name, ":")
	return slices.Contains(allNames(), head)
}

// allNames are those that ByName finds, without options.
func allNames() []string { return append(append(Names(), None, FromFiles, FromManager), kinds()...) }

// named says which routing an error is about.
func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("firmware %s: %w", name, err)
	}
	return nil
}

// Firmware makes the firmware of that name for a topology, and says how many virtual channels it
// needs at least. It is the one place where names become firmwares. Errors are an unknown name, a
// topology of another shape, and one for which no tables can be computed; whether a firmware
// without tables can run there, its Check says.
func Firmware(ctx context.Context, name string, g *topology.Graph) (fw firmware.Firmware, vcs int, err error) {
	e, err := ByName(name)
	if err != nil {
		return fw, 0, err
	}
	return e.New(ctx, g)
}

// LeastVCs is the least number of virtual channels with which f runs in every switch of g, 0 when
// there is none.
func LeastVCs(f firmware.Firmware, g *topology.Graph) int {
	for vcs := f.NeedsVCs(); vcs <= weft.MaxVCs; vcs++ {
		unfit := func(s topology.Switch) bool { return f.Fits(g.Place(s.ID), vcs) != nil }
		if !slices.ContainsFunc(g.Switches, unfit) {
			return vcs
		}
	}
	return 0
}
