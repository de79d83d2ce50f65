package verify

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// What becomes of a mutant where all sets are explored at once.
const (
	caught  = "caught"  // something is wrong, which its set explored by itself finds too
	refused = "refused" // it is not what it says, deadlock is not decided, or its packets can know too much
	asGood  = "as good" // it holds in every set
)

// Every rule of the adaptive firmwares is changed in trees of each size, those with registers too.
// A mutant that loses packets by a rule is caught, or it holds in all sets, which shows that no
// packet comes to the rule with so few faults. Then all other mutants of the rule hold as well.
func TestAMutantOfEveryRuleIsCaughtOrAsGoodInWideTrees(t *testing.T) {
	testenv.Unraced(t)
	for _, c := range []manySets{
		{on: "kary-ntree:4,2", most: 3},
		{on: "kary-ntree:4,3", most: 3, hours: true},
		{on: "kary-ntree:8,2", most: 7, long: true},
		{on: "kary-ntree:8,3", most: 7, hours: true},
	} {
		for _, fw := range firmware.All() {
			if !fw.Symmetric || fw.Tolerance.One || !fw.Tolerance.Links {
				continue
			}
			t.Run(c.on+"/"+fw.Name, func(t *testing.T) {
				t.Parallel()
				c.skip(t)
				config := Config{Graph: topologytest.Parse(t, c.on), Firmware: fw, Workers: 1, Sets: Sets{Max: c.most}}
				if fw.Tolerance.Switches {
					config.Sets.Kind = Any
				}
				require.Equal(t, asGood, fate(t, config))
				some := 0
				for _, rule := range rulesOf(t, config) {
					never := fate(t, mutant(config, rule, mutations["lost"])) == asGood
					for name, change := range mutations {
						is := fate(t, mutant(config, rule, change))
						assert.False(t, never && is == caught, "%s: %s: no packet comes to it, and it is caught", rule, name)
						if is == caught {
							some++
						}
						t.Log(rule, name, is)
					}
				}
				assert.Positive(t, some)
			})
		}
	}
}

// fate is what becomes of a firmware.
func fate(t *testing.T, c Config) string {
	t.Helper()
	r := lazyRunOf(t, c)
	r.eachPair, r.folded, r.spare = false, true, 32<<20
	found, err := r.findFolded(t.Context(), (*lazyWalk).relevant, r.folds())
	switch {
	case gaveUp(err) || errors.Is(err, errUnfit):
		return refused
	case found.wrong != nil:
		counter, err := r.shows(found.wrong)
		require.NoError(t, err)
		require.NotNil(t, counter)
		return caught
	case found.released:
		return asGood
	}
	require.NoError(t, err)
	return refused
}

// mutant is a firmware of which a rule decides otherwise.
func mutant(c Config, rule string, change func(switching.Decision, switching.View) switching.Decision) Config {
	route := c.Firmware.Route
	c.Firmware.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := route(pkt, at, sw)
		if d.Rule == rule && len(d.Candidates) > 0 {
			return change(d, sw)
		}
		return d
	}
	return c
}
