package verify

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
)

// mutations change a decision.
var mutations = map[string]func(d switching.Decision, sw switching.View) switching.Decision{
	"lost": func(switching.Decision, switching.View) switching.Decision { return switching.Discard("lost") },
	"one port alone": func(d switching.Decision, _ switching.View) switching.Decision {
		d.Candidates = d.Candidates[:min(1, len(d.Candidates))]
		return d
	},
	"the next port": func(d switching.Decision, sw switching.View) switching.Decision {
		roles := sw.Place().Roles
		for i := range d.Candidates {
			c := &d.Candidates[i]
			for j := 1; j < len(roles) && int(c.Port) < len(roles); j++ {
				if p := weft.PortID((int(c.Port) + j) % len(roles)); roles[p] == roles[c.Port] && sw.PortUp(p) {
					c.Port = p
					break
				}
			}
		}
		return d
	},
	"the next layer": func(d switching.Decision, sw switching.View) switching.Decision {
		for i := range d.Candidates {
			d.Candidates[i].VC = (d.Candidates[i].VC + 1) % weft.VC(sw.VCs())
		}
		return d
	},
	"fields forgotten": func(d switching.Decision, _ switching.View) switching.Decision {
		for i := range d.Candidates {
			d.Candidates[i].Fields = weft.NewFields()
		}
		return d
	},
}

// Every rule that a firmware decides by is changed, in several ways. Exploring all sets at once and
// each by itself say the same of the mutant: what is wrong with it, with how many faults, or that
// nothing is, which shows that it is as good as the rule. One that loses packets is always found.
func TestAMutantOfEveryRuleIsFoundOrAsGood(t *testing.T) {
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", most: 1},
		{on: "kary-ntree:2,3", most: 1},
		{on: "kary-ntree:3,2", most: 2},
		{on: "ring:4"},
		{on: "torus:3x3"},
		{on: "irregular:5,7,1"},
		{on: "mport-tree:4,2", most: 2, long: true},
		{on: "mport-tree:4,3", most: 1, long: true},
		{on: "kary-ntree:2,4", most: 1, long: true},
		{on: "kary-ntree:3,3", most: 2, hours: true},
	} {
		g := topologytest.Parse(t, c.on)
		for _, e := range subnet.Entries() {
			fw, vcs, err := e.New(t.Context(), g)
			config := Config{Graph: g, Firmware: fw, VCs: vcs, Workers: 1, Sets: Sets{Kind: Links, Max: c.most}}
			if fw.Tolerance.Switches {
				config.Sets.Kind = Any
			}
			if check := config; err != nil || check.check() != nil || fw.Registers != nil && (c.long || c.hours) {
				continue // it runs elsewhere, or takes minutes
			}
			t.Run(c.on+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				c.skip(t)
				config := config
				config.Exhaustive = true
				rules := rulesOf(t, config)
				require.NotEmpty(t, rules)
				for _, rule := range rules {
					for name, change := range mutations {
						found := bothSay(t, mutant(config, rule, change), fmt.Sprintf("%s: %s", rule, name))
						assert.True(t, found || name != "lost", "%s is lost, and that is not found", rule)
					}
				}
			})
		}
	}
}

// rulesOf are the rules by which packets are sent on, whatever is dead.
func rulesOf(t *testing.T, c Config) (rules []string) {
	t.Helper()
	var mu sync.Mutex
	route := c.Firmware.Route
	c.Firmware.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := route(pkt, at, sw)
		if mu.Lock(); len(d.Candidates) > 0 && !slices.Contains(rules, d.Rule) {
			rules = append(rules, d.Rule)
		}
		mu.Unlock()
		return d
	}
	_, err := Run(t.Context(), c)
	require.NoError(t, err)
	return rules
}

// bothSay reports whether something is wrong, which exploring all sets at once and each by itself
// have to agree on, if all can be explored at once.
func bothSay(t *testing.T, c Config, what string) (wrong bool) {
	t.Helper()
	c.Exhaustive = true
	each, err := Run(t.Context(), c)
	require.NoError(t, err, what)
	c.Exhaustive = false
	r, _ := lazily(t, c)
	if r == nil {
		return !each.Pass
	}
	once, err := r.find(t.Context(), (*lazyWalk).relevant)
	if gaveUp(err) {
		return !each.Pass
	}
	require.NoError(t, err, what)
	falls := each.Numbering != nil && !*each.Numbering
	assert.Equal(t, each.Unconnected > 0 || falls, once.wrong != nil, what)
	assert.Equal(t, each.Livelocks > 0, once.sum.loops > 0, what)
	assert.Equal(t, falls, once.falls, what)
	overlooked := each.Deadlocks > 0 && (!once.cyclic || once.released) && !once.falls
	assert.False(t, overlooked, "%s: a deadlock is overlooked", what)
	if once.wrong != nil && each.Counter.What != Deadlock {
		assert.Equal(t, rank(each.Counter.What), rank(once.wrong.what), what)
		assert.Len(t, once.wrong.dead, len(each.Counter.Faults), what)
	}
	return !each.Pass
}
