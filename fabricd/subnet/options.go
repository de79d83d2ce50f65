package subnet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Key is an option in the name of a routing, as layers in "updn:layers=2".
type Key struct {
	Name   string
	Values string // that it takes, in words: "a number from 1 to 16"
	About  string
}

// optionKey is a key of options O, and how a value is read; it reports false for one that it does
// not take.
type optionKey[O any] struct {
	Key
	set func(o *O, value string) bool
}

// engineKey is one of an engine.
type engineKey = optionKey[layered.Options]

// maxRounds bounds what a name can make an engine do.
const maxRounds = 1 << 20

var optionKeys = keysByName(
	engineKey{
		Key{
			"layers", fmt.Sprintf("a number from 1 to %d", weft.MaxVCs),
			"so many virtual channels; those that the engine does not need spread the load",
		},
		number(1, weft.MaxVCs, func(o *layered.Options, n int) { o.Layers = n }),
	},
	engineKey{
		Key{"seed", "a number from 0", "of arbitrary choices"},
		func(o *layered.Options, value string) bool {
			n, err := strconv.ParseUint(value, 10, 64)
			o.Seed = n
			return err == nil
		},
	},
	engineKey{
		Key{"tree", "bfs or dfs", "whether the spanning tree is searched breadth-first or depth-first"},
		word([]string{"bfs", "dfs"}, func(o *layered.Options, i int) { o.Tree = layered.Tree(i) }),
	},
	engineKey{
		Key{
			"root", "low, centre or the name of a switch",
			"of the spanning tree: the lowest number, the least distance to the farthest, or that switch",
		},
		func(o *layered.Options, value string) bool {
			o.Root = value
			return value != ""
		},
	},
	engineKey{
		Key{
			"in-port", yesNo,
			"whether tables look at the in port; without it, as InfiniBand has them, some paths get longer",
		},
		choice(func(o *layered.Options) *layered.Tristate { return &o.InPort }),
	},
	engineKey{
		Key{"balance", yesNo, "LASH (its step 4) and MP-LASH: layers are made equally full"},
		choice(func(o *layered.Options) *layered.Tristate { return &o.Balance }),
	},
	engineKey{
		Key{"step4", yesNo, "step 4 of MP-LASH and A-LASH: addresses get all layers that they fit into"},
		choice(func(o *layered.Options) *layered.Tristate { return &o.Step4 }),
	},
	engineKey{
		Key{
			"paths", "destination or pair",
			"one path per pair, out of a tree for each destination or out of all shortest ones",
		},
		word([]string{"destination", "pair"}, func(o *layered.Options, i int) { o.Paths = layered.Paths(i) }),
	},
	engineKey{
		Key{
			"rounds", fmt.Sprintf("a number from 0 to %d", maxRounds),
			"how often LASH tries again to do with fewer layers; with paths=pair, by emptying the last one",
		},
		number(0, maxRounds, func(o *layered.Options, n int) { o.Rounds = n }),
	},
	engineKey{
		Key{"limit", fmt.Sprintf("a number from 1 to %d", math.MaxUint16), "so many shortest paths of a pair at most"},
		number(1, math.MaxUint16, func(o *layered.Options, n int) { o.Limit = n }),
	},
	engineKey{
		Key{"both", yesNo, "whether both directions of a pair are in one layer"},
		word([]string{"false", "true"}, func(o *layered.Options, i int) { o.Both = i == 1 }),
	},
	engineKey{
		Key{
			"fallback", "refuse, updn or longer",
			"when there are too few layers: an error, Up*/Down* in the last, or paths that are not shortest",
		},
		word([]string{"refuse", "updn", "longer"}, func(o *layered.Options, i int) { o.Fallback = layered.Fallback(i) }),
	},
	engineKey{
		Key{"move", yesNo, "whether packets move freely between their layers"},
		choice(func(o *layered.Options) *layered.Tristate { return &o.Move }),
	},
)

// Keys lists the options of all routings, by name.
func Keys() []Key {
	list := append(keysOf(optionKeys), keysOf(directKeys)...)
	for _, s := range sources {
		list = append(list, s.entry().Keys...)
	}
	slices.SortFunc(list, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func keysOf[O any](keys map[string]optionKey[O]) (list []Key) {
	for _, k := range keys {
		list = append(list, k.Key)
	}
	return list
}

const yesNo = "true or false"

func keysByName[O any](list ...optionKey[O]) map[string]optionKey[O] {
	m := make(map[string]optionKey[O], len(list))
	for _, k := range list {
		m[k.Name] = k
	}
	return m
}

func number[O any](from, to int, set func(o *O, n int)) func(*O, string) bool {
	return func(o *O, value string) bool {
		n, err := strconv.Atoi(value)
		set(o, n)
		return err == nil && n >= from && n <= to
	}
}

func word[O any](words []string, set func(o *O, i int)) func(*O, string) bool {
	return func(o *O, value string) bool {
		i := slices.Index(words, value)
		set(o, i)
		return i >= 0
	}
}

func choice(of func(o *layered.Options) *layered.Tristate) func(*layered.Options, string) bool {
	return word([]string{"false", "true"}, func(o *layered.Options, i int) { *of(o) = layered.TristateOf(i == 1) })
}

// parseOptions reads "key=value,key=value", of those of the known keys.
func parseOptions[O any](text string, keys []string, known map[string]optionKey[O]) (o O, err error) {
	given := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(field, "=")
		ours := slices.Contains(keys, key)
		switch {
		case !found && ours:
			return o, fmt.Errorf("expected %s=VALUE, %s", key, known[key].Values)
		case !found && !ours && key == "":
			return o, fmt.Errorf("expected KEY=VALUE,...; known: %s", strings.Join(keys, ", "))
		case !ours:
			return o, document.Unknown("option", key, keys)
		case given[key]:
			return o, fmt.Errorf("option %s is given twice", key)
		case !known[key].set(&o, value):
			return o, fmt.Errorf("%s=%s: expected %s", key, value, known[key].Values)
		}
		given[key] = true
	}
	return o, nil
}
