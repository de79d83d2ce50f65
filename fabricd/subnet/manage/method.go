package manage

import (
	"fmt"
	"slices"
	"strings"

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
	Engine = "engine" // the engine again, on what is left
)

// Method is how routes are repaired. The zero value is none.
type Method struct {
	Kind    string            // one of the names above but Auto
	Engine  string            // with Engine: its name; empty: the routing's own
	Options map[string]string // with DQR: those that were given
}

// Entry describes a method.
type Entry struct {
	Name, About string
}

// Entries lists the methods, in the order help shows them.
func Entries() []Entry {
	return []Entry{
		{DDRC, "fat trees: up/down routes without what is dead (DDRC)"},
		{DQR, "deterministic tables of any topology: new paths for the flows that are disconnected, without a deadlock while old packets travel (DQR)"},
		{Engine, "what computed the tables computes them again on what is left; engine:NAME is another"},
		{None, "tables stay as they are"},
	}
}

// dqrValues are the options of dqr with their values; see [dqr.Options].
var dqrValues = []struct {
	key    string
	values []string
}{
	{"path", dqr.PathNames},
	{"turns", dqr.TurnsNames},
	{"layers", dqr.LayersNames},
	{"plugin", []string{None, "mesh"}},
	{"entries", dqr.EntriesNames},
	{"cost", dqr.CostNames},
}

// Syntax says in one line what a method looks like.
func Syntax() string {
	var keys []string
	for _, o := range dqrValues {
		keys = append(keys, o.key+"="+strings.Join(o.values, "|"))
	}
	return DDRC + ", " + DQR + "[:" + strings.Join(keys, ",") + "], " + Engine + "[:NAME], " + None
}

// Words lists what a shell may offer for a method.
func Words() []string {
	words := []string{Auto, DDRC, DQR, Engine, None}
	for _, o := range dqrValues {
		for _, v := range o.values {
			words = append(words, DQR+":"+o.key+"="+v)
		}
	}
	return words
}

// Parse reads a method. Auto is none of them: see [For]. The error for an unknown name, option or value holds the nearest known one.
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
	case DQR:
		options, err := parseOptions(rest, given)
		if err != nil {
			return Method{}, fmt.Errorf("method %s: %w", DQR, err)
		}
		return Method{Kind: DQR, Options: options}, nil
	}
	return Method{}, document.Unknown("method of reconfiguration", head, []string{DDRC, DQR, Engine, None})
}

func parseOptions(text string, given bool) (map[string]string, error) {
	if !given {
		return nil, nil
	}
	var keys []string
	for _, o := range dqrValues {
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
		case !slices.Contains(dqrValues[i].values, value):
			return nil, fmt.Errorf("%s: %w", key, document.Unknown("value", value, dqrValues[i].values))
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
		for _, o := range dqrValues {
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
