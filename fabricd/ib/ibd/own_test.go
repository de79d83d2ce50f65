package ibd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// manages waits until a manager whose name begins so is the master, and has settled.
func (m *managed) manages(name string, state string) {
	m.Helper()
	rig.Until(m.T, func() bool {
		out, _ := m.command("n1", "sminfo").Output() // it fails while there is no master
		return strings.Contains(string(out), "SMINFO_MASTER") && strings.Contains(string(out), state) &&
			strings.HasPrefix(strings.Join(m.driver.Status().Managers, ""), name)
	}, "%s does not manage", name)
	m.settle()
}

// Our own manager takes over when OpenSM is gone and gives the fabric back to one that goes before
// it, under traffic: nothing is lost.
func TestOurManagerAndOpenSMTakeOverFromEachOther(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manageWith(t, "ring:6", &Own{Priority: 2})
	conf := m.polling()
	begin := func() (stop func()) { return m.opensm("n0", append(m.with("updn"), "-F", conf, "-p", "5")...) }
	stop := begin()
	m.manages("opensm", "priority 5")
	m.SetTraffic("uniform:0.05")
	before := m.Fabric().Ledger()

	stop()
	m.manages("our own manager", "priority 2")
	m.requireNoneLost(before)
	begin()
	m.manages("opensm", "priority 5")
	m.requireNoneLost(before)
	rig.Until(t, func() bool {
		words := m.driver.Status().Words
		return len(words) == 2 && strings.HasPrefix(words[0], "opensm") &&
			strings.HasSuffix(words[0], ": master, priority 5") &&
			words[1] == "our own manager at n5: standby, priority 2"
	}, "the status says otherwise")

	m.SetTraffic("none")
	m.requireForwardsAsRead()
}

// Where nobody else manages, our own manager does: from the beginning, and after cuts and repairs.
// An OpenSM of a lower priority stands by.
func TestOurManagerManagesAlone(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manageWith(t, "kary-ntree:2,3", &Own{Priority: 2})
	m.settle()
	m.requireForwardsAsRead()
	m.SetTraffic("uniform:0.05")
	m.Cut("s1.00", "s2.00")
	m.Eventually(m.reconfigured)
	require.Equal(t, "weft", m.Faults()[0].Reconfiguration.Method)
	m.settle()
	m.Restore("s1.00", "s2.00")
	m.settle()
	m.requireSound()
	m.requireForwardsAsRead()

	m.start("n010", "-p", "1")
	rig.Until(t, func() bool {
		words := strings.Join(m.driver.Status().Words, "; ")
		return strings.HasPrefix(words, "our own manager at n111: master, priority 2; opensm") &&
			strings.HasSuffix(words, " at n010: standby, priority 1")
	}, "OpenSM of a lower priority does not stand by")
}

// An OpenSM manages because our own manager is cut off. When that is back, and goes before it,
// OpenSM gives way under traffic: nothing is lost.
func TestOpenSMGivesWayToOurManager(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manageWith(t, "ring:6", &Own{Priority: 5})
	m.settle()
	m.Cut("s5", "n5")
	conf := m.polling()
	m.start("n0", append(m.with("updn"), "-F", conf, "-p", "2")...)
	words := func(list ...string) {
		t.Helper()
		rig.Until(t, func() bool {
			said := strings.Join(m.driver.Status().Words, "; ")
			return !slices.ContainsFunc(list, func(w string) bool { return !strings.Contains(said, w) })
		}, "the managers are not %v", list)
	}
	words(" at n0: master, priority 2")
	m.settle()
	trace := "time_ms,src,dst,bytes\n" // of the NICs that are not cut off, for as long as the test may take
	for i := range 20_000 {
		trace += fmt.Sprintf("%d,n%d,n%d,256\n", i, i%5, (i+1+i/5%4)%5)
	}
	file := filepath.Join(m.dir, "trace.csv")
	require.NoError(t, os.WriteFile(file, []byte(trace), 0o600))
	m.SetTraffic("trace:" + file)
	before := m.Fabric().Ledger()
	m.Restore("s5", "n5")
	words(" at n0: standby, priority 2", "our own manager at n5: master, priority 5")
	m.manages("our own manager", "priority 5")
	m.requireNoneLost(before)
	m.requireSound()
	m.requireForwardsAsRead()
}

// Where nodes have LIDs and no tables lead to them, as in a fabric whose manager has died before it
// had written any, our own manager writes tables though no link is dead.
func TestOurManagerWritesTablesWhereThereAreLIDs(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manageWith(t, "testdata/ports.net", &Own{Priority: 2})
	m.settle()
	m.requireForwardsAsRead()
}
