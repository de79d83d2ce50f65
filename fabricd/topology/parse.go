package topology

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// ErrTooLarge is wrapped by the error for a topology beyond the hard bounds of package weft.
var ErrTooLarge = errors.New("topology too large")

// generator is one kind of topology that a spec can ask for.
type generator struct {
	kind    Kind
	syntax  string
	example string
	help    string
	build   func(arguments) (*Graph, error)
}

// generators are all kinds, in the order help lists them.
func generators() []generator {
	return []generator{
		{
			KaryNTree, "kary-ntree:k,n", "kary-ntree:4,3", "k-ary n-tree: n*k^(n-1) switches, k^n NICs",
			func(a arguments) (*Graph, error) {
				return a.sizes(2, func(s []int) (*Graph, error) { return newKaryNTree(s[0], s[1]) })
			},
		},
		{
			MPortTree, "mport-tree:m,n", "mport-tree:36,2", "m-port n-tree, k=m/2: (2n-1)*k^(n-1) switches, 2*k^n NICs",
			func(a arguments) (*Graph, error) {
				return a.sizes(2, func(s []int) (*Graph, error) { return newMPortTree(s[0], s[1]) })
			},
		},
		{
			LeafSpine, "leaf-spine:SPINES,LEAVES,NICS", "leaf-spine:4,8,12",
			"two tiers: each leaf is linked once to every spine and has so many NICs; oversubscribed with more NICs than spines",
			func(a arguments) (*Graph, error) {
				return a.sizes(3, func(s []int) (*Graph, error) { return newLeafSpine(s[0], s[1], s[2]) })
			},
		},
		{
			Mesh, "mesh:AxB[xC[xD]][,nics=N]", "mesh:8x8", "mesh of 1 to 4 dimensions, N NICs a switch (1)",
			func(a arguments) (*Graph, error) { return a.grid(Mesh) },
		},
		{
			Torus, "torus:AxB[xC[xD]][,nics=N][,wrap=xyzw]", "torus:4x4x4",
			"torus of 1 to 4 dimensions, N NICs a switch (1); wrap=xy: only these dimensions go around, none of two switches " +
				"does",
			func(a arguments) (*Graph, error) { return a.grid(Torus) },
		},
		{
			Irregular, "irregular:switches,links,seed[,nics=N][,parallel=N][,method=tree|uniform]", "irregular:16,32,1",
			"connected random graph, the same for the same seed, N NICs a switch (1), each link N times (1); method=uniform: " +
				"all such graphs are as likely; tree: as many times as they have spanning trees",
			arguments.irregular,
		},
		{
			Ring, "ring:n[,nics=N]", "ring:8", "ring of n switches, N NICs a switch (1)",
			func(a arguments) (*Graph, error) { return a.grid(Ring) },
		},
	}
}

// Kinds is one line of help for each kind of spec: its syntax, a tab, and what it makes. The last
// are files.
func Kinds() []string {
	var lines []string
	for _, g := range generators() {
		lines = append(lines, g.syntax+"\t"+g.help)
	}
	return append(lines, "FILE.yaml\ta topology file, YAML or JSON",
		"FILE.net\tan InfiniBand topology as ibnetdiscover prints it")
}

// Parse makes the graph that a spec asks for: "kary-ntree:4,3" and the like ([Kinds]), or the path
// of a file, which ends in .yaml, .yml or .json, or in .net, .ibnet or .ibnetdiscover, or has a
// path separator. Errors say what the kind expects; those of files have the line.
func Parse(spec string) (*Graph, error) {
	if isFile(spec) {
		return Read(spec)
	}
	return Generate(spec)
}

func isFile(spec string) bool {
	return isDocument(spec) || isIBNet(spec) || strings.ContainsRune(spec, '/') ||
		strings.ContainsRune(spec, os.PathSeparator)
}

func isDocument(name string) bool { return ends(name, ".yaml", ".yml", ".json") }

func isIBNet(name string) bool { return ends(name, ".net", ".ibnet", ".ibnetdiscover") }

func ends(name string, with ...string) bool {
	return slices.ContainsFunc(with, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// Generate makes the graph that a spec asks for, and reads no file.
func Generate(spec string) (*Graph, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	all := generators()
	i := slices.IndexFunc(all, func(g generator) bool { return string(g.kind) == kind })
	if i < 0 {
		names := make([]string, len(all))
		for i, g := range all {
			names[i] = string(g.kind)
		}
		err := document.Unknown("topology", spec, names)
		if _, no := os.Stat(spec); no == nil {
			err = fmt.Errorf("%w; %s is there, and a topology file ends in .yaml, .json or .net: rename it, or write ./%s", err,
				nearest.Clip(spec), nearest.Clip(spec))
		}
		return nil, err
	}
	args, err := parseArguments(rest)
	if err == nil {
		var g *Graph
		if g, err = all[i].build(args); err == nil {
			g.Spec, g.generated = spec, spec
			g.finish()
			return g, nil
		}
	}
	if errors.Is(err, errSyntax) {
		return nil, fmt.Errorf("%s: expected %s, as %s", nearest.Clip(spec), all[i].syntax, all[i].example)
	}
	return nil, fmt.Errorf("%s: %w", nearest.Clip(spec), err)
}

var errSyntax = errors.New("wrong arguments")

// arguments are what follows the colon of a spec.
type arguments struct {
	plain    []string
	nics     int    // NICs of one switch; 0 when not given
	parallel int    // links between two switches; 0 when not given
	method   string // "" when not given
	wrap     string // dimensions that go around; "" when not given
}

func parseArguments(s string) (arguments, error) {
	const most = 6
	var a arguments
	for _, p := range strings.SplitN(s, ",", most+1) {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			if a.options() {
				return a, errSyntax
			}
			a.plain = append(a.plain, p)
			continue
		}
		if err := a.option(key, value); err != nil {
			return a, err
		}
	}
	return a, nil
}

// options reports whether any option was given; they come last.
func (a arguments) options() bool { return a.nics+a.parallel > 0 || a.method+a.wrap != "" }

// option reads one option, which may be given once.
func (a *arguments) option(key, value string) (err error) {
	count := map[string]*int{"nics": &a.nics, "parallel": &a.parallel}[key]
	switch {
	case key == "method" && a.method == "":
		if methods := []string{methodTree, methodUniform}; !slices.Contains(methods, value) {
			return document.Unknown("method", value, methods)
		}
		a.method = value
		return nil
	case key == "wrap" && a.wrap == "" && value != "":
		a.wrap = value
		return nil
	case count == nil || *count > 0:
		return errSyntax
	}
	if *count, err = number(value); err != nil {
		return err
	}
	if *count < 1 || *count >= weft.MaxPorts {
		return fmt.Errorf("%s=%d, expected 1 to %d", key, *count, weft.MaxPorts-1)
	}
	return nil
}

// sizes reads so many sizes, as "k,n".
func (a arguments) sizes(count int, build func(sizes []int) (*Graph, error)) (*Graph, error) {
	if len(a.plain) != count || a.options() {
		return nil, errSyntax
	}
	sizes := make([]int, count)
	for i, p := range a.plain {
		var err error
		if sizes[i], err = number(p); err != nil {
			return nil, err
		}
	}
	return build(sizes)
}

// grid reads "AxBxC".
func (a arguments) grid(kind Kind) (*Graph, error) {
	if len(a.plain) != 1 || a.parallel != 0 || a.method != "" || a.wrap != "" && kind == Ring {
		return nil, errSyntax
	}
	if a.wrap != "" && kind == Mesh {
		return nil, fmt.Errorf("wrap=%s, but a mesh goes around nowhere: write torus:%s,wrap=%s", nearest.Clip(a.wrap),
			nearest.Clip(a.plain[0]), nearest.Clip(a.wrap))
	}
	var dims []int
	for _, p := range strings.SplitN(a.plain[0], "x", maxDims+2) {
		r, err := number(p)
		if err != nil {
			return nil, err
		}
		dims = append(dims, r)
	}
	if kind == Ring && len(dims) != 1 {
		return nil, errSyntax
	}
	return newGrid(kind, dims, a.wrap, max(a.nics, 1))
}

// irregular reads "switches,links,seed".
func (a arguments) irregular() (*Graph, error) {
	if len(a.plain) != 3 || a.wrap != "" {
		return nil, errSyntax
	}
	switches, errS := number(a.plain[0])
	links, errL := number(a.plain[1])
	if err := cmp.Or(errS, errL); err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(a.plain[2], 10, 64)
	if err != nil {
		return nil, errSyntax
	}
	return irregular{switches, links, seed, max(a.nics, 1), max(a.parallel, 1), a.method}.build()
}

// number reads a size. Anything beyond 32 bits is too large for every bound, and smaller products
// cannot overflow.
func number(s string) (int, error) {
	v, err := strconv.ParseUint(s, 10, 31)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s: %w", nearest.Clip(s), ErrTooLarge)
	}
	if err != nil {
		return 0, errSyntax
	}
	return int(v), nil
}

// limit is where sizes stop growing: beyond every bound, and its square is still an int.
const limit = 1 << 30

// capped is a*b, or limit when that is less. Both are at least 0.
func capped(a, b int) int { return min(min(a, limit)*min(b, limit), limit) }

// add is a+b, or limit when that is less.
func add(a, b int) int { return min(min(a, limit)+min(b, limit), limit) }

// bounds checks sizes before anything is allocated for them.
func bounds(switches, nics, links, ports int) error {
	for _, b := range []struct {
		what     string
		n, bound int
	}{
		{"switches", switches, weft.MaxSwitch},
		{"NICs", nics, weft.MaxNIC},
		{"links", links, weft.MaxLinks},
		{"ports on one switch", ports, weft.MaxPorts},
	} {
		switch {
		case b.n >= limit:
			return fmt.Errorf("more than %d %s: %w", b.bound, b.what, ErrTooLarge)
		case b.n > b.bound:
			return fmt.Errorf("%d %s, expected at most %d: %w", b.n, b.what, b.bound, ErrTooLarge)
		}
	}
	return nil
}
