package tolerate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// tolerateCell is what came of all sets of a number of links, or of samples, for some mechanisms: a
// line of --json.
type tolerateCell struct {
	Topology   string  `json:"topology"`
	Mechanisms string  `json:"mechanisms"`
	Faults     int     `json:"faults"`
	Region     string  `json:"region"`
	Links      int     `json:"links"` // that may die
	Samples    uint64  `json:"samples,omitempty"`
	Seed       *uint64 `json:"seed,omitempty"`

	FaultSets    uint64  `json:"fault_sets"`
	NotTolerated uint64  `json:"not_tolerated"`
	Share        float64 `json:"not_tolerated_share"`
	Error        float64 `json:"not_tolerated_error,omitempty"` // of samples: half of the interval of 95%
	Disconnected uint64  `json:"disconnecting_sets"`            // sets that leave pairs that no live links join; these are excused

	// Of the tolerated sets.
	Pairs         int                `json:"pairs"`               // of each set
	PairsAffected int                `json:"pairs_affected"`      // of all sets together
	MeanAffected  float64            `json:"mean_pairs_affected"` // 0 when there are none
	AffectedShare float64            `json:"affected_share"`      // of the pairs of different switches
	OfAll         float64            `json:"affected_share_of_all"`
	ByMechanism   map[string]int     `json:"by_mechanism"`
	ByShare       map[string]float64 `json:"by_mechanism_share"`

	Example    *tolerateExample `json:"example"`
	Symmetries int              `json:"symmetries,omitempty"`
	Judged     uint64           `json:"judged"` // sets; each of the others is the same as one of these
	Complete   bool             `json:"complete"`
	Seconds    float64          `json:"seconds"`

	uses []useCount // ByMechanism in its order
}

type useCount struct {
	use   string
	pairs int
}

// tolerateExample is a set that is not tolerated.
type tolerateExample struct {
	Links      []string `json:"links"`
	Src        string   `json:"src"` // of the first pair without a way
	Dst        string   `json:"dst"`
	Unroutable int      `json:"unroutable_pairs"`
}

func (c *tolerateCell) fill(by *counter, m direct.Mechanisms, n *tolerate.Counts) {
	c.FaultSets, c.NotTolerated, c.Disconnected, c.Judged = n.Sets, n.NotTolerated, n.Excusing, n.Judged
	c.PairsAffected = n.Pairs.Affected
	c.ByMechanism, c.ByShare = map[string]int{}, map[string]float64{}
	for use, pairs := range n.Pairs.Each() {
		c.uses = append(c.uses, useCount{use.String(), pairs})
		c.ByMechanism[use.String()] = pairs
		c.ByShare[use.String()] = float64(pairs) / float64(n.Pairs.Affected)
	}
	if n.Sets > 0 {
		c.Share = float64(n.NotTolerated) / float64(n.Sets)
	}
	if c.Samples > 0 && n.Sets > 0 {
		c.Error = halfInterval(n.NotTolerated, n.Sets)
	}
	if t := n.Tolerated(); t > 0 {
		c.MeanAffected = float64(n.Pairs.Affected) / float64(t)
		c.AffectedShare = c.MeanAffected / float64(c.Pairs)
		all := float64(len(by.a.g.Switches))
		c.OfAll = c.MeanAffected / (all * all)
	}
	if n.Example != nil {
		c.Example = by.a.exampleOf(m, n.Example.Dead)
	}
}

// halfInterval is half of Wilson's interval of 95% for a share.
func halfInterval(hits, of uint64) float64 {
	const z = 1.959964
	n, p := float64(of), float64(hits)/float64(of)
	return z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
}

// linkNames are the names of links, ascending by id.
func linkNames(g *topology.Graph, dead []weft.LinkID) (names []string) {
	for _, l := range slices.Sorted(slices.Values(dead)) {
		names = append(names, g.Links[l].Name)
	}
	return names
}

func (e *tolerateExample) String() string {
	more := ""
	if e.Unroutable > 1 {
		more = fmt.Sprintf(", and %s more", command.Counted(e.Unroutable-1, "pair"))
	}
	return fmt.Sprintf("%s: no way from %s to %s%s", strings.Join(e.Links, " "), e.Src, e.Dst, more)
}

// tolerateTable are the cells of a run.
type tolerateTable struct {
	topology, name string
	region         int
	cells          []tolerateCell
}

func (t *tolerateTable) tolerated() bool {
	return !slices.ContainsFunc(t.cells, func(c tolerateCell) bool { return c.NotTolerated > 0 })
}

// rows are the numbers of faults, and columns the mechanisms, as they come.
func (t *tolerateTable) rows() (faults []int, mechanisms []string) {
	for _, c := range t.cells {
		if !slices.Contains(faults, c.Faults) {
			faults = append(faults, c.Faults)
		}
		if !slices.Contains(mechanisms, c.Mechanisms) {
			mechanisms = append(mechanisms, c.Mechanisms)
		}
	}
	return faults, mechanisms
}

func (t *tolerateTable) print(w io.Writer) error {
	where := ""
	if t.name != tolerate.Whole {
		where = " within " + t.name
	}
	fmt.Fprintf(w, "%s: sets of dead links of %d%s that are not tolerated\n\n", t.topology, t.region, where)
	faults, mechanisms := t.rows()
	err := command.Tabbed(w, func(tab func(...any)) {
		head := []any{"faults", "sets"}
		for _, m := range mechanisms {
			head = append(head, m)
		}
		tab(head...)
		for _, k := range faults {
			row := []any{k}
			for _, m := range mechanisms {
				i := slices.IndexFunc(t.cells, func(c tolerateCell) bool { return c.Faults == k && c.Mechanisms == m })
				if i < 0 {
					row = append(row, "-")
					continue
				}
				c := &t.cells[i]
				if len(row) == 1 {
					row = append(row, command.Grouped(c.FaultSets))
				}
				row = append(row, c.text())
			}
			tab(row...)
		}
	})
	if err != nil {
		return err
	}
	t.excused(w)
	if err := t.pairs(w); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, c := range t.cells {
		if c.Example == nil || told[c.Mechanisms] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(w, "\nThe first sets that are not tolerated")
			fmt.Fprintln(w)
		}
		told[c.Mechanisms] = true
		fmt.Fprintf(w, "%s, %s: %v\n", c.Mechanisms, command.Counted(c.Faults, "fault"), c.Example)
	}
	return nil
}

// excused tells of sets that leave pairs which nothing could lead anywhere: they are judged by the
// other pairs. It is the same for all mechanisms.
func (t *tolerateTable) excused(w io.Writer) {
	told := map[int]bool{}
	for _, c := range t.cells {
		if c.Disconnected == 0 || told[c.Faults] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(w)
		}
		told[c.Faults] = true
		fmt.Fprintf(w, "%s: %s (%s) with pairs that no live links join; these are excused\n",
			command.Counted(c.Faults, "fault"), command.Counted(int(c.Disconnected), "set"), command.Share(c.Disconnected, c.FaultSets))
	}
}

func (c *tolerateCell) text() string {
	if c.FaultSets == 0 {
		return "-"
	}
	text := command.Share(c.NotTolerated, c.FaultSets)
	if c.NotTolerated > 0 {
		text += " (" + command.Grouped(c.NotTolerated) + ")"
	}
	if c.Samples > 0 {
		text += fmt.Sprintf(" +-%.2f", 100*c.Error)
	}
	if !c.Complete {
		text += fmt.Sprintf(" of %s, interrupted", command.Grouped(c.FaultSets))
	}
	return text
}

// pairs prints by what affected pairs go, as table 3 of the paper does.
func (t *tolerateTable) pairs(w io.Writer) error {
	fmt.Fprintln(w, "\nPairs of switches that the tolerated sets affect, by the mechanisms that they use")
	fmt.Fprintln(w)
	return command.Tabbed(w, func(tab func(...any)) {
		tab("mechanisms", "faults", "affected, mean", "", "by")
		for _, c := range t.cells {
			var by []string
			for _, u := range c.uses {
				by = append(by, u.use+" "+command.Share(uint64(u.pairs), uint64(c.PairsAffected)))
			}
			if c.FaultSets > 0 && c.NotTolerated == c.FaultSets {
				tab(c.Mechanisms, c.Faults, "-", "", "no set is tolerated")
				continue
			}
			tab(c.Mechanisms, c.Faults, fmt.Sprintf("%.1f", c.MeanAffected), fmt.Sprintf("%.2f%%", 100*c.AffectedShare), strings.Join(by, ", "))
		}
	})
}
