package fabric_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// linksUp is how many ends of links to a host others count as up. It asks the other hosts, whether
// or not anybody leads.
func (l *hostLab) linksUp(of int) (n int) {
	l.Helper()
	g := l.options.Topology
	for i, p := range l.options.Hosts {
		if i == of {
			continue
		}
		s, err := l.options.Processes.Hosts.Reach(p.Name).Counters(l.Context(), host.CountersRequest{Ends: true})
		require.NoError(l, err)
		for _, f := range s.Flows {
			far, _, ok := g.Peer(f.End)
			if ok && f.Flow.State == linkend.Up &&
				slices.Contains(l.options.Hosts[of].Switches, weft.SwitchID(far.Node.Index)) {
				n++
			}
		}
	}
	return n
}

// What links lose when a host dies while nobody leads is on the report of the next leader about it.
func TestWhatAHostCostsThatDiesWhileNobodyLeadsIsOnItsReport(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 3)
	l.load("uniform:0.1")
	l.more(300)
	require.Positive(t, l.linksUp(2))
	l.Fabric.Detach()
	l.agents.Of("host2").Kill()
	l.until("its neighbours find out", func() bool { return l.linksUp(2) == 0 })
	l.succeed()
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.agents.Of("host2").Back()
	l.until("it is back", func() bool { return len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 0 })
	l.sound()
	require.Positive(t, l.Fabric.Ledger().LostQueued, "its neighbours had packets for it")
	faults := slices.DeleteFunc(l.Fabric.Faults(), func(r fault.Report) bool { // hosts of a busy machine
		return r.Kind == fabric.KindHost && strings.HasSuffix(r.What, " does not answer") && r.Lost() == 0
	})
	require.Len(t, faults, 1)
	assert.Equal(t, fabric.KindHost, faults[0].Kind)
}

// Links that were silent for a while when nobody led have a report under the next leader.
func TestASilenceWhileNobodyLeadsIsReported(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHostsOn(t, 3, oneApart(t))
	l.load("uniform:0.1")
	l.more(300)
	all := l.linksUp(1)
	require.Positive(t, all)
	l.Fabric.Detach()
	l.agents.Of("host1").Process().Signal(rig.Freeze)
	l.until("its neighbours find out", func() bool { return l.linksUp(1) == 0 })
	l.agents.Of("host1").Process().Signal(rig.Thaw)
	l.until("its links are back", func() bool { return l.linksUp(1) == all })
	l.succeed()
	silent := func(r fault.Report) bool { return r.Kind == fabric.KindSilence }
	l.until("it is reported", func() bool { return slices.ContainsFunc(l.Fabric.Faults(), silent) })
	l.sound()
	require.Positive(t, l.Fabric.Ledger().LostQueued, "its neighbours had packets for it")
	for _, r := range l.Fabric.Faults() {
		if r.Kind == fabric.KindHost && l.missesAHost() {
			continue // that was later, on a busy machine
		}
		assert.Equal(t, fabric.KindSilence, r.Kind, r.What)
	}
}
