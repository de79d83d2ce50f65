package manager_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Of these links of the 8x8 torus, with all of them dead, some pairs are served by each mechanism
// alone or together.
var fiveLinks = []string{"s2.0-s3.0", "s3.0-s3.1", "s4.0-s4.7", "s3.5-s4.5", "s2.0-s2.1"}

// And of the 4x4 torus.
var fourLinks = []string{"s2.2-s3.2", "s2.2-s2.3", "s1.1-s2.1", "s0.0-s3.0"}

// requireUses checks that ways around the links use these mechanisms, each for some pair.
func requireUses(t *testing.T, g *topology.Graph, mechanisms string, cuts []string) {
	t.Helper()
	m, err := direct.Parse(mechanisms)
	require.NoError(t, err)
	net, err := direct.New(g)
	require.NoError(t, err)
	var dead subnet.Dead
	for _, name := range cuts {
		l, err := g.LinkByName(name)
		require.NoError(t, err)
		dead.AddLink(l.ID)
	}
	var used direct.Mechanisms
	for use := range net.Solve(m, dead.Cuts, nil).Each() {
		used.Intermediate = max(used.Intermediate, use.Intermediate())
		used.Deterministic = used.Deterministic || use.Deterministic()
		used.Misroute = used.Misroute || use.Misroute()
	}
	require.Equal(t, m, used)
}

// A torus under load loses links one after another, and gets one back. What is on a dead link, or
// comes to it before NICs write otherwise, is lost and counted; from then on every NIC reaches
// every other, and no packet is discarded.
func TestATorusUnderLoadLosesLinkAfterLinkAndAllPairsStayConnected(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, x := range []struct {
		topology, mechanisms, method string
		traffic                      string // as much as a busy machine carries under the race detector
		cuts                         []string
	}{
		{"torus:8x8", "I+D+M", "direct", "uniform:0.1", fiveLinks}, // takes a minute under the race detector
		{"torus:4x4", "I+D", "direct", "uniform:0.05", fourLinks},
		{"torus:4x4", "I+D", "direct:mode=dynamic", "uniform:0.05", fourLinks},
	} {
		t.Run(x.topology+" "+x.method, func(t *testing.T) {
			t.Parallel()
			if !testenv.Full() && x.topology == "torus:8x8" {
				return
			}
			l := start(t, x.topology, "duato:mechanisms="+x.mechanisms)
			l.lease = rig.Patience // what is late here is so because the machine is busy
			requireUses(t, l.Fabric.Topology(), x.mechanisms, x.cuts)
			notes, _ := l.manage(manageAuto(x.method))
			l.await(notes, manager.NoteManages)
			static := x.method == "direct"
			change := func(spec fault.Spec) {
				l.Load(x.traffic)
				l.flows()
				l.Do(spec)
				r := l.await(notes, manager.NoteRound).Round
				assert.Empty(t, r.Error)
				assert.Equal(t, x.method, r.Method)
				assert.Equal(t, static, r.Static)
				assert.Equal(t, static, r.DrainSeconds > 0, "%v", r)
				assert.InDelta(t, r.InForceSeconds, r.DetectSeconds+r.ComputeSeconds+r.DrainSeconds+r.DistributeSeconds, 1e-5)
				assert.True(t, r.Acyclic)
				assert.Zero(t, r.Unroutable)
				assert.Empty(t, r.Without)
				assert.Positive(t, r.FlowsRerouted)
				l.flows()
				before := l.Settle()
				l.AllPairs(l.Settle)
				after := l.Fabric.Ledger()
				require.Equal(t, before.Discarded+before.Lost, after.Discarded+after.Lost)
				require.Empty(t, l.Fabric.Deadlock())
			}
			for i, link := range x.cuts {
				change(fault.Spec{Do: fault.VerbCut, A: link})
				require.NotNil(t, l.Fabric.Faults()[i].Reconfiguration, link)
			}
			change(fault.Spec{Do: fault.VerbRestore, A: x.cuts[1]})
			requireHeld(t, l.Fabric, static)
		})
	}
}

// manageAuto is what to ask for a method that is the routing's own.
func manageAuto(method string) string {
	if method == "direct" {
		return "auto"
	}
	return method
}

// flows waits until packets arrive, of those that are generated.
func (l *lab) flows() {
	l.Helper()
	before := l.Fabric.Ledger().Delivered
	rig.Until(l, func() bool { return l.Fabric.Ledger().Delivered > before+uint64(len(l.Fabric.Topology().NICs)) })
}

// requireHeld checks that switches had new tables while NICs were held, or that these never were.
func requireHeld(t *testing.T, f *fabric.Fabric, static bool) {
	t.Helper()
	held, tables := false, 0
	for _, e := range f.Events().Since(0) {
		switch e.Kind {
		case fabric.EventHeld:
			held = true
		case fabric.EventTables:
			tables++
			assert.Equal(t, static, held)
		case fabric.EventResumed:
			held = false
		}
	}
	require.Positive(t, tables)
	require.False(t, f.Held())
}

// No mechanism that is in use serves every pair: those without a way are named and discarded by
// their first switch, and the rest go on. The same when a node is cut off.
func TestWhatNoMechanismServesIsDiscardedAndTheRestGoOn(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, mechanisms string
		cuts             []string
		isolated         bool
	}{
		{"D alone", "D", []string{"s0.0-s1.0"}, false},
		{"a node cut off", "I", []string{"s0.0-s1.0", "s0.0-s2.0", "s0.0-s0.1", "s0.0-s0.2"}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			l := start(t, "torus:3x3", "duato:mechanisms="+x.mechanisms)
			l.lease = rig.Patience
			notes, _ := l.manage("")
			l.await(notes, manager.NoteManages)
			l.Load("uniform:0.2")
			var r fabric.Round
			for _, link := range x.cuts {
				l.Do(fault.Spec{Do: fault.VerbCut, A: link})
				r = l.await(notes, manager.NoteRound).Round
			}
			require.Empty(t, r.Error)
			require.Positive(t, r.Unroutable)
			require.NotEmpty(t, r.Without)
			require.Contains(t, r.Reconfiguration.String(), "pairs without a path")
			if x.isolated {
				require.Equal(t, 2*8, r.Unroutable)
			}
			require.Equal(t, x.isolated, r.Isolated > 0)
			before := l.Settle()
			n := len(l.Fabric.Topology().NICs)
			for src := range weft.NICID(n) {
				for dst := range weft.NICID(n) {
					if src != dst {
						_, err := l.Fabric.Send(src, dst, false)
						require.NoError(t, err)
					}
				}
			}
			after := l.Settle()
			const rule = "nowhere: the source knows no way"
			require.Equal(t, uint64(r.Unroutable), after.DiscardedBy[rule]-before.DiscardedBy[rule])
			require.Equal(t, uint64(n*(n-1)-r.Unroutable), after.Delivered-before.Delivered)
			require.Equal(t, before.Lost, after.Lost)
		})
	}
}

// The same in virtual time, where it is the same again.
func TestInVirtualTimeATorusLosesLinkAfterLinkAndIsTheSameAgain(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		topology, mechanisms, method string
		cuts                         []string
	}{
		{"torus:8x8", "I+D+M", "direct", fiveLinks},
		{"torus:4x4", "I+D", "direct:mode=dynamic", fourLinks},
	} {
		t.Run(x.topology+" "+x.method, func(t *testing.T) {
			t.Parallel()
			run := func() (dropped uint64, hash uint64) {
				h := harness.New(t, x.topology, harness.Virtual(), harness.FirmwareByName("duato:mechanisms="+x.mechanisms),
					harness.Seed(5), harness.Traffic("uniform:0.2"),
					harness.Managed(x.method,
						manager.Delays{Detect: time.Millisecond, Compute: time.Millisecond, Distribute: time.Millisecond}))
				f := h.Fabric()
				change := func(spec fault.Spec) {
					h.Apply(spec)
					h.Pause(8 * time.Millisecond)
					was := f.Ledger()
					h.Pause(4 * time.Millisecond)
					now := f.Ledger()
					require.Equal(t, was.Lost+was.Discarded, now.Lost+now.Discarded, "every pair is connected again")
					require.Greater(t, now.Delivered, was.Delivered)
					dropped = now.Lost + now.Discarded
				}
				for i, link := range x.cuts {
					change(fault.Spec{Do: fault.VerbCut, A: link})
					c := f.Faults()[i].Reconfiguration
					require.NotNil(t, c)
					require.Empty(t, c.Error)
					require.Zero(t, c.Unroutable)
					require.Equal(t, x.method == "direct", c.Static)
					require.True(t, c.Acyclic)
				}
				change(fault.Spec{Do: fault.VerbRestore, A: x.cuts[1]})
				requireHeld(t, f, x.method == "direct")
				require.NoError(t, f.StopTraffic())
				h.RequireLedger()
				hash, ok := f.Hash()
				require.True(t, ok)
				return dropped, hash
			}
			dropped, hash := run()
			require.Positive(t, dropped, "what was on a dead link, or met it")
			again, same := run()
			require.Equal(t, dropped, again)
			require.Equal(t, hash, same)
		})
	}
}
