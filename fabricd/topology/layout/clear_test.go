package layout_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/layout"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// clearSpecs are of every kind, up to about 200 switches.
func clearSpecs() []string {
	list := []string{
		"kary-ntree:4,3", "kary-ntree:2,6", "kary-ntree:8,3", "kary-ntree:4,1", "mport-tree:36,2", "mport-tree:8,3",
		"leaf-spine:4,8,12", "leaf-spine:12,2,1", "leaf-spine:2,64,4", "leaf-spine:40,8,1",
		"mesh:5", "mesh:14x14", "mesh:3x3x20", "mesh:3x3x3x3", "mesh:2x2x2x20", "torus:2x3", "torus:14x14", "torus:3x60",
		"torus:60x3",
		"torus:5x6,wrap=y", "torus:4x4x4", "torus:5x5x8", "torus:5x5x7", "torus:8x3x3", "torus:3x3x20", "torus:3x3x3x3",
		"torus:3x2x4x6", "torus:200",
		"ring:3", "ring:180", "irregular:2,1,1,parallel=4", "irregular:40,39,1", "irregular:200,199,1", "irregular:12,66,1",
		"irregular:40,390,3",
		"irregular:24,60,2,parallel=3", "irregular:200,400,1",
	}
	if testenv.Full() {
		list = append(list, "mport-tree:64,2", "irregular:200,1000,1", "irregular:120,240,5,parallel=2", "irregular:64,640,7")
	}
	for seed := range 12 {
		list = append(list, fmt.Sprintf("irregular:16,32,%d", seed), fmt.Sprintf("irregular:64,128,%d", seed))
	}
	return list
}

func TestNoLinkCrossesASwitchThatItDoesNotTouch(t *testing.T) {
	for _, spec := range clearSpecs() {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, spec)
			l := layout.Of(g)
			var b bytes.Buffer
			require.NoError(t, layout.SVG(&b, g, layout.Options{}))
			boxes, curves := drawing(t, b.Bytes())
			require.Len(t, boxes, len(g.Switches))
			n := 0
			for i, k := range g.Links {
				if !k.BetweenSwitches() {
					continue
				}
				a, z := k.A.Node.Index, k.B.Node.Index
				for share := 0.0; share < 1; share += 0.005 {
					p := layout.Along(l.Switches[a], l.Switches[z], l.Bends[i], share)
					for s, q := range l.Switches {
						if s == int(a) || s == int(z) {
							continue
						}
						// A tree is stretched where it is drawn.
						if l.Kind != layout.Tree && math.Abs(p.X-q.X) < 0.275 && math.Abs(p.Y-q.Y) < 0.195 {
							t.Fatalf("%s, bent by %v, crosses %s at %.3f of its way", k.Name, l.Bends[i], g.Switches[s].Name, share)
						}
					}
				}
				for _, p := range curves[n] {
					for s, box := range boxes {
						if s != int(a) && s != int(z) && p.X > box[0] && p.X < box[0]+box[2] && p.Y > box[1] && p.Y < box[1]+box[3] {
							t.Fatalf("%s crosses %s at %v in the SVG file", k.Name, g.Switches[s].Name, p)
						}
					}
				}
				n++
			}
			require.Len(t, curves, n)
		})
	}
}

// drawing is the boxes of the switches in an SVG file, each as x, y, width and height, and points
// of the links.
func drawing(t *testing.T, data []byte) (boxes [][]float64, links [][]layout.Point) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.Token()
		if err != nil {
			return boxes, links
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range e.Attr {
			attr[a.Name.Local] = a.Value
		}
		numbers := func(texts ...string) (list []float64) {
			for _, text := range texts {
				v, err := strconv.ParseFloat(text, 64)
				require.NoError(t, err)
				list = append(list, v)
			}
			return list
		}
		switch e.Name.Local {
		case "rect":
			if attr["x"] != "" { // not the ground
				boxes = append(boxes, numbers(attr["x"], attr["y"], attr["width"], attr["height"]))
			}
		case "line":
			v := numbers(attr["x1"], attr["y1"], attr["x2"], attr["y2"])
			links = append(links, curve(v[:2], v[2:]))
		case "path":
			var list []layout.Point
			var at []float64
			for part := range strings.SplitSeq(strings.TrimPrefix(attr["d"], "M"), "Q") {
				v := numbers(strings.Fields(part)...)
				if at != nil {
					list = append(list, curve(at, v)...)
				}
				at = v[len(v)-2:]
			}
			links = append(links, list)
		}
	}
}

// curve is points of a line from one point to another, or of a parabola if a control point comes
// before the other.
func curve(from, to []float64) (list []layout.Point) {
	mid := []float64{(from[0] + to[0]) / 2, (from[1] + to[1]) / 2}
	if len(to) > 2 {
		mid, to = to[:2], to[2:]
	}
	const points = 200
	for i := range points + 1 {
		v := float64(i) / points
		u := 1 - v
		list = append(list, layout.Point{
			X: u*u*from[0] + 2*u*v*mid[0] + v*v*to[0],
			Y: u*u*from[1] + 2*u*v*mid[1] + v*v*to[1],
		})
	}
	return list
}
