package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/harness/measure"
)

// plan is what is run of an experiment, in full or in quick form.
type plan struct {
	base    settled
	axes    []axis
	points  []point // the last axis changes fastest
	samples int
}

// axis is an axis with all its values.
type axis struct {
	name   string
	values []Value
	sets   []Settings // what each value sets
	paths  []string   // where each stands in the file
	plain  bool       // it is a field of Settings
}

// point is a combination of one value of each axis.
type point struct {
	at     []Value // by axis
	set    settled
	config measure.Config // but for its seed
	load   float64        // resolved
	files  []string       // what its result depends on beside the settings

	firmware string // the module or program that ran, by its SHA-256; empty: what comes with Weft
}

// bounds of an experiment, chosen by us: results are kept in memory.
const (
	maxPoints  = 100_000
	maxRuns    = 2_000_000
	maxSamples = 100_000
)

// index is the place of the axis of that name, -1 when there is none.
func (p *plan) index(name string) int {
	for i, a := range p.axes {
		if a.name == name {
			return i
		}
	}
	return -1
}

// axisNames are the names of all axes.
func (p *plan) axisNames() (list []string) {
	for _, a := range p.axes {
		list = append(list, a.name)
	}
	return list
}

// multiply makes the points, all combinations of the axes.
func (p *plan) multiply() {
	p.points = p.points[:0]
	at := make([]int, len(p.axes))
	for {
		pt := point{set: p.base.copied()}
		for i, a := range p.axes {
			pt.at = append(pt.at, a.values[at[i]])
			if a.plain {
				pt.set.field(a.name).Set(a.sets[at[i]].field(a.name))
				pt.set.from[a.name] = a.paths[at[i]]
			} else {
				pt.set.over(&a.sets[at[i]], a.paths[at[i]])
			}
		}
		p.points = append(p.points, pt)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(p.axes[i].values) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// count is how many points there will be, at most maxPoints+1.
func (p *plan) count() int {
	n := 1
	for _, a := range p.axes {
		if n *= len(a.values); n > maxPoints {
			return maxPoints + 1
		}
	}
	return n
}

// seeded are the settings that a seed depends on: what is done to the network, not what is
// compared. Load and number of faults are not among them, so that points of different loads and
// numbers of faults can be compared sample by sample, too.
var seeded = []string{"topology", "traffic", "fault_kind", "faults_before"}

// seed is the seed of a run. It depends on nothing else in the file.
func (pt *point) seed(experiment uint64, sample int) uint64 {
	h := sha256.New()
	fmt.Fprintf(h, "weft experiment\n%d\n%d\n", experiment, sample)
	for _, name := range seeded {
		text := pt.set.at(name, sample)
		switch {
		case name == "traffic":
			text = pt.set.pattern()
		case name == "fault_kind" && text == "":
			text = measure.LinkFaults
		case name == "faults_before" && text == "":
			text = "false"
		}
		fmt.Fprintf(h, "%s %s\n", name, text)
	}
	if get(pt.set.DrawByLoad) {
		fmt.Fprintf(h, "load %s\n", formatFloat(pt.load))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// key names a run by all that its result depends on: the settings and the seed. What is only called
// otherwise is the same run.
func (pt *point) key(kind string, sample int, seed uint64) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\nseed %d\n", kind, seed)
	for _, name := range settingNames {
		if text := pt.set.at(name, sample); text != "" {
			if name == "load" {
				text = formatFloat(pt.load)
			}
			fmt.Fprintf(h, "%s %s\n", name, text)
		}
	}
	for _, f := range pt.files {
		fmt.Fprintln(h, f)
	}
	if pt.set.sampled() {
		fmt.Fprintln(h, digest(pt.set.at("topology", sample))) // files can be numbered, too
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// complete reports whether a run judges all sets of faults, and draws nothing.
func (pt *point) complete(kind string) bool {
	return pt.config.EverySet || kind == ofTolerate && pt.config.FaultSets == 0
}

// text names a point as messages do.
func (pt *point) text(axes []axis) string {
	var parts []string
	for i, v := range pt.at {
		parts = append(parts, axes[i].name+" "+string(v))
	}
	if len(parts) == 0 {
		return "the only point"
	}
	return strings.Join(parts, ", ")
}
