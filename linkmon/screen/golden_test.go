package screen

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
	"github.com/weft-fabric/weft/harness/testenv"
)

// golden compares the screen, with its attributes, to a file: with all colours, or with none as
// NO_COLOR has it.
func (r *rig) golden(name string, profile colorprofile.Profile) {
	r.t.Helper()
	var b bytes.Buffer
	w := &colorprofile.Writer{Forward: &b, Profile: profile}
	_, err := w.WriteString(strings.Join(r.app.lines(), "\n") + "\n")
	require.NoError(r.t, err)
	file := filepath.Join("testdata", name+".golden")
	if testenv.Update() {
		require.NoError(r.t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(r.t, err)
	require.Equal(r.t, string(want), b.String(),
		"go test -run Golden -update writes what is drawn now; look at the difference")
}

// broken is a tree in which something of every kind is wrong.
func broken(t *testing.T, configure ...func(*Config)) *rig {
	r := newRig(t, "kary-ntree:4,3", configure...)
	r.traffic(40)
	r.cut("s0.00-s1.00", fabric.CutSilent, false)
	r.cut("s0.00-s1.10", fabric.CutSignalled, true)
	r.step(func(f *api.Frame) {
		link := func(name string) int { return r.app.mirror.Topology.Link(name) }
		f.Links = []api.LinkView{
			{I: link("s0.01-s1.01"), State: fabric.LinkUp, AUp: true, BUp: true, SuffersAB: "loss 10%", RateAB: 90, LoadAB: 0.1},
			{I: link("s0.02-s1.02"), State: fabric.LinkUp, AUp: true, BUp: true, Flapping: true},
			{I: link("s0.03-s1.03"), State: fabric.LinkDown, AUp: false, BUp: false},
		}
		f.Switches = []api.SwitchView{
			{I: r.app.mirror.Topology.Switch("s0.00"), State: switchUp, Held: 4, Blocked: 2, Rerouted: 120, UTurns: 0},
			{
				I: r.app.mirror.Topology.Switch("s1.10"), State: switchUp, Held: 3, Rerouted: 80, UTurns: 75,
				Vector: "p0.1: 0b0001",
			},
			{I: r.app.mirror.Topology.Switch("s1.03"), State: switchDown},
		}
		f.Totals.Rerouted += 400
	})
	r.traffic(1)
	return r
}

func TestGoldenPagesAt80By24(t *testing.T) {
	pages := []struct {
		name string
		keys []string
	}{
		{"map", nil},
		{"links", []string{"2"}},
		{"switches", []string{"3"}},
		{"nics", []string{"4"}},
		{"events", []string{"5"}},
		{"faults", []string{"6"}},
		{"fault", []string{"6", "home", "enter"}},
		{"charts", []string{"7"}},
		{"link", []string{"2", "enter"}},
		{"help", []string{"?"}},
		{"form", []string{"2", "down", "down", "space", "space", "c"}},
		{"confirm", []string{"x"}},
		{"prompt", []string{":", "c", "u"}},
	}
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			r := broken(t)
			r.press(p.keys...)
			r.golden(p.name+"-plain", colorprofile.ASCII)
			r.golden(p.name+"-colour", colorprofile.TrueColor)
		})
	}
}

func TestGoldenMapsOfOtherTopologies(t *testing.T) {
	for _, spec := range []string{
		"mesh:8x8", "torus:4x4x3", "torus:4x4x4", "irregular:16,32,1", "mport-tree:36,2",
		"ring:12",
	} {
		t.Run(spec, func(t *testing.T) {
			r := newRig(t, spec)
			r.traffic(10)
			r.press("tab")
			r.golden("map-"+strings.NewReplacer(":", "-", ",", "-").Replace(spec), colorprofile.ASCII)
		})
	}
}

func TestGoldenMapsOfTreesUseTheTerminalThereIs(t *testing.T) {
	for _, size := range []struct{ w, h int }{{120, 40}, {200, 60}} {
		for _, spec := range []string{"kary-ntree:4,3", "mport-tree:36,2"} {
			r := newRig(t, spec)
			r.size(size.w, size.h)
			r.traffic(10)
			r.press("right")
			r.golden(fmt.Sprintf("map-%dx%d-%s", size.w, size.h, strings.NewReplacer(":", "-", ",", "-").Replace(spec)),
				colorprofile.ASCII)
		}
	}
}

func TestNoLinkOfAMapRunsBehindTheNameOfAnotherSwitch(t *testing.T) {
	specs := []string{"ring:3", "ring:12", "irregular:8,28,1", "irregular:40,80,1", "irregular:100,150,2"}
	for seed := range 8 {
		specs = append(specs, fmt.Sprintf("irregular:16,32,%d", seed))
	}
	for _, spec := range specs {
		for _, size := range []struct{ w, h int }{{80, 20}, {120, 36}, {200, 56}} {
			p := newMapPage()
			p.arrange(read(t, spec), size.w, size.h)
			require.True(t, p.free, spec)
			for i, l := range p.of.Links {
				from, to := p.of.Switch(l.A), p.of.Switch(l.B)
				for step := 0; from >= 0 && to >= 0 && step <= 1000; step++ {
					at := layout.Along(p.dot(from), p.dot(to), p.bends[i], float64(step)/1000)
					x, y := int(math.Round(at.X*p.unit))/2, int(math.Round(at.Y*p.unit))/4
					for k, s := range p.spots {
						if k != from && k != to && y == s.y && x >= s.x && x < s.x+len(p.of.Switches[k].ID) {
							t.Fatalf("%s at %dx%d: %s runs behind %s", spec, size.w, size.h, l.ID, p.of.Switches[k].ID)
						}
					}
				}
			}
		}
	}
}

func TestGoldenWithASCIIAlone(t *testing.T) {
	for _, page := range []string{"1", "2", "7", "?"} {
		r := broken(t, func(c *Config) { c.ASCII = true })
		r.press(page)
		text := r.screen()
		require.Negative(t, strings.IndexFunc(text, func(c rune) bool { return c > 127 }), text)
		if page == "1" {
			r.golden("map-ascii", colorprofile.ASCII)
		}
	}
}
