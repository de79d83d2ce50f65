//go:build linux

package ibd

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The report of a cut under traffic has what was lost in each phase of OpenSM, and all of it.
// OpenSM is stopped until something was lost.
func TestTheReportHasWhatWasLostInEachPhase(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "kary-ntree:2,3")
	m.opensm("", "-R", "updn")
	m.SetTraffic("uniform:0.05")
	require.NoError(t, m.opensms[""].Signal(syscall.SIGSTOP))
	m.Cut("s1.00", "s2.00")
	rig.Until(t, func() bool { return m.Fabric().Ledger().Discarded > 0 }, "no packet comes to the dead link")
	require.NoError(t, m.opensms[""].Signal(syscall.SIGCONT))
	m.requirePhases()
	m.requireSound()
	r := m.Faults()[0]
	require.Positive(t, r.Discarded)
	var phases []string
	sum := uint64(0)
	for _, l := range r.Reconfiguration.Lost {
		phases = append(phases, l.Until)
		sum += l.Packets
	}
	require.Equal(t, []string{
		fault.UntilTrap, fault.UntilSweep, fault.UntilFirst, fault.UntilLast, fault.UntilForce, fault.UntilSettled,
	}, phases)
	require.Equal(t, r.Lost()+r.Discarded, sum, "%+v", r.Reconfiguration.Lost)
}

// A link that dies while OpenSM writes tables for another is in the account of its next sweep.
func TestALinkThatDiesWhileTablesAreWrittenIsOfTheNextSweep(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "kary-ntree:2,3")
	m.opensm("", "-R", "updn")
	m.Cut("s1.00", "s2.00")
	rig.Until(t, func() (writes bool) {
		require.NoError(t, m.driver.ask(func() { writes = m.driver.phases.now.first > 0 }))
		return writes
	}, "OpenSM writes no tables")
	m.Cut("s1.01", "s2.01")
	m.Eventually(func() error {
		for _, r := range m.Faults() {
			if r.Reconfiguration == nil {
				return fmt.Errorf("no account of tables for %s", r.Target)
			}
		}
		return nil
	})
	first, second := m.Faults()[0].Reconfiguration, m.Faults()[1].Reconfiguration
	require.Less(t, first.Version, second.Version)
	require.Positive(t, second.ComputeSeconds)
	m.settle()
	m.requireForwardsAsRead()
}
