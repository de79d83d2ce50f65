package subnet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
)

// computing lists the entries of engines.
func computing() (list []subnet.Entry) {
	for _, e := range subnet.Entries() {
		if e.On == firmware.Anything {
			list = append(list, e)
		}
	}
	return list
}

func TestEveryEngineRoutesTopologiesOfEveryShape(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(computing()), 7)
	for _, e := range computing() {
		for _, spec := range []string{"kary-ntree:2,3", "torus:4x3", "ring:5", "irregular:12,24,3"} {
			g := topologytest.Parse(t, spec)
			r, err := subnet.Routes(t.Context(), e.Name, g)
			require.NoError(t, err)
			if e.Name != "minimal-hop" {
				require.Nil(t, r.Dependencies(t.Context()).Cycle(), "%s on %s", e.Name, spec)
			}
			fw, vcs, err := subnet.Firmware(t.Context(), e.Name, g)
			require.NoError(t, err)
			require.Equal(t, subnet.FirmwareOf(r).Name, fw.Name)
			require.Equal(t, r.Tables, fw.Program.Tables)
			require.Equal(t, r.Assignment, fw.Program.Assignment)
			require.Equal(t, r.Layers, vcs)
		}
	}
}

func TestOptionsFollowTheName(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:12,24,3")
	for name, want := range map[string]func() (*layered.Routing, error){
		"updn:layers=2": func() (*layered.Routing, error) {
			return layered.UpDown(t.Context(), g, layered.Options{Layers: 2})
		},
		"updn:layers=2,tree=dfs,root=s5": func() (*layered.Routing, error) {
			return layered.UpDown(t.Context(), g, layered.Options{Layers: 2, Tree: layered.DepthFirst, Root: "s5"})
		},
		"updn:in-port=false,seed=9": func() (*layered.Routing, error) {
			return layered.UpDownByDestination(t.Context(), g, layered.Options{Seed: 9})
		},
		"updn-adaptive:layers=3,move=false": func() (*layered.Routing, error) {
			return layered.UpDownAdaptive(t.Context(), g, layered.Options{Layers: 3, Move: layered.Off})
		},
		"d-mroots:root=centre": func() (*layered.Routing, error) {
			return layered.DMRoots(t.Context(), g, layered.Options{Root: "centre"})
		},
		"mroots:layers=16": func() (*layered.Routing, error) {
			return layered.MRoots(t.Context(), g, layered.Options{Layers: 16})
		},
		"escape:layers=5,root=low": func() (*layered.Routing, error) {
			return layered.EscapePaths(t.Context(), g, layered.Options{Layers: 5, Root: "low"})
		},
		"lash:balance=false,seed=2": func() (*layered.Routing, error) {
			return layered.LASH(t.Context(), g, layered.Options{Balance: layered.Off, Seed: 2})
		},
		"minimal-hop:seed=18446744073709551615": func() (*layered.Routing, error) {
			return layered.MinimalHop(t.Context(), g, layered.Options{Seed: 1<<64 - 1})
		},
	} {
		e, err := subnet.ByName(name)
		require.NoError(t, err)
		require.Equal(t, name, e.Name)
		require.True(t, subnet.Known(name))
		got, err := subnet.Routes(t.Context(), name, g)
		require.NoError(t, err)
		expected, err := want()
		require.NoError(t, err)
		require.Equal(t, expected, got, name)
	}
}

// The name that a routing gives itself makes it again.
func TestTheNameOfARoutingMakesIt(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:12,24,3")
	for _, name := range []string{
		"updn", "updn:layers=2,seed=3,tree=dfs,root=s4", "updn:in-port=false", "updn-adaptive:layers=2,move=false",
		"mroots:layers=3", "escape:root=centre", "minimal-hop:layers=2",
		"lash:seed=2,balance=false", "lash:paths=pair,rounds=2,both=true", "lash:layers=1,fallback=updn",
		"mp-lash:step4=false,limit=3", "a-lash:step4=false,move=false",
	} {
		r, err := subnet.Routes(t.Context(), name, g)
		require.NoError(t, err)
		require.Equal(t, name, r.Engine)
	}
}

func TestEveryKeyIsTakenByTheEnginesThatListIt(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"layers": "4", "seed": "1", "tree": "dfs", "root": "centre", "in-port": "false", "balance": "false", "step4": "false",
		"paths": "pair", "rounds": "3",
		"limit": "2", "both": "true", "fallback": "updn", "move": "false",
	}
	for _, e := range computing() {
		require.NotEmpty(t, e.Keys)
		for _, k := range e.Keys {
			require.NotEmpty(t, k.Values)
			require.NotEmpty(t, k.About)
			require.Contains(t, values, k.Name)
			_, err := subnet.ByName(e.Name + ":" + k.Name + "=" + values[k.Name])
			require.NoError(t, err)
		}
	}
}

func TestWrongOptionsSayWhatIsExpected(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"updn:layer=2":           `firmware updn: unknown option "layer": did you mean "layers"? known: layers, root, tree, seed, in-port`,
		"updn:paths=pair":        `firmware updn: unknown option "paths": known: layers, `,
		"updn:layers=0":          "firmware updn: layers=0: expected a number from 1 to 16",
		"lash:layers=17":         "firmware lash: layers=17: expected a number from 1 to 16",
		"updn:layers=two":        "layers=two: expected a number",
		"updn:layers=":           "layers=: expected a number",
		"updn:layers":            "expected layers=VALUE, a number from 1 to 16",
		"updn:":                  "expected KEY=VALUE,...; known: layers, root",
		"updn:layers=2,":         "expected KEY=VALUE,...; known: layers, root",
		"updn:tree=bsf":          "tree=bsf: expected bfs or dfs",
		"updn:root=":             "root=: expected low, centre or the name of a switch",
		"updn:layers=2,layers=2": "option layers is given twice",
		"lash:fallback=no":       "fallback=no: expected refuse, updn or longer",
		"lash:balance=yes":       "balance=yes: expected true or false",
		"lash:rounds=-1":         "rounds=-1: expected a number from 0 to",
		"escape:seed=-1":         "seed=-1: expected a number from 0",
		"adaptive-link:layers=2": `firmware adaptive-link takes no options, found "layers=2"`,
		"updnn:layers=2":         `unknown routing "updnn:layers=2": did you mean "updn"?`,
		"table:x":                `did you mean "tables"?`,
		"none:":                  `unknown routing "none:": did you mean "none"?`,
	} {
		_, err := subnet.ByName(name)
		require.ErrorContains(t, err, want, name)
	}
	require.False(t, subnet.Known("updnn:layers=2"))
	require.True(t, subnet.Known("updn:layer=2"))
}

func TestWhatOnlyTheTopologyRefusesNamesTheEngine(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:8,16,1")
	for name, want := range map[string]string{
		"updn:root=s8":    "firmware updn:root=s8: root=s8: give low, centre or the name of a switch: unknown switch",
		"escape:layers=1": "firmware escape:layers=1: layers=1: escape needs a layer to escape to",
	} {
		_, _, err := subnet.Firmware(t.Context(), name, g)
		require.ErrorContains(t, err, want)
	}
	_, err := subnet.Routes(t.Context(), "lash:layers=1", topologytest.Parse(t, "irregular:32,64,1"))
	require.ErrorContains(t, err, "lash:layers=1: lash needs")
}

// A packet of every pair arrives by the firmwares of the engines, whatever layers and paths it
// takes.
func TestEngineFirmwaresDeliver(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:10,20,2,nics=2")
	for _, name := range []string{"updn", "updn:in-port=false", "d-mroots:layers=3", "mroots", "minimal-hop", "lash"} {
		fw, _, err := subnet.Firmware(t.Context(), name, g)
		require.NoError(t, err)
		f := newFabric(g)
		for src, dst := range pairs(g) {
			s, p := g.SwitchOf(src)
			for _, a := range fw.Addresses(g.Place(s), p, dst) {
				pkt := weft.Header{Src: src, Dst: dst, VC: a.VC, Fields: weft.NewFields()}
				pkt.Path, pkt.Layers = a.Path, a.Layers
				require.Empty(t, f.forward(fw, pkt).lost, "%s: %d to %d", name, src, dst)
			}
		}
	}
}

func TestEnginesOfOneShapeSayWhatRoutesOthers(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{"ftree": "mesh:4x4", "xy": "kary-ntree:2,2", "e-cube": "irregular:8,16,1"} {
		_, err := subnet.Routes(t.Context(), name, topologytest.Parse(t, spec))
		require.ErrorContains(t, err, "firmware "+name+": ")
		require.ErrorContains(t, err, "or a firmware that routes "+spec+", as ")
		_, err = subnet.ByName(name + ":layers=2")
		require.EqualError(t, err, "firmware "+name+` takes no options, found "layers=2"`)
	}
}
