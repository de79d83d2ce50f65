package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// interruptedAndOn runs until so many destinations have ended, again and again, and returns what
// the last run has found and how many runs there were.
func interruptedAndOn(t *testing.T, c Config, atATime uint64) (r *Result, runs int) {
	t.Helper()
	for {
		ctx, cancel := context.WithCancel(t.Context())
		first := uint64(0)
		c.Destinations = func(done, total uint64) {
			if first == 0 {
				first = done
			}
			if done >= first+atATime && done < total {
				cancel()
			}
		}
		r, err := Run(ctx, c)
		cancel()
		require.NoError(t, err)
		if runs++; !r.Interrupted {
			return r, runs
		}
		require.False(t, r.Pass)
		require.Less(t, runs, 100)
	}
}

// unnumbered is a firmware of whose channels no numbers are said.
func unnumbered() switching.Firmware {
	fw := firmware.DeterministicLink()
	fw.ChannelNumber = nil
	return fw
}

func TestAllSetsAtOnceGoOnFromACheckpoint(t *testing.T) {
	lies, plain := firmware.DeterministicLink(), unnumbered()
	lies.DestinationBased = false
	for _, c := range []struct {
		name    string
		fw      switching.Firmware
		on      string
		most    int
		runs    int
		doubted bool
	}{
		{"which holds", firmware.DeterministicLink(), "kary-ntree:4,3", 3, 8, false},
		{"with something wrong", firmware.DeterministicLink(), "kary-ntree:3,3", 4, 5, false},
		{"where channels have no numbers", plain, "kary-ntree:3,3", 2, 5, false},
		{"pair by pair", lies, "kary-ntree:2,3", 1, 15, false},
		{"with a firmware that says that it is cyclic and is not", alwaysOdd(16 * 17), "kary-ntree:17,2", 3, 9, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.doubted {
				testenv.Unraced(t)
			}
			config := Config{Graph: topologytest.Parse(t, c.on), Firmware: c.fw, Sets: Sets{Max: c.most}, Workers: 1}
			whole, err := Run(t.Context(), config)
			require.NoError(t, err)
			require.Equal(t, Lazy, whole.Method)
			require.Equal(t, c.doubted, whole.Asymmetry != "", whole.Asymmetry)

			config.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
			r, runs := interruptedAndOn(t, config, 1)
			assert.GreaterOrEqual(t, runs, c.runs)
			whole.Seconds, r.Seconds = 0, 0
			assert.Equal(t, whole, r, "as in one go")

			again, err := Run(t.Context(), config)
			require.NoError(t, err)
			again.Seconds = 0
			assert.Equal(t, whole, again, "all has ended")
		})
	}
}

func TestACheckpointOfAllSetsAtOnceThatIsDamagedIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:3,3"), Firmware: unnumbered(), Sets: Sets{Max: 1},
		Checkpoint: file,
	}
	ran(t, c)
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	for what, change := range map[string]func(p *page){
		"other destinations": func(p *page) { p.Lazy.Count++ },
		"a short list":       func(p *page) { p.Lazy.Done = nil },
		"half an edge":       func(p *page) { p.Lazy.Sum.Edges = p.Lazy.Sum.Edges[:6] },
		"no such channel":    func(p *page) { p.Lazy.Sum.Edges[3] = 0xff },
		"no such flow":       func(p *page) { p.Lazy.Sum.Flow = 1 << 20 },
		"another run":        func(p *page) { p.Of = "" },
	} {
		var p page
		require.NoError(t, json.Unmarshal(good, &p))
		change(&p)
		data, err := json.Marshal(&p)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		_, err = Run(t.Context(), c)
		assert.ErrorContains(t, err, "is of another run: name another file, or remove it", what)
	}
	require.NoError(t, os.WriteFile(file, good, 0o600))
	ran(t, c)
}

// counting is an engine that notes what it is given.
type counting struct {
	work.Local
	jobs []string
}

func (e *counting) Run(ctx context.Context, j *work.Job) error {
	e.jobs = append(e.jobs, fmt.Sprintf("%d %s", j.Count, j.What))
	return e.Local.Run(ctx, j)
}

// Other machines explore destinations where there are too many sets for anything else: who computes
// for others could not know what comes next.
func TestAnEngineExploresDestinationsWhereThereAreTooManySets(t *testing.T) {
	for most, want := range map[int][]string{2: nil, 7: {"64 destinations"}} {
		e := &counting{Local: work.Local{Workers: 2}}
		c := Config{
			Graph: topologytest.Parse(t, "kary-ntree:8,3"), Firmware: firmware.DeterministicLink(), Sets: Sets{Max: most},
			Workers: 2, Engine: e,
		}
		r := ran(t, c)
		assert.True(t, r.Pass)
		assert.Equal(t, want, e.jobs)
	}
}
