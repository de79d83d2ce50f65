package layout_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

var formats = map[string]func(io.Writer, *topology.Graph, layout.Options) error{
	"svg": layout.SVG, "dot": layout.DOT,
	"mmd": layout.Mermaid,
}

// drawn have every kind of layout.
var drawn = []string{
	"kary-ntree:4,3", "mport-tree:8,2", "leaf-spine:2,4,6", "mesh:4", "mesh:5x4", "torus:4x4", "torus:3x3x3",
	"torus:2x2x2x3", "ring:9,nics=2", "irregular:20,40,1",
}

func TestSmallDrawingsAreAsTheyWereLookedAt(t *testing.T) {
	for name, spec := range map[string]string{"tree": "kary-ntree:2,2", "ring": "ring:3"} {
		for end, write := range formats {
			var b bytes.Buffer
			require.NoError(t, write(&b, topologytest.Parse(t, spec), layout.Options{NICs: true}))
			want := filepath.Join("testdata", name+"."+end)
			if testenv.Update() {
				require.NoError(t, os.WriteFile(want, b.Bytes(), 0o644))
			}
			data, err := os.ReadFile(want)
			require.NoError(t, err)
			assert.Equal(t, string(data), b.String(), want)
		}
	}
}

// picture is what is counted in an SVG file.
type picture struct {
	elements map[string]int
	titles   map[string]int
	texts    map[string]int
}

func look(t *testing.T, data []byte) picture {
	t.Helper()
	p := picture{map[string]int{}, map[string]int{}, map[string]int{}}
	d := xml.NewDecoder(bytes.NewReader(data))
	in := ""
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		require.NoError(t, err)
		switch tok := tok.(type) {
		case xml.StartElement:
			in = tok.Name.Local
			p.elements[in]++
			assert.Equal(t, "http://www.w3.org/2000/svg", tok.Name.Space)
		case xml.EndElement:
			in = ""
		case xml.CharData:
			switch in {
			case "title":
				p.titles[string(tok)]++
			case "text":
				p.texts[string(tok)]++
			}
		}
	}
}

func TestAnSVGOfEveryKindIsWellFormedAndHasAllSwitchesAndLinks(t *testing.T) {
	for _, spec := range drawn {
		for _, nics := range []bool{true, false} {
			g := topologytest.Parse(t, spec)
			var b bytes.Buffer
			require.NoError(t, layout.SVG(&b, g, layout.Options{NICs: nics}))
			p := look(t, b.Bytes())
			links := 0
			for _, k := range g.Links {
				if nics || k.BetweenSwitches() {
					links++
				}
			}
			assert.Equal(t, links, p.elements["line"]+p.elements["path"], spec)
			for _, s := range g.Switches {
				assert.Equal(t, 1, p.texts[s.Name], s.Name)
				assert.Equal(t, 1, p.titles[s.Name], s.Name)
			}
			if nics {
				assert.Equal(t, len(g.NICs), p.elements["circle"], spec)
			} else {
				assert.Zero(t, p.elements["circle"], spec)
			}
			for tier := range g.Tiers {
				assert.Equal(t, 1, p.texts["tier "+string(rune('0'+tier))], spec)
			}
		}
	}
}

func TestAHugeDrawingHasNoNames(t *testing.T) {
	g := topologytest.Parse(t, "mesh:200x4")
	var b bytes.Buffer
	require.NoError(t, layout.SVG(&b, g, layout.Options{}))
	p := look(t, b.Bytes())
	assert.Zero(t, p.elements["text"])
	assert.Equal(t, 800, p.elements["circle"])
	assert.Equal(t, 1, p.titles["s7.3"], "names are still told to who points at a switch")
}

func TestLooksMarkLinksAndSwitches(t *testing.T) {
	g := topologytest.Parse(t, "ring:4")
	m := layout.Map{Graph: g, Layout: layout.Of(g), Title: "a <title> & more"}
	m.Links = map[int]layout.LinkLook{0: {Color: "#d55e00", Width: 3, Dash: "6 4", Note: "cut"}}
	m.Switches = map[int]layout.SwitchLook{1: {
		Fill: "#fee", Color: "#d55e00", Label: "12 rerouted",
		Note: "has lost a link",
	}}
	var b bytes.Buffer
	require.NoError(t, m.Write(&b))
	p := look(t, b.Bytes())
	assert.Equal(t, 1, p.titles["s0-s1, ports 1 and 0: cut"])
	assert.Equal(t, 1, p.titles["s1: has lost a link"])
	assert.Equal(t, 1, p.titles["a <title> & more"])
	assert.Equal(t, 1, p.texts["12 rerouted"])
	assert.Equal(t, 1, strings.Count(b.String(), `stroke="#d55e00" stroke-width="3" stroke-dasharray="6 4"`))
}

func TestDOTHasEveryLinkAndGraphvizDrawsIt(t *testing.T) {
	dot, missing := exec.LookPath("dot")
	for _, spec := range drawn {
		g := topologytest.Parse(t, spec)
		var b bytes.Buffer
		require.NoError(t, layout.DOT(&b, g, layout.Options{}))
		links := 0
		for _, k := range g.Links {
			if k.BetweenSwitches() {
				links++
			}
		}
		assert.Equal(t, links, strings.Count(b.String(), "[id="), spec)
		assert.Equal(t, len(g.Switches), strings.Count(b.String(), " [pos="), spec)
		if missing != nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), dot, "-Tsvg")
		cmd.Stdin = &b
		out, err := cmd.Output()
		require.NoError(t, err, spec)
		assert.Equal(t, links, strings.Count(string(out), `class="edge"`), spec)
	}
	if missing != nil {
		testenv.Missing(t, "no Graphviz here: install it to see that it takes what is written")
	}
}

func TestDOTOfATreeHasItsTiersAboveEachOther(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, layout.DOT(&b, topologytest.Parse(t, "kary-ntree:2,2"), layout.Options{NICs: true}))
	for _, want := range []string{`"s0.0" [pos="31.8,84.8"]`, `"s1.0" [pos="31.8,42.4"]`, `"n00" [pos="21.2,21.2"]`} {
		assert.Contains(t, b.String(), want)
	}
}

func TestMermaidRefusesWhatMermaidWouldNotDraw(t *testing.T) {
	var b bytes.Buffer
	err := layout.Mermaid(&b, topologytest.Parse(t, "kary-ntree:4,4"), layout.Options{NICs: true})
	require.ErrorIs(t, err, layout.ErrTooManyLinks)
	assert.EqualError(t, err,
		"kary-ntree:4,4: too many links for Mermaid: 1024, expected at most 500: take another format")
	assert.Empty(t, b.String())
	err = layout.Mermaid(&b, topologytest.Parse(t, "mesh:8x9,nics=6"), layout.Options{NICs: true})
	assert.ErrorContains(t, err, "expected at most 500: leave out the NICs, or take another format")
	assert.NoError(t, layout.Mermaid(&b, topologytest.Parse(t, "mesh:8x9,nics=6"), layout.Options{}))
}

func TestMermaidTakesNamesAndTitlesThatMeanSomethingToIt(t *testing.T) {
	g, err := topology.Load("a}%%{b.yaml", []byte("switches: [{id: end}, {id: graph}]\nlinks: [{a: end, b: graph}]\n"))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, layout.Mermaid(&b, g, layout.Options{}))
	assert.Equal(t, "%% a %% b.yaml\nflowchart LR\n  s0[\"end\"]\n  s1[\"graph\"]\n  s0 --- s1\n", b.String())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestADrawingThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, write := range formats {
		err := write(full{}, topologytest.Parse(t, "kary-ntree:2,2"), layout.Options{})
		require.Error(t, err)
		assert.Contains(t, err.Error(), "disk full")
	}
}
