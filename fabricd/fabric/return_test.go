package fabric_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// linksOf are the names of the links of a switch to those of another tier.
func linksOf(t *testing.T, h *harness.Harness, name string, role weft.Role) (ends [][2]string) {
	t.Helper()
	g := h.Topology()
	id, err := g.SwitchByName(name)
	require.NoError(t, err)
	for p, r := range g.Place(id).Roles {
		if end, _, ok := g.Peer(weft.End{Node: id.Node(), Port: weft.PortID(p)}); ok && r == role {
			ends = append(ends, [2]string{name, g.Name(end.Node)})
		}
	}
	return ends
}

// A switch is no fault once it is back, whichever of its links come up first: no packet that its
// neighbours send by it is discarded there. The links of one side are slow, so that the others
// could be up long before them.
func TestASwitchThatReturnsUnderTrafficCostsNoDiscard(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, routing := range []string{
		"adaptive-switch", "adaptive-switch-digit", "adaptive-switch-header",
		"deterministic-switch",
	} {
		for late, role := range map[string]weft.Role{"down links late": weft.RoleDown, "up links late": weft.RoleUp} {
			for runtime, option := range map[string]harness.Option{"live": harness.Options(), "virtual": harness.Virtual()} {
				t.Run(fmt.Sprintf("%s/%s/%s", routing, late, runtime), func(t *testing.T) {
					t.Parallel()
					h := harness.New(t, "kary-ntree:2,3", harness.FirmwareByName(routing), harness.Traffic("uniform:0.5"), option,
						harness.Links(settings.Link{Rate: 128_000, Paced: true}), harness.Liveness(100*time.Millisecond, 10))
					for _, l := range linksOf(t, h, "s1.00", role) {
						h.Impair(l[0], l[1], fault.Impair{Delay: new(fault.Duration(10 * time.Millisecond))})
					}
					for range 3 {
						more(h, 100)
						h.Crash("s1.00")
						more(h, 100)
						h.Restart("s1.00")
					}
					more(h, 100)
					h.RequireLedger(harness.NoneDiscarded)
				})
			}
		}
	}
}

// A link that is cut without anybody being told keeps its switch from returning for a time, and no
// longer; one that is cut and told, not at all.
func TestASwitchReturnsWithoutItsDeadLinks(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,3", harness.Virtual())
	back := func() time.Duration {
		h.Crash("s1.00")
		h.Pause(time.Millisecond)
		began := h.Fabric().Now()
		h.Restart("s1.00")
		return (h.Fabric().Now() - began).Duration()
	}
	assert.Less(t, back(), 50*time.Millisecond)
	h.Cut("s1.00", "s2.00")
	assert.Less(t, back(), 50*time.Millisecond)
	h.Restore("s1.00", "s2.00")
	h.CutSilently("s1.00", "s2.00")
	took := back()
	assert.True(t, took > 900*time.Millisecond && took < 1100*time.Millisecond, "%v", took)
	neighbours := slices.Concat(linksOf(t, h, "s1.00", weft.RoleUp), linksOf(t, h, "s1.00", weft.RoleDown))
	assert.Len(t, neighbours, 4)
	h.Restore("s1.00", "s2.00")
	allPairs(t, h)
}

// Two switches beside each other that return at one moment do not wait for each other.
func TestNeighboursReturnTogether(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,3", harness.Virtual())
	h.Crash("s0.00")
	h.Crash("s1.00")
	h.Pause(time.Millisecond)
	began := h.Fabric().Now()
	h.Heal()
	assert.Less(t, (h.Fabric().Now() - began).Duration(), 50*time.Millisecond)
	allPairs(t, h)
}
