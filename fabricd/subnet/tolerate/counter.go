package tolerate

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
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

// Counter counts the sets that some mechanisms do not tolerate. It belongs to one goroutine.
type Counter struct {
	query      *Query
	mechanisms direct.Mechanisms
	sampling   Sampling
	told       func(sets uint64)
	judges     []Judge
	symmetries []Symmetry
}

// NewCounter returns a counter. It tells, unless that is nil, how many sets more were counted, now
// and then and from several goroutines at once.
func (q *Query) NewCounter(m direct.Mechanisms, s Sampling, told func(sets uint64)) *Counter {
	c := &Counter{query: q, mechanisms: m, sampling: s, told: told, judges: make([]Judge, max(1, q.Workers))}
	for i := range c.judges {
		c.judges[i] = q.Net.NewEvaluator(m)
	}
	if !s.NoSymmetry && s.Samples == 0 {
		c.symmetries = Symmetries(q.Net, m)
	}
	return c
}

// Count counts the sets of k links. When the context ends, the result is of the sets until then,
// and not Complete.
func (c *Counter) Count(ctx context.Context, k int) (CountResult, error) {
	start := time.Now()
	q, n := c.query, len(c.query.Graph.Switches)
	r := CountResult{
		Topology: q.Graph.Spec, Mechanisms: c.mechanisms.String(), Faults: k, Region: q.Region, Links: len(q.Links),
		Samples: c.sampling.Samples, Pairs: n * (n - 1),
	}
	var sum Counts
	var err error
	if c.sampling.Samples > 0 {
		r.Seed = &c.sampling.Seed
		err = c.sample(ctx, k, &sum)
	} else {
		r.Symmetries, err = c.all(ctx, k, &sum)
	}
	if err != nil {
		return r, err
	}
	r.fill(&sum, n)
	r.Complete = ctx.Err() == nil
	if sum.Example != nil {
		r.Example = q.example(c.mechanisms, sum.Example.Dead)
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

func (c *Counter) all(ctx context.Context, k int, sum *Counts) (symmetries int, err error) {
	sets, err := NewSets(c.query.Links, k, c.symmetries)
	if err != nil {
		return 0, err
	}
	whole := c.each(ctx, sets.Parts(), sum, func(part int, j Judge, n *Counts) {
		sets.Count(part, j, n, c.more(ctx))
	})
	if whole {
		err = sets.Complete(sum)
	}
	return sets.Symmetries(), err
}

// sampleBlock is how many samples one goroutine takes at a time, chosen by us.
const sampleBlock = 2048

// sample draws sets. Sample i has draws of its own, so it is the same whoever takes it; and with
// one more fault it is the same set with one more link.
func (c *Counter) sample(ctx context.Context, k int, sum *Counts) error {
	samples := c.sampling.Samples
	blocks := int((samples + sampleBlock - 1) / sampleBlock)
	var mu sync.Mutex
	var failed error // guarded by mu
	c.each(ctx, blocks, sum, func(block int, j Judge, n *Counts) {
		from := uint64(block) * sampleBlock
		_, err := Sample(c.query.Links, k, from, min(from+sampleBlock, samples), Draws(c.sampling.Seed), j, n,
			c.more(ctx))
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = err
		}
	})
	return failed
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

// each counts parts with all judges at once.
func (c *Counter) each(ctx context.Context, parts int, sum *Counts, count func(part int, j Judge, n *Counts)) bool {
	counts := make([]Counts, len(c.judges))
	whole := c.query.each(ctx, parts, func(worker, part int) { count(part, c.judges[worker], &counts[worker]) })
	for i := range counts {
		sum.Add(&counts[i])
	}
	return whole
}

// more is asked by each goroutine whether to go on.
func (c *Counter) more(ctx context.Context) func(sets uint64) bool {
	return func(sets uint64) bool {
		if c.told != nil {
			c.told(sets)
		}
		return ctx.Err() == nil
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
			_, r.Error = Wilson(n.NotTolerated, n.Sets)
		}
	}
	if t := n.Tolerated(); t > 0 {
		r.MeanAffected = float64(n.Pairs.Affected) / float64(t)
		r.AffectedShare = r.MeanAffected / float64(r.Pairs)
		r.OfAll = r.MeanAffected / float64(switches*switches)
	}
}
