package sweep

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
)

// settling is an experiment of three points whose statements need few samples, many, and more than
// there may be.
func settling(t testing.TB, o Options) *Settling {
	t.Helper()
	e := small(t)
	check := func(says string, above float64) Check {
		return Check{Says: says, Ref: "nobody", Value: "accepted", Where: map[string]Some{
			"method": {"ADLR"}, "load": {"0.3"}, "faults": {"0"},
		}, Above: &above}
	}
	// Without faults 1.2*1.1*(0.95 to 1.05) is accepted, 1.32 in the mean.
	e.Checks = []Check{check("far", 0.5), check("near", 1.3), check("at the mean", 1.32)}
	s, err := e.Settle(o)
	require.NoError(t, err)
	return s
}

// settleAll makes all stages, and returns how many samples the points had in each.
func settleAll(t testing.TB, s *Settling) (stages []string) {
	t.Helper()
	require.NoError(t, SettleAll(t.Context(), []*Settling{s}, func(s *Settling) { stages = append(stages, s.Next()) }))
	return stages
}

func TestSamplesGoWhereAStatementIsOpen(t *testing.T) {
	f := &fake{}
	o := options(t, f)
	o.Samples = 300
	s := settling(t, o)
	stages := settleAll(t, s)
	all := len(s.start.plan.points)
	own := s.own()
	require.Greater(t, all, 1)
	require.Greater(t, own, look)
	assert.Equal(t, []string{
		"2 samples of 18 points", "8 samples of 1 point", "16 samples of 1 point", "32 samples of 1 point",
		"64 samples of 1 point", "128 samples of 1 point", "256 samples of 1 point", "300 samples of 1 point",
		"4 samples of 17 points",
	}, stages)
	assert.True(t, s.Done())
	assert.Equal(t, 1, s.Open())
	r, err := s.End()
	require.NoError(t, err)
	assert.Equal(t, own*(all-1)+300, f.all, "no run is made twice")
	assert.Equal(t, own, r.Least)
	assert.Equal(t, 300, r.Samples)
	far, near, at := r.Findings[0], r.Findings[1], r.Findings[2]
	assert.Equal(t, Holds, far.Holds)
	assert.Equal(t, 8, far.Samples)
	assert.Equal(t, Holds, near.Holds)
	assert.Less(t, near.Samples, 300)
	assert.Greater(t, near.Samples, 8)
	assert.True(t, strings.HasSuffix(at.Holds, Unsure), at.Holds)
	assert.Equal(t, 300, at.Samples)
}

// Where a statement is about several points, those that are clear get no more samples.
func TestSamplesGoToThePointsOnWhichAVerdictDepends(t *testing.T) {
	e := small(t)
	// 1.32 without faults, and 1.254 with one.
	e.Checks = []Check{{Says: "above", Ref: "nobody", Value: "accepted", Above: new(1.235), Where: map[string]Some{
		"method": {"ADLR"}, "load": {"0.3"}, "faults": {"0", "1"},
	}}}
	o := options(t, &fake{})
	s, err := e.Settle(o)
	require.NoError(t, err)
	stages := settleAll(t, s)
	assert.Equal(t, []string{"2 samples of 18 points", "8 samples of 2 points", "16 samples of 1 point"}, stages[:3])
	r, err := s.End()
	require.NoError(t, err)
	f := r.Findings[0]
	assert.Equal(t, []any{Holds, 2, 2}, []any{f.Holds, f.Points, f.Held})
	assert.Greater(t, f.Samples, 16)
}

// Whoever interrupts a run, and with more samples goes on, comes to the same files.
func TestSettlingGoesOnWhereItWasInterrupted(t *testing.T) {
	o := options(t, &fake{})
	o.Samples = 64
	s := settling(t, o)
	settleAll(t, s)
	_, err := s.End()
	require.NoError(t, err)
	whole := contents(t, o.Dir)

	f := &fake{}
	o2 := options(t, f)
	o2.Samples = 64
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := errors.New("enough")
	o2.Runner = func(c context.Context, config measure.Config) (measure.Result, error) {
		r, err := f.run(c, config)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.all == 60 {
			cancel(stop)
		}
		return r, err
	}
	s = settling(t, o2)
	err = SettleAll(ctx, []*Settling{s}, func(*Settling) {})
	require.ErrorIs(t, err, ErrInterrupted)
	_, err = s.End()
	require.NoError(t, err, "the stages that were made are written")
	o2.Runner = f.run
	s = settling(t, o2)
	settleAll(t, s)
	_, err = s.End()
	require.NoError(t, err)
	assert.Equal(t, whole, contents(t, o2.Dir))
}

// A statement whose bound is the mean itself has no right verdict that samples could show. To look
// at each doubling must not find one in more than 5 of 100 cases.
func TestLookingOftenDoesNotErrOften(t *testing.T) {
	const series, stages = 2000, 7
	wrong, careless := 0, 0
	draw := rand.New(rand.NewPCG(7, 7))
	for range series {
		var list []float64
		for len(list) < firstStage<<(stages-1) {
			list = append(list, draw.NormFloat64())
		}
		misses := func(of func(stage int) level) int {
			for k := 1; k <= stages; k++ {
				e := of(k).mean(list[:firstStage<<(k-1)])
				if e.low > 0 || e.high < 0 {
					return 1
				}
			}
			return 0
		}
		wrong += misses(ofStage)
		careless += misses(func(int) level { return usual })
	}
	// Five standard deviations above what is allowed.
	assert.Less(t, float64(wrong), 0.05*series+5*math.Sqrt(0.05*0.95*series))
	assert.Greater(t, careless, 2*wrong, "the test could not fail")
}

// All sets of dead links are counted in one sample: a second would be the same.
func TestWhatDrawsNothingHasOneSample(t *testing.T) {
	drawn := "      - {name: drawn, fault_sets: 300}\n"
	for text, want := range map[string]int{ofTolerateText: 2, strings.ReplaceAll(ofTolerateText, drawn, ""): 1} {
		e, err := loadFile("mine.yaml", []byte(text))
		require.NoError(t, err)
		s, err := e.Settle(Options{Dir: t.TempDir(), Jobs: 2, Samples: 2})
		require.NoError(t, err)
		assert.Len(t, settleAll(t, s), 1)
		r, err := s.End()
		require.NoError(t, err)
		assert.Equal(t, want, r.Samples)
	}
}

// A few samples that are all alike have an interval without width, and decide nothing before there
// are as many as the experiment says.
func TestFewAlikeSamplesDecideNothing(t *testing.T) {
	e := small(t)
	e.full.samples = 30
	zero := Check{
		Says: "none differs", Ref: "nobody", Value: "discarded", Where: map[string]Some{"method": {"DDLR"}},
		Against: map[string]Value{"method": "DDRC"}, As: asDifference, AtMost: new(0.0),
	}
	e.Checks = []Check{zero}
	s, err := e.Settle(options(t, &fake{}))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"2 samples of 18 points", "8 samples of 12 points", "30 samples of 18 points",
	}, settleAll(t, s))
	r, err := s.End()
	require.NoError(t, err)
	assert.Equal(t, 30, r.Findings[0].Samples)
	assert.Equal(t, Holds, r.Findings[0].Holds)
}

// What there was no time for is told: its statements are not run, and results of before stay.
func TestASettlingWithoutTimeWritesThatNothingWasRun(t *testing.T) {
	o := options(t, &fake{})
	o.Samples = 8
	s := settling(t, o)
	r, err := s.End()
	require.NoError(t, err)
	assert.Contains(t, r.Notes[len(r.Notes)-1], "there was no time for the first 2 samples of 18 points")
	for _, f := range r.Findings {
		assert.Equal(t, NotRun, f.Holds)
	}
	n, err := Index(filepath.Dir(o.Dir))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Contains(t, contents(t, o.Dir)["README.md"], "No runs yet. ")
	s = settling(t, o)
	settleAll(t, s)
	_, err = s.End()
	require.NoError(t, err)
	whole := contents(t, o.Dir)
	s = settling(t, o)
	_, err = s.End()
	require.NoError(t, err)
	assert.Equal(t, whole, contents(t, o.Dir))
}

// At last all points have as many samples as the experiment says. What these show counts, and a
// statement that was taken for decided before goes on with more.
func TestTheLastLookIsAtAsManySamplesAsTheExperimentSays(t *testing.T) {
	testenv.Raced(t)
	f := &fake{}
	o := options(t, f)
	o.Samples = 300
	s := settling(t, o)
	s.start.plan.samples = 100
	require.NoError(t, s.Stage(t.Context()))
	s.open = nil // as if all had been decided by luck
	s.want(s.start.empty())
	assert.Equal(t, []string{
		"100 samples of 18 points", "128 samples of 1 point", "256 samples of 1 point", "300 samples of 1 point",
	}, settleAll(t, s))
	r, err := s.End()
	require.NoError(t, err)
	assert.Equal(t, 18*100+200, f.all, "no run is made twice")
	assert.Equal(t, 100, r.Least)
	far, at := r.Findings[0], r.Findings[2]
	assert.Equal(t, []any{Holds, 100}, []any{far.Holds, far.Samples})
	assert.Equal(t, 300, at.Samples)
	assert.True(t, strings.HasSuffix(at.Holds, Unsure), at.Holds)
}

// What decides nothing more waits for all that may.
func TestSamplesThatDecideNothingComeLast(t *testing.T) {
	e := small(t)
	e.Checks = nil
	nothing, err := e.Settle(options(t, &fake{}))
	require.NoError(t, err)
	open := settling(t, options(t, &fake{}))
	var rest []bool
	require.NoError(t, SettleAll(t.Context(), []*Settling{nothing, open}, func(s *Settling) {
		rest = append(rest, s.next().rest)
	}))
	first := slices.Index(rest, true)
	assert.Equal(t, 2, len(rest)-first)
	assert.NotContains(t, rest[first:], false)
	_, err = nothing.End()
	require.NoError(t, err)
	_, err = open.End()
	require.NoError(t, err)
}

// Of what was interrupted, the stages that are there come first: they take nothing.
func TestWhatIsThereIsNoWork(t *testing.T) {
	f := &fake{}
	o := options(t, f)
	o.Samples = 16
	s := settling(t, o)
	fresh := s.size()
	require.Positive(t, fresh)
	require.NoError(t, s.Stage(t.Context()))
	require.Positive(t, s.size())
	require.Less(t, s.size(), fresh)
	require.NoError(t, s.Close())
	s = settling(t, o)
	require.Zero(t, s.size())
	require.NoError(t, s.Close())
}
