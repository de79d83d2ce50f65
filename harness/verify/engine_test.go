package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

func byName(t *testing.T, name string) firmware.Firmware {
	t.Helper()
	e, ok := firmware.ByName(name)
	require.True(t, ok, name)
	return e
}

func ran(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

// counts is what two runs that differ in how they went about it must agree on.
func counts(r *Result) Result {
	c := *r
	c.Symmetry, c.Asymmetry, c.Explored, c.States, c.Seconds, c.Counter, c.firsts = "", "", 0, 0, 0, nil, nil
	return c
}

func TestSymmetrySparesSetsAndChangesNoCount(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, e := range firmware.For(firmware.Trees) {
		fw := e
		if !fw.Symmetric {
			continue
		}
		for _, c := range []struct {
			on   string
			kind Kind
			max  int
			when When
		}{
			{"kary-ntree:2,3", Links, 2, Before},
			{"kary-ntree:2,3", Any, 2, Before},
			{"kary-ntree:2,3", Switches, 2, Arriving},
			{"mport-tree:4,2", Any, 2, Before},
			{"kary-ntree:3,2", Links, 2, Flapping},
			{"kary-ntree:3,2", Any, 3, Before},
			{"kary-ntree:4,2", Links, 2, Before},
			{"mport-tree:4,3", Links, 1, Before},
			{"kary-ntree:2,4", Any, 1, Before},
		}[:testenv.Levels(9, 5, 2)] {
			t.Run(fmt.Sprint(e.Name, " ", c.on, " ", c.kind, " ", c.when), func(t *testing.T) {
				t.Parallel()
				config := Config{
					Graph: topologytest.Parse(t, c.on), Firmware: fw, Sets: Sets{Kind: c.kind, Max: c.max},
					When: c.when, Workers: 1,
				}
				few := ran(t, config)
				config.NoSymmetry = true
				all := ran(t, config)
				assert.Equal(t, counts(all), counts(few))
				assert.NotEmpty(t, few.Symmetry)
				assert.Empty(t, few.Asymmetry, "it keeps what it claims")
				assert.Less(t, few.Explored, all.Explored)
				assert.Equal(t, all.FaultSets, all.Explored)
			})
		}
	}
}

func TestAFirmwareThatIsNotSymmetricIsExploredInFull(t *testing.T) {
	t.Parallel()
	r := ran(t, Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: firmware.DeterministicLink(), Sets: Sets{Max: 1},
		Exhaustive: true,
	})
	assert.Empty(t, r.Symmetry)
	assert.Equal(t, r.FaultSets, r.Explored)
}

// Faults that arrive while packets travel can also arrive before, and those that flap can also only
// arrive: each finds what the one before it finds.
func TestArrivingContainsBeforeAndFlappingContainsArriving(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, e := range firmware.For(firmware.Trees) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, "kary-ntree:2,3")
			s := Sets{Kind: Links, Max: 2}
			require.NoError(t, s.resolve(g))
			for i := uint64(0); i < s.total(); i += uint64(testenv.Levels(5, 12, 40)) {
				var last tally
				for when := Before; when <= Flapping; when++ {
					c := Config{Graph: g, Firmware: e, VCs: subnet.LeastVCs(e, g), When: when}
					m, err := newModel(&c)
					require.NoError(t, err)
					now, err := newExplorer(m, nil).run(s.at(i))
					require.NoError(t, err)
					what := fmt.Sprintf("set %d, %d after %d", i, when, when-1)
					assert.GreaterOrEqual(t, now.unconnected, last.unconnected, what)
					assert.GreaterOrEqual(t, now.livelocks, last.livelocks, what)
					assert.GreaterOrEqual(t, now.stuck, last.stuck, what)
					if now.unconnected == 0 {
						assert.GreaterOrEqual(t, now.hops, last.hops, what)
					}
					assert.True(t, now.cyclic || !last.cyclic, what)
					last = *now
				}
			}
		})
	}
}

func TestRegistersSharedByAllFindWhatAPacketAloneFinds(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, name := range []string{"adaptive-link", "adaptive-link-digit", "adaptive-switch", "adaptive-switch-digit"} {
		c := Config{
			Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: byName(t, name), Sets: Sets{Max: testenv.N(3, 2)},
			Regs: Alone,
		}
		alone := ran(t, c)
		c.Regs = Shared
		shared := ran(t, c)
		assert.GreaterOrEqual(t, shared.Unconnected, alone.Unconnected, name)
		assert.Equal(t, "alone", alone.Registers)
		assert.Equal(t, "shared", shared.Registers)
	}
}

func TestEverySetIsEnumeratedOnce(t *testing.T) {
	t.Parallel()
	for kind, elements := range map[Kind]int{Links: 16, Switches: 8, Any: 24} {
		s := Sets{Kind: kind, Min: 1, Max: 3}
		require.NoError(t, s.resolve(topologytest.Parse(t, "kary-ntree:2,3")))
		n := len(s.elements)
		assert.Equal(t, elements, n)
		seen := map[string]bool{}
		last := 1
		for i := range s.total() {
			set := s.at(i)
			assert.GreaterOrEqual(t, len(set), last, "smaller sets first")
			last = len(set)
			assert.True(t, slices.IsSortedFunc(set, func(a, b Element) int { return s.index(a) - s.index(b) }))
			for j := 1; j < len(set); j++ {
				assert.NotEqual(t, set[j-1], set[j])
			}
			assert.False(t, seen[fmt.Sprint(set)], "%v twice", set)
			seen[fmt.Sprint(set)] = true
		}
		assert.Len(t, seen, n+n*(n-1)/2+n*(n-1)*(n-2)/6)
	}
}

func TestSamplesAreReproducibleAndDependOnTheSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (sets [][]Element) {
		s := Sets{Kind: Any, Min: 2, Max: 4, Samples: 20, Seed: seed}
		require.NoError(t, s.resolve(topologytest.Parse(t, "kary-ntree:3,3")))
		require.Equal(t, uint64(60), s.total())
		for i := range s.total() {
			set := s.at(i)
			assert.Len(t, set, 2+int(i/20))
			sets = append(sets, set)
		}
		return sets
	}
	assert.Equal(t, draw(1), draw(1))
	assert.NotEqual(t, draw(1), draw(2))
	assert.NotEqual(t, draw(1)[0], draw(1)[1])
}

func TestChooseIsTheBinomialCoefficient(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		for k := range n + 2 {
			want := math.Round(math.Exp(lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1)))
			if k > n {
				want = 0
			}
			assert.InDelta(t, want, float64(choose(n, k)), 0, "%d over %d", n, k)
		}
	}
	assert.Equal(t, uint64(341376), choose(128, 3), "three links of the 4-ary 3-tree")
	assert.Greater(t, choose(1000, 500), uint64(maxSets), "large numbers do not wrap")
}

func lgamma(n int) float64 {
	l, _ := math.Lgamma(float64(n))
	return l
}

func TestOneWorkerAndFourFindTheSame(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"deterministic-link", "adaptive-link", "adaptive-switch-one",
		"updown",
	}[:testenv.N(4, 2)] {
		c := Config{
			Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: byName(t, name),
			Sets: Sets{Kind: Any, Max: 2}, NoSymmetry: true, Workers: 1,
		}
		one := ran(t, c)
		c.Workers = 4
		four := ran(t, c)
		one.Seconds, four.Seconds = 0, 0
		assert.Equal(t, one, four, name)
	}
}

func TestStopAtFirstEndsEarlyWithASmallestSet(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:3,3"), Firmware: byName(t, "adaptive-link-one"),
		Sets: Sets{Max: 3}, NoSymmetry: true, Workers: 2, StopAtFirst: true,
	}
	r := ran(t, c)
	assert.False(t, r.Pass)
	require.NotNil(t, r.Counter)
	assert.Len(t, r.Counter.Faults, 2)
	assert.Less(t, r.Explored, uint64(3000))
}

func TestAnInterruptedRunGoesOnAndEndsAsOneInOneGo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"adaptive-link-one", "deterministic-link", "adaptive-link"}[:testenv.N(3, 1)] {
		file := filepath.Join(t.TempDir(), "run.json")
		c := Config{
			Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: byName(t, name), Sets: Sets{Max: 3},
			NoSymmetry: true, Workers: 2,
		}
		whole := ran(t, c)
		require.Positive(t, whole.FaultSets)

		c.Checkpoint = file
		runs := 0
		for interrupted := true; interrupted; runs++ {
			ctx, cancel := context.WithCancel(context.Background())
			last := uint64(0)
			c.Progress = func(done, total uint64) {
				assert.Greater(t, done, last)
				assert.LessOrEqual(t, done, total)
				last = done
				if done >= uint64(runs+1)*leastChunk {
					cancel()
				}
			}
			r, err := Run(ctx, c)
			require.NoError(t, err)
			if interrupted = r.Interrupted && r.FaultSets < whole.FaultSets; interrupted {
				assert.False(t, r.Pass, "not all is explored")
				require.Less(t, runs, 20)
				cancel()
				continue
			}
			cancel()
			c.Progress = nil
			r = ran(t, c) // all is done: nothing is explored again
			want, got := counts(whole), counts(r)
			assert.Equal(t, want, got)
			assert.Equal(t, whole.Explored, r.Explored)
			assert.Equal(t, whole.Counter, r.Counter)
		}
		assert.Greater(t, runs, 1, "it was never interrupted")
	}
}

func TestACheckpointOfAnotherRunOrADamagedOneIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.json")
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: firmware.DeterministicLink(),
		Sets: Sets{Max: 1}, Checkpoint: file, Exhaustive: true,
	}
	ran(t, c)
	for what, change := range map[string]func(c *Config){
		"another topology": func(c *Config) { c.Graph = topologytest.Parse(t, "kary-ntree:2,4") },
		"another firmware": func(c *Config) { c.Firmware = firmware.MisrouteVector{}.Firmware() },
		"another variant":  func(c *Config) { c.Firmware = firmware.DeterministicLinkOne() },
		"more faults":      func(c *Config) { c.Sets.Max = 2 },
		"another kind":     func(c *Config) { c.Sets.Kind = Any },
		"a changed file": func(c *Config) {
			c.Graph = topologytest.Parse(t,
				"mport-tree:4,3")
			c.Graph.Spec = "kary-ntree:2,3"
		},
		"samples":             func(c *Config) { c.Sets.Samples = 17 },
		"another list":        func(c *Config) { c.Sets = Sets{List: [][]Element{{}}} },
		"other moments":       func(c *Config) { c.When = Arriving },
		"faults that flap":    func(c *Config) { c.When, c.AtOnce = Flapping, 1 },
		"ports one by one":    func(c *Config) { c.When, c.OneByOne = Flapping, true },
		"fixed outputs":       func(c *Config) { c.FixedChoice = true },
		"other registers":     func(c *Config) { c.Regs = Alone },
		"more channels":       func(c *Config) { c.VCs = 3 },
		"a subfunction":       func(c *Config) { c.Subfunction = FaultFreeSubtrees },
		"tables to compare":   func(c *Config) { c.Compare = func([]Element) (bool, bool) { return true, true } },
		"samples per group":   func(c *Config) { c.Sets.Samples, c.Sets.PerGroup = 17, true },
		"symmetry turned off": func(c *Config) { c.NoSymmetry = true },
	} {
		other := c
		change(&other)
		_, err := Run(context.Background(), other)
		require.ErrorIs(t, err, ErrConfig, what)
		assert.ErrorContains(t, err, "name another file, or remove it", what)
	}
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	var p map[string]any
	require.NoError(t, json.Unmarshal(good, &p))
	damaged := func(change func(p map[string]any)) []byte {
		q := maps.Clone(p)
		change(q)
		data, err := json.Marshal(q)
		require.NoError(t, err)
		return data
	}
	for what, data := range map[string][]byte{
		"cut off": good[:len(good)/2], "empty": {}, "not ours": []byte(`{"a":1}`), "null": []byte("null"),
		"a list":       []byte("[]"),
		"result null":  damaged(func(p map[string]any) { p["result"] = nil }),
		"no result":    damaged(func(p map[string]any) { delete(p, "result") }),
		"empty result": damaged(func(p map[string]any) { p["result"] = map[string]any{} }),
		"no chunks":    damaged(func(p map[string]any) { p["done"] = []uint64{} }),
	} {
		require.NoError(t, os.WriteFile(file, data, 0o644))
		_, err := Run(context.Background(), c)
		require.ErrorIs(t, err, ErrConfig, what)
	}
	require.NoError(t, os.WriteFile(file, good, 0o644))
	assert.True(t, ran(t, c).Pass)
}

func TestACheckpointKnowsWhichSubfunctionWasChecked(t *testing.T) {
	t.Parallel()
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: byName(t, "adaptive-link"),
		Checkpoint: filepath.Join(t.TempDir(), "run.json"), Subfunction: FaultFreeSubtrees,
	}
	ran(t, c)
	c.Subfunction = FaultFreeGroups
	_, err := Run(t.Context(), c)
	require.ErrorContains(t, err, "is of another run")
}

func TestACheckpointKnowsATopologyByWhatIsInItsFile(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	c := Config{Graph: g, Firmware: firmware.None(), Checkpoint: filepath.Join(t.TempDir(), "run.json")}
	ran(t, c)
	c.Graph = topologytest.Parse(t, "ring:4")
	c.Graph.Switches[0].Name = "edited"
	_, err := Run(t.Context(), c)
	require.ErrorContains(t, err, "is of another run")
}

func TestTwoRunsCannotHaveOneCheckpointAtATime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.json")
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: firmware.DeterministicLink(),
		Sets: Sets{Max: 1}, Checkpoint: file, Workers: 1, Exhaustive: true,
	}
	second := c
	asked := false
	c.Progress = func(uint64, uint64) {
		asked = true
		_, err := Run(t.Context(), second)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "is in use by another run: wait for its end, or name another file")
	}
	ran(t, c)
	require.True(t, asked)
	assert.NoFileExists(t, file+".lock", "nothing is left behind")
	ran(t, second)
	require.NoError(t, os.WriteFile(file+".lock", nil, 0o600)) // as a killed run leaves it: held by nobody
	ran(t, second)
	require.NoError(t, os.WriteFile(file+".lock", []byte("somebody's notes"), 0o600))
	_, err := Run(t.Context(), second)
	require.ErrorContains(t, err, file+".lock stands where its lock is to be, and holds something: name another file")
	text, err := os.ReadFile(file + ".lock")
	require.NoError(t, err)
	require.Equal(t, "somebody's notes", string(text))
}

func TestACheckpointWithoutAnEndIsNotRead(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for path, want := range map[string]string{os.DevNull: "is not a regular file", t.TempDir(): "is not a regular file"} {
		_, err := readBook(path)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, want)
	}
	long := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, maxBook+1)) // sparse: nothing is on the disk
	_, err := readBook(long)
	require.ErrorContains(t, err, "so it is not one of ours")
}

func TestARunThatStoppedAtTheFirstIsOverWhenAskedAgain(t *testing.T) {
	t.Parallel()
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: byName(t, "updown"), Sets: Sets{Max: 3},
		NoSymmetry: true, Workers: 1, StopAtFirst: true,
		Checkpoint: filepath.Join(t.TempDir(), "run.json"),
	}
	once := ran(t, c)
	require.Less(t, once.FaultSets, uint64(697))
	assert.Equal(t, once.FaultSets, ran(t, c).FaultSets)
}

func TestAFirmwareThatFitsWithNoNumberOfChannelsSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), Config{
		Graph:    topologytest.Parse(t, "kary-ntree:2,9"),
		Firmware: byName(t, "source-routed"),
	})
	require.ErrorContains(t, err, "choose a tree of at most 8 tiers")
}
