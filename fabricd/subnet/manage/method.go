package manage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
)

// The methods, by name.
const (
	None   = "none"   // nobody manages: tables stay as they are
	Auto   = "auto"   // chosen by the routing, see [For]
	DDRC   = "ddrc"   // fat trees: up/down tables without what is dead
	DQR    = "dqr"    // any deterministic tables: new paths for the flows that are disconnected, as a channel list allows
	Direct = "direct" // meshes and tori: what NICs write into packets, so that these go around what is dead
	Engine = "engine" // the engine again, on what is left
)

// When method direct replaces what NICs write.
const (
	Static  = "static"  // while the fabric is empty, as the paper has it
	Dynamic = "dynamic" // while packets travel, an extension of ours
)

// Method is how routes are repaired. The zero value is none.
type Method struct {
	Kind    string            // one of the names above but Auto
	Engine  string            // with Engine: its name; empty: the routing's own
	Options map[string]string // with DQR and Direct: those that were given
}

// Entry describes a method.
type Entry struct {
	Name, About string
}

// Entries lists the methods, in the order help shows them.
func Entries() []Entry {
	return []Entry{
		{DDRC, "fat trees: up/down routes without what is dead (DDRC)"},
		{DQR, "deterministic tables of any topology: new paths for the flows that are disconnected, without a deadlock " +
			"while old packets travel (DQR)"},
		{Direct, "meshes and tori: NICs send by intermediate nodes, with adaptive routing off and with misroutes around " +
			"what is dead; mode=static empties the fabric first, mode=dynamic does not (our extension)"},
		{Engine, "what computed the tables computes them again on what is left; engine:NAME is another"},
		{None, "tables stay as they are"},
	}
}

// SpareNames are the values of option spare of dqr, with entries by destination: whether flows may
// move to virtual channels that nothing else uses where the upload would else need an empty fabric,
// or a pair have no path. See [dqr.Reconfiguration.MoveAside].
var SpareNames = []string{"use", "leave"}

// mostSpare is how many virtual channels are enough for that.
const mostSpare = 2

// Spare is how many virtual channels beyond those of the routing the method makes use of.
func (m Method) Spare() int {
	if m.Kind != DQR || m.Options["entries"] != dqr.EntriesNames[dqr.ByDestination] ||
		m.Options["spare"] == SpareNames[1] {
		return 0
	}
	return mostSpare
}

// VCs is how many virtual channels a fabric has that is not told how many, and whose routing needs
// so many.
func (m Method) VCs(need int) int { return min(need+m.Spare(), weft.MaxVCs) }

// option is an option of a method with its values.
type option struct {
	key    string
	values []string
}

// optionsOf are the options of methods, by method: of dqr see [dqr.Options].
var optionsOf = map[string][]option{
	DQR: {
		{"path", dqr.PathNames},
		{"turns", dqr.TurnsNames},
		{"layers", dqr.LayersNames},
		{"plugin", []string{None, "mesh"}},
		{"entries", dqr.EntriesNames},
		{"cost", dqr.CostNames},
		{"revisit", dqr.RevisitNames},
		{"spare", SpareNames},
	},
	Direct: {{"mode", []string{Static, Dynamic}}},
}

// Syntax says in one line what a method looks like.
func Syntax() string {
	options := func(kind string) string {
		var keys []string
		for _, o := range optionsOf[kind] {
			keys = append(keys, o.key+"="+strings.Join(o.values, "|"))
		}
		return kind + "[:" + strings.Join(keys, ",") + "]"
	}
	return DDRC + ", " + options(DQR) + ", " + options(Direct) + ", " + Engine + "[:NAME], " + None
}

// Words lists what a shell may offer for a method.
func Words() []string {
	words := []string{Auto, DDRC, DQR, Direct, Engine, None}
	for _, kind := range []string{DQR, Direct} {
		for _, o := range optionsOf[kind] {
			for _, v := range o.values {
				words = append(words, kind+":"+o.key+"="+v)
			}
		}
	}
	return words
}

// Parse reads a method. Auto is none of them: see [For]. The error for an unknown name, option or
// value holds the nearest known one.
func Parse(text string) (Method, error) {
	head, rest, given := strings.Cut(text, ":")
	switch head {
	case DDRC, None:
		if given {
			return Method{}, fmt.Errorf("method %s takes no options, found %q", head, rest)
		}
		return Method{Kind: head}, nil
	case Engine:
		if given {
			if _, err := subnet.ByName(rest); err != nil {
				return Method{}, fmt.Errorf("method %s: %w", text, err)
			}
		}
		return Method{Kind: Engine, Engine: rest}, nil
	case DQR, Direct:
		options, err := parseOptions(rest, given, optionsOf[head])
		if err != nil {
			return Method{}, fmt.Errorf("method %s: %w", head, err)
		}
		return Method{Kind: head, Options: options}, nil
	}
	return Method{}, document.Unknown("method of reconfiguration", head, []string{DDRC, DQR, Direct, Engine, None})
}

func parseOptions(text string, given bool, known []option) (map[string]string, error) {
	if !given {
		return nil, nil
	}
	var keys []string
	for _, o := range known {
		keys = append(keys, o.key)
	}
	options := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(field, "=")
		i := slices.Index(keys, key)
		switch _, twice := options[key]; {
		case i < 0:
			return nil, document.Unknown("option", key, keys)
		case twice:
			return nil, fmt.Errorf("option %s is given twice", key)
		case !slices.Contains(known[i].values, value):
			return nil, fmt.Errorf("%s: %w", key, document.Unknown("value", value, known[i].values))
		}
		options[key] = value
	}
	return options, nil
}

// String is what Parse reads.
func (m Method) String() string {
	switch {
	case m.Kind == "":
		return None
	case m.Engine != "":
		return m.Kind + ":" + m.Engine
	case len(m.Options) > 0:
		var list []string
		for _, o := range optionsOf[m.Kind] {
			if v, ok := m.Options[o.key]; ok {
				list = append(list, o.key+"="+v)
			}
		}
		return m.Kind + ":" + strings.Join(list, ",")
	}
	return m.Kind
}

// On reports whether it does anything.
func (m Method) On() bool { return m.Kind != "" && m.Kind != None }

// Dynamic reports whether method direct replaces what NICs write while packets travel.
func (m Method) Dynamic() bool { return m.Kind == Direct && m.Options["mode"] == Dynamic }
