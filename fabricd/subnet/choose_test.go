package subnet_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestEveryFirmwareIsMadeByItsNameAndFitsItsTopology(t *testing.T) {
	t.Parallel()
	trees := []*topology.Graph{topologytest.Parse(t, "mport-tree:4,3"), topologytest.Parse(t, "leaf-spine:2,5,3")}
	torus, irregular := topologytest.Parse(t, "torus:4x3"), topologytest.Parse(t, "irregular:9,18,1")
	names := subnet.Names()
	require.True(t, slices.IsSorted(names))
	for _, f := range firmware.All() {
		require.Contains(t, names, f.Name)
	}
	require.Contains(t, names, "deterministic-table")
	for _, name := range append(names, subnet.None) {
		e, err := subnet.ByName(name)
		require.NoError(t, err)
		require.Equal(t, name, e.Name)
		require.NotEmpty(t, e.About)
		for _, g := range map[firmware.Shape][]*topology.Graph{
			firmware.Trees: trees, firmware.Grids: {torus},
			firmware.Anything: {irregular},
		}[e.On] {
			require.True(t, e.Fits(g))
			fw, vcs, err := subnet.Firmware(t.Context(), name, g)
			require.NoError(t, err)
			require.NotNil(t, fw.Route)
			require.Positive(t, vcs)
			for _, s := range g.Switches {
				require.NoError(t, fw.Fits(g.Place(s.ID), vcs), name)
				if vcs > 1 || e.On != firmware.Anything {
					require.ErrorContains(t, fw.Fits(g.Place(s.ID), vcs-1), "raise the number", name)
				}
			}
		}
	}
}

func TestAnUnknownNameGetsTheNearestMatch(t *testing.T) {
	t.Parallel()
	_, _, err := subnet.Firmware(t.Context(), "deterministic-tabel", topologytest.Parse(t, "ring:3"))
	require.ErrorContains(t, err, `unknown routing "deterministic-tabel": did you mean "deterministic-table"?`)
	_, err = subnet.ByName("non")
	require.ErrorContains(t, err, `did you mean "none"?`)
}

func TestAFirmwareWithTablesNeedsATopologyThatItHasTablesFor(t *testing.T) {
	t.Parallel()
	_, _, err := subnet.Firmware(t.Context(), "deterministic-table", topologytest.Parse(t, "mesh:3x3"))
	require.ErrorContains(t, err, "mesh:3x3 is none: choose such a topology, as kary-ntree:4,3; or a firmware that "+
		"routes mesh:3x3, as dimension-order or updn")
}

func TestAFirmwareForAnotherShapeNamesOneThatFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, spec, want string }{
		{
			"adaptive-link", "torus:8x8",
			"choose such a topology, as kary-ntree:4,3; or a firmware that routes torus:8x8, as dimension-order or updn",
		},
		{"adaptive-link", "irregular:8,16,1", "; or a firmware that routes irregular:8,16,1, as lash or updn"},
		{
			"dimension-order", "kary-ntree:2,2",
			"choose such a topology, as torus:4x4; or a firmware that routes kary-ntree:2,2, as adaptive-link or updn",
		},
	} {
		_, _, err := subnet.Firmware(t.Context(), c.name, topologytest.Parse(t, c.spec))
		require.ErrorContains(t, err, c.want)
	}
}

// Its vector has 64 bits, so no firmware for other shapes is the answer.
func TestAFirmwareThatItsShapeIsTooLargeForIsRefusedByItsCheck(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:65,2")
	fw, _, err := subnet.Firmware(t.Context(), "adaptive-link", g)
	require.NoError(t, err)
	require.ErrorContains(t, fw.Fits(g.Place(0), 1), "64")
}

func TestWhatIsChosenForAShapeFitsIt(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"kary-ntree:2,3": "adaptive-link", "mport-tree:4,2": "adaptive-link", "leaf-spine:2,4,3": "adaptive-link",
		"torus:4x4": "dimension-order", "mesh:3x3": "dimension-order",
		"ring:5": "dimension-order", "irregular:8,16,1": "lash",
	} {
		g := topologytest.Parse(t, spec)
		require.Equal(t, want, subnet.Default(g))
		fitting := subnet.Fitting(g)
		require.Subset(t, fitting, []string{want, "updn", "lash", "escape"})
		for _, name := range fitting {
			fw, vcs, err := subnet.Firmware(t.Context(), name, g)
			require.NoError(t, err, "%s on %s", name, spec)
			for _, s := range g.Switches {
				require.NoError(t, fw.Fits(g.Place(s.ID), vcs))
			}
		}
	}
	require.NotContains(t, subnet.Fitting(topologytest.Parse(t, "ring:5")), "updown")
	require.NotContains(t, subnet.Fitting(topologytest.Parse(t, "irregular:8,16,1")), "dimension-order")
}

// Tables belong to one topology: elsewhere the firmware says so before anything runs.
func TestTablesOfAnotherTopologyAreRefused(t *testing.T) {
	t.Parallel()
	fw, vcs, err := subnet.Firmware(t.Context(), "deterministic-table", topologytest.Parse(t, "kary-ntree:2,2"))
	require.NoError(t, err)
	g := topologytest.Parse(t, "kary-ntree:3,3")
	for _, id := range []weft.SwitchID{0, 26} {
		require.ErrorContains(t, fw.Fits(g.Place(id), vcs), "make them for this topology")
	}
	require.ErrorContains(t, firmware.DeterministicTable{}.Firmware().Check(g.Place(0), 2), "has no forwarding tables")
	require.ErrorContains(t, firmware.Static{}.Firmware().Check(g.Place(0), 2), "has no forwarding tables")
}

// A source is known by its name only: what has that name, or none that can be written, is refused.
func TestASourceOfFirmwaresNeedsANameOfItsOwn(t *testing.T) {
	for name, want := range map[string]string{
		"adaptive-link": "has the name adaptive-link, which another has",
		"none":          "which another has", "tables": "which another has",
		"": `has the name ""`, "my:fw": `has the name "my:fw": expected a-z, 0-9 and '-'`, "My": "expected a-z",
	} {
		err := subnet.Add(subnet.Of(func() firmware.Firmware { return firmware.Firmware{Name: name} }))
		require.ErrorContains(t, err, want)
	}
}

// Each routing has a row in a table of the page of all routings; -update adds one that is missing.
func TestEveryRoutingHasARowInTheReference(t *testing.T) {
	t.Parallel()
	const page = "../../docs/reference/routing.md"
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(b)
	for _, e := range subnet.Entries() {
		if regexp.MustCompile("(?m)^\\| .*`" + e.Name + "`").MatchString(text) {
			continue
		}
		require.True(t, testenv.Update(), "%s has no row for %s: go test ./fabricd/subnet -run Row -update", page, e.Name)
		vcs := "as computed"
		if fw, ok := firmware.ByName(e.Name); ok {
			vcs = strconv.Itoa(fw.NeedsVCs())
		}
		_, about, _ := strings.Cut(e.About, ": ")
		table := map[firmware.Shape]string{
			firmware.Trees: "In [fat trees]", firmware.Grids: "In [meshes",
			firmware.Anything: "In [any topology]",
		}[e.On]
		before, rest, _ := strings.Cut(text, table)
		parts := strings.SplitN(rest, "\n\n", 3) // the heading, the table, what follows
		parts[1] += fmt.Sprintf("\n| `%s` | %s | %s | %s |", e.Name, vcs, e.Tolerance, about)
		text = before + table + strings.Join(parts, "\n\n")
		require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
	}
}
