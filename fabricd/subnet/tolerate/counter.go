package tolerate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/work"
)

// CountResult is what came of all sets of a number of links, or of samples of them, for some
// mechanisms. Shares are from 0 to 1.
type CountResult struct {
	Topology   string  `json:"topology"`
	Mechanisms string  `json:"mechanisms"`
	Faults     int     `json:"faults"` // dead links of each set
	Region     string  `json:"region"`
	Links      int     `json:"links"` // that may die
	Samples    uint64  `json:"samples,omitempty"`
	Seed       *uint64 `json:"seed,omitempty"` // of the samples

	FaultSets    uint64  `json:"fault_sets"`
	NotTolerated uint64  `json:"not_tolerated"` // sets
	Share        float64 `json:"not_tolerated_share"`
	Error        float64 `json:"not_tolerated_error,omitempty"` // of samples: half of the interval of 95%
	// sets that leave pairs that no live links join; these are excused
	Disconnected uint64 `json:"disconnecting_sets"`

	// Of the tolerated sets. Pairs are ordered pairs of different switches.
	Pairs         int                `json:"pairs"`               // of each set
	PairsAffected int                `json:"pairs_affected"`      // of all sets together
	MeanAffected  float64            `json:"mean_pairs_affected"` // 0 when there are none
	AffectedShare float64            `json:"affected_share"`      // of the pairs of different switches
	OfAll         float64            `json:"affected_share_of_all"`
	ByMechanism   map[string]int     `json:"by_mechanism"` // affected pairs, by the mechanisms of their way
	ByShare       map[string]float64 `json:"by_mechanism_share"`

	Example    *ExampleResult `json:"example"` // the first set that is not tolerated; null: there is none
	Symmetries int            `json:"symmetries,omitempty"`
	Judged     uint64         `json:"judged"`   // sets; each of the others is the same as one of these
	Complete   bool           `json:"complete"` // false: interrupted, the counts are of the sets until then
	Seconds    float64        `json:"seconds"`

	Uses []UseCount `json:"-"` // ByMechanism, by number of mechanisms
}

// UseCount is how many pairs go by some mechanisms.
type UseCount struct {
	Use   string // as I+D
	Pairs int
}

// Sampling says which sets of so many links are counted.
type Sampling struct {
	Samples    uint64 // drawn; 0: all sets are counted
	Seed       uint64 // of the draws
	NoSymmetry bool   // sets are judged too that symmetries map onto others
}

// Cell is what is counted: the sets of so many links that some mechanisms do not tolerate.
type Cell struct {
	Mechanisms direct.Mechanisms
	Faults     int
}

// counting is a cell with its parts.
type counting struct {
	Cell
	from, parts int // pieces of the job
	left        int // of these, those that are to come
	sets        *Sets
	sum         Counts
}

// Count counts cells, all of them as one job of the engine; nil is this process. It calls each with
// the result of a cell when that and those before it are known; and tells, unless that is nil, how
// many sets more were counted, now and then and from several goroutines at once. When the context
// ends, the results are of the sets until then, and not Complete.
func (q *Query) Count(ctx context.Context, engine work.Engine, cells []Cell, s Sampling, told func(sets uint64),
	each func(CountResult) error,
) error {
	var list []*counting
	var of []*counting // by piece
	for _, c := range cells {
		n := &counting{Cell: c, from: len(of)}
		if err := q.divide(n, s); err != nil {
			return err
		}
		list = append(list, n)
		for range n.parts {
			of = append(of, n)
		}
	}
	judges := make([]map[direct.Mechanisms]Judge, work.Local{Workers: q.Workers}.Count(len(of)))
	here := engine == nil
	more := func(sets uint64) bool {
		if told != nil && here {
			told(sets)
		}
		return ctx.Err() == nil
	}
	graph := sha256.New()
	_ = q.Graph.WriteJSON(graph) // a hash takes everything
	same := fmt.Sprintf("tolerate %x %v %v", graph.Sum(nil), q.Links, s)
	began, next := time.Now(), 0
	tell := func(whole bool) error {
		for ; next < len(list) && (list[next].left == 0 || !whole && list[next].sum.Sets > 0); next++ {
			r := q.result(list[next], s)
			r.Seconds = time.Since(began).Seconds()
			began = time.Now()
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	}
	j := work.Job{What: "parts of the fault sets", Count: len(of), Piece: func(i int) work.Piece {
		n := of[i]
		return work.Piece{
			Name: fmt.Sprintf("part %d of %d faults by %v", i-n.from, n.Faults, n.Mechanisms),
			Key:  work.Key(same, n.Mechanisms, n.Faults, i-n.from), Cost: n.cost(i-n.from, s),
		}
	}}
	j.Run, j.Merge = work.JSON(func(_ context.Context, worker, i int) (c Counts, err error) {
		n := of[i]
		if judges[worker] == nil {
			judges[worker] = map[direct.Mechanisms]Judge{}
		}
		judge := judges[worker][n.Mechanisms]
		if judge == nil {
			judge = q.Net.NewEvaluator(n.Mechanisms)
			judges[worker][n.Mechanisms] = judge
		}
		if n.sets != nil {
			n.sets.Count(i-n.from, judge, &c, more)
			return c, nil
		}
		from := uint64(i-n.from) * sampleBlock
		_, err = Sample(q.Links, n.Faults, from, min(from+sampleBlock, s.Samples), Draws(s.Seed), judge, &c, more)
		return c, err
	}, func(i int, c Counts) error {
		n := of[i]
		n.sum.Add(&c)
		if told != nil && !here {
			told(c.Sets)
		}
		if n.left--; n.left > 0 || ctx.Err() != nil {
			return nil
		}
		if n.sets != nil {
			if err := n.sets.Complete(&n.sum); err != nil {
				return err
			}
		}
		return tell(true)
	})
	if here {
		engine = work.Local{Workers: q.Workers}
	}
	err := engine.Run(ctx, &j)
	if ctx.Err() == nil {
		return err
	}
	for _, n := range list {
		n.left = max(1, n.left) // nobody knows that the last parts were whole
	}
	return tell(false)
}

// sampleBlock is how many samples are a piece, chosen by us.
const sampleBlock = 2048

// divide finds the parts of a cell. Sample i has draws of its own, so it is the same whoever takes
// it; and with one more fault it is the same set with one more link.
func (q *Query) divide(n *counting, s Sampling) (err error) {
	if s.Samples > 0 {
		n.parts = int((s.Samples + sampleBlock - 1) / sampleBlock)
	} else {
		var symmetries []Symmetry
		if !s.NoSymmetry {
			symmetries = Symmetries(q.Net, n.Mechanisms)
		}
		if n.sets, err = NewSets(q.Links, n.Faults, symmetries); err != nil {
			return err
		}
		n.parts = n.sets.Parts()
	}
	n.left = n.parts
	return nil
}

// cost is about how many sets a part has. Of all sets it is the most, which symmetries make fewer.
func (n *counting) cost(part int, s Sampling) float64 {
	if n.sets == nil {
		return float64(min(sampleBlock, s.Samples-uint64(part)*sampleBlock))
	}
	prefix := n.sets.parts[part]
	last := -1
	if len(prefix) > 0 {
		last = int(prefix[len(prefix)-1])
	}
	sets, _ := Choose(len(n.sets.group.links)-last-1, n.Faults-len(prefix))
	return float64(sets)
}

// result is what came of a cell.
func (q *Query) result(n *counting, s Sampling) CountResult {
	switches := len(q.Graph.Switches)
	r := CountResult{
		Topology: q.Graph.Spec, Mechanisms: n.Mechanisms.String(), Faults: n.Faults, Region: q.Region, Links: len(q.Links),
		Samples: s.Samples, Pairs: switches * (switches - 1), Complete: n.left == 0,
	}
	if n.sets != nil {
		r.Symmetries = n.sets.Symmetries()
	} else {
		r.Seed = &s.Seed
	}
	r.fill(&n.sum, switches)
	if n.sum.Example != nil {
		r.Example = q.example(n.Mechanisms, n.sum.Example.Dead)
	}
	return r
}

// Draws are the draws of [Sample]: those of sample i of a seed. They belong to one goroutine.
func Draws(seed uint64) func(i uint64) func(n int) int {
	pcg := rand.NewPCG(0, 0)
	source := rand.New(pcg).IntN
	return func(i uint64) func(int) int {
		*pcg = *weft.Stream(seed, weft.StreamRegionSets, i, 0)
		return source
	}
}

// fill fills what is counted, in a net of so many switches.
func (r *CountResult) fill(n *Counts, switches int) {
	r.FaultSets, r.NotTolerated, r.Disconnected, r.Judged = n.Sets, n.NotTolerated, n.Excusing, n.Judged
	r.PairsAffected = n.Pairs.Affected
	r.ByMechanism, r.ByShare = map[string]int{}, map[string]float64{}
	for use, pairs := range n.Pairs.Each() {
		r.Uses = append(r.Uses, UseCount{use.String(), pairs})
		r.ByMechanism[use.String()] = pairs
		r.ByShare[use.String()] = float64(pairs) / float64(n.Pairs.Affected)
	}
	if n.Sets > 0 {
		r.Share = float64(n.NotTolerated) / float64(n.Sets)
		if r.Samples > 0 {
			_, r.Error = Wilson(n.NotTolerated, n.Sets, Z95)
		}
	}
	if t := n.Tolerated(); t > 0 {
		r.MeanAffected = float64(n.Pairs.Affected) / float64(t)
		r.AffectedShare = r.MeanAffected / float64(r.Pairs)
		r.OfAll = r.MeanAffected / float64(switches*switches)
	}
}
