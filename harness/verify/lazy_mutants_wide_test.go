package verify

import (
	"errors"
	"slices"
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
	caught  = "caught"  // something is wrong, which its set explored by itself finds too, or it is not what it says
	refused = "refused" // deadlock is not decided, or its packets can know too much
	asGood  = "as good" // it holds in every set
)

// Every rule of the adaptive firmwares is changed in trees of each size, those with registers too.
// Each mutant is caught or holds in all sets. One that loses packets by a rule and holds shows that
// no packet comes to the rule with so few faults. Then all other mutants of the rule hold as well.
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
						assert.NotEqual(t, refused, is, "%s: %s", rule, name)
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
	claim := (*unlike)(nil)
	switch {
	case errors.As(err, &claim) && disproved(claim):
		return caught
	case gaveUp(err) || errors.Is(err, errUnfit):
		return fateByFew(t, c)
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

// fateByFew is what becomes of a firmware where all sets at once say nothing of it: sets of one and
// of two faults are explored by themselves, one of each orbit, until one fails, or shows that the
// firmware is not symmetric.
func fateByFew(t *testing.T, c Config) string {
	t.Helper()
	for c.Sets.Max = 1; c.Sets.Max <= 2; c.Sets.Max++ {
		c.Exhaustive, c.StopAtFirst = true, true
		r, err := Run(t.Context(), c)
		require.NoError(t, err)
		if r.Counter != nil || r.Asymmetry != "" {
			return caught
		}
	}
	return refused
}

// disproved reports whether a switch with some links dead decides otherwise than one with their
// images dead: by another rule, or over other ports, fields aside.
func disproved(u *unlike) bool {
	ways := func(p *posed, image func(weft.PortID) weft.PortID) (list []int) {
		for _, c := range p.answer(u.m).Candidates {
			if !p.dead.Has(c.Port) {
				list = append(list, int(image(c.Port))<<8|int(c.VC))
			}
		}
		slices.Sort(list)
		return list
	}
	here, there := &u.asked[0], &u.asked[1]
	if portsOf(u.ports, here.dead) != there.dead || u.ports[here.st.in] != there.st.in {
		return false
	}
	same := func(p weft.PortID) weft.PortID { return p }
	return here.answer(u.m).Rule != there.answer(u.m).Rule ||
		!slices.Equal(ways(here, func(p weft.PortID) weft.PortID { return u.ports[p] }), ways(there, same))
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
