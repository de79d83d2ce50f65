package fabric_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// worlds are those in which tables are replaced.
var worlds = map[string]harness.Option{
	"memory": harness.Options(), "nats": live.OverNATS(),
	"virtual": harness.Virtual(),
}

// upload gives every switch up/down tables without what is dead, those first that the order says,
// and returns how many have changed.
func upload(t *testing.T, f *fabric.Fabric, order int, dead ...topology.Link) (changed int) {
	t.Helper()
	u, err := subnet.NewUpDownRoutes(f.Topology())
	require.NoError(t, err)
	var set subnet.Dead
	for _, l := range dead {
		set.AddLink(l.ID)
	}
	require.Zero(t, u.Compute(&set))
	r, err := u.Routing(t.Context(), "ddrc", 0)
	require.NoError(t, err)
	program, err := subnet.ProgramOf(t.Context(), f.Firmware(), r)
	require.NoError(t, err)
	return load(t, f, order, program)
}

// load gives every switch what a program changes there, those first that the order says, and
// returns how many have changed.
func load(t *testing.T, f *fabric.Fabric, order int, program tables.Program) (changed int) {
	t.Helper()
	n := len(f.Topology().Switches)
	for i := range n {
		s := weft.SwitchID((i*order + order) % n)
		now, version, ok := f.Program(s)
		require.True(t, ok)
		p := tables.Diff(s, now, program, version, version+1)
		if p.Empty() {
			continue
		}
		require.Equal(t, version, p.From, "the difference is enough")
		require.NoError(t, f.Load(t.Context(), p))
		require.Equal(t, version+1, f.TableVersion(s))
		require.Equal(t, version+1, f.Switch(s).Version)
		changed++
	}
	return changed
}

func discarded(h *harness.Harness) (n uint64) {
	for _, s := range h.Topology().Switches {
		n += h.Fabric().Switch(s.ID).Stats.Discarded
	}
	return n
}

// Tables alone go round a dead link only once there are new ones.
func TestNewTablesGoRoundADeadLinkUnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for name, in := range worlds {
		goRoundADeadLink(t, name, in, "ftree")
		goRoundADeadLink(t, name, in, "ddrc-source")
	}
}

// cutUntilDiscarded cuts a link of a loaded fabric, and waits until packets meet it.
func cutUntilDiscarded(t *testing.T, h *harness.Harness, link string) topology.Link {
	t.Helper()
	l, err := h.Topology().LinkByName(link)
	require.NoError(t, err)
	before := discarded(h)
	h.Cut(ends(h, l))
	h.Eventually(func() error {
		if discarded(h) == before {
			return fmt.Errorf("nothing is discarded yet")
		}
		return nil
	})
	return l
}

func goRoundADeadLink(t *testing.T, name string, in harness.Option, fw string) {
	t.Run(fw+" "+name, func(t *testing.T) {
		t.Parallel()
		h := harness.New(t, smallTree, in, harness.FirmwareByName(fw), loaded())
		more(h, 100)
		for _, link := range []string{"s0.00-s1.00", "s1.10-s2.11"} {
			l := cutUntilDiscarded(t, h, link)
			after := h.Fabric().Events().Last()
			changed := upload(t, h.Fabric(), 5, l)
			require.Positive(t, changed)
			require.Less(t, changed, 12)
			changes := 0
			for _, e := range h.Fabric().Events().Since(after) {
				if e.Kind == fabric.EventTables {
					changes++
					require.Contains(t, e.Detail, "entries")
				}
			}
			require.Equal(t, changed, changes)
			require.NoError(t, h.Fabric().StopTraffic())
			allPairs(t, h)
			before := discarded(h) // some were on their way up by old tables when there was no way down any more
			h.SetTraffic("uniform:0.2")
			more(h, 300)
			require.Equal(t, before, discarded(h))
			restore(h, l)
			upload(t, h.Fabric(), 7)
		}
		h.Quiesce()
	})
}

// Local re-routing carries the traffic meanwhile, so that nothing is discarded, and with the new
// tables nothing is re-routed any more.
func TestHybridLosesNothingBeforeTheNewTablesAndGoesByShortestPathsAfter(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for name, in := range worlds {
		for _, fw := range []string{"hybrid", "hybrid-adaptive"} {
			t.Run(fw+" "+name, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t, smallTree, in, harness.FirmwareByName(fw), loaded())
				more(h, 100)
				l, err := h.Topology().LinkByName("s0.00-s1.00")
				require.NoError(t, err)
				cut(h, l)
				more(h, 200)
				require.Positive(t, upload(t, h.Fabric(), 5, l))
				h.Quiesce()
				before := reroutes(h)
				if fw == "hybrid" {
					allPairs(t, h)
					h.SetTraffic("uniform:0.02")
					more(h, 100)
				} else { // it prefers the tables' ports as long as they have room: they have it for one packet at a time
					for _, src := range h.Topology().NICs {
						for _, dst := range h.Topology().NICs {
							if src.ID != dst.ID {
								h.RequireDelivered(h.Send(src.Name, dst.Name))
							}
						}
					}
				}
				h.RequireLedger(harness.NoneDiscarded)
				require.Equal(t, before, reroutes(h))
			})
		}
	}
}

func TestALoadIsDoneOnceAndOnlyOnWhatItWasMadeFor(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, harness.FirmwareByName("ftree"))
	f := h.Fabric()
	now, version, ok := f.Program(3)
	require.True(t, ok)
	require.EqualValues(t, tables.FirstVersion, version)
	p := tables.Diff(3, now, now, version, 5)
	require.NoError(t, f.Load(t.Context(), p))
	require.NoError(t, f.Load(t.Context(), p), "it has it")
	require.EqualValues(t, 5, f.TableVersion(3))
	require.EqualValues(t, tables.FirstVersion, f.TableVersion(4))

	p.To = 6
	var wrong *tables.VersionError
	require.ErrorAs(t, f.Load(t.Context(), p), &wrong)
	require.EqualValues(t, 5, wrong.Has)
	p.From = 5
	p.Set = []tables.PatchSet{{At: 1000, N: 1, Row: -1}}
	require.ErrorIs(t, f.Load(t.Context(), p), tables.ErrPatch)
	require.ErrorIs(t, f.Load(t.Context(), &tables.Patch{Switch: 12}), fabric.ErrUnknown)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.Load(ctx, p), context.Canceled)
	require.EqualValues(t, 5, f.TableVersion(3))
	require.Zero(t, f.TableVersion(12))
	_, _, ok = f.Program(12)
	require.False(t, ok)

	rules := harness.New(t, smallTree).Fabric()
	require.ErrorIs(t, rules.Load(t.Context(), p), switching.ErrNotProgrammed)
	require.Zero(t, rules.TableVersion(3))
	_, _, ok = rules.Program(3)
	require.False(t, ok)
}

// A ring of six with a dateline, and one with its layers exchanged: together they are cyclic.
func TestPacketsInSendQueuesGoByTheLayersOfNewTables(t *testing.T) {
	t.Parallel()
	for name, in := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fw := firmware.Layered{Tables: ringTables(t, 2, minimal), Assignment: assigned(t, 2, 1, dateline)}.Firmware()
			h := harness.New(t, ring6, in, harness.Firmware(fw), harness.VCs(2),
				harness.Links(settings.Link{Paced: true, Rate: 1e6}), harness.Traffic("uniform:1"), shortQueues)
			saturated(h)
			f := h.Fabric()
			f.HoldNICs()
			require.True(t, f.Held())
			ledger, err := f.Drained(t.Context())
			require.NoError(t, err)
			require.True(t, ledger.Balanced)
			require.Zero(t, ledger.Waiting.Switches+ledger.Waiting.Wires)
			require.Positive(t, ledger.Waiting.Queues, "sources go on")
			injected := ledger.Injected
			h.Eventually(func() error { // refused or queued: they generate
				l := f.Ledger()
				if l.Waiting.Switches+l.Waiting.Wires != 0 {
					return fmt.Errorf("a packet has got out")
				}
				return nil
			})
			require.GreaterOrEqual(t, f.Ledger().Injected, injected)

			// Layer 0 is now for those around the end, and layer 1 has no tables for them any more.
			swapped := func(s, d int) []weft.Address {
				a := dateline(s, d)[0]
				a.VC = 1 - a.VC
				return []weft.Address{a}
			}
			only := ringTables(t, 2, func(vc weft.VC, s, d int) weft.PortID {
				if vc == 1 && aroundTheEnd(s, d) {
					return weft.NoPort
				}
				return shorter(s, d)
			})
			next := tables.Program{Tables: only, Assignment: assigned(t, 2, 1, swapped)}
			for s := range weft.SwitchID(6) {
				now, version, _ := f.Program(s)
				require.NoError(t, f.Load(t.Context(), tables.Diff(s, now, next, version, version+1)))
			}
			before := delivered(h)
			f.ResumeNICs()
			require.False(t, f.Held())
			more(h, 100)
			require.NoError(t, f.StopTraffic())
			h.RequireLedger(harness.NoneDiscarded)
			require.Greater(t, delivered(h), before)
			var kinds []string
			for _, e := range f.Events().Since(0) {
				if e.Kind == fabric.EventHeld || e.Kind == fabric.EventResumed {
					kinds = append(kinds, e.Kind)
				}
			}
			assert.Equal(t, []string{fabric.EventHeld, fabric.EventResumed}, kinds)
		})
	}
}

// The same calls give the same run, to the bit.
func TestLoadsInVirtualTimeAreRepeatable(t *testing.T) {
	t.Parallel()
	once := func(order int) uint64 {
		h := harness.New(t, smallTree, harness.Virtual(), harness.Seed(3), harness.FirmwareByName("hybrid"),
			harness.Traffic("uniform:0.5"))
		h.Pause(20 * time.Millisecond)
		l, err := h.Topology().LinkByName("s0.00-s1.00")
		require.NoError(t, err)
		h.Cut(ends(h, l))
		h.Pause(20 * time.Millisecond)
		if order > 0 {
			upload(t, h.Fabric(), order, l)
		}
		h.Pause(50 * time.Millisecond)
		h.Quiesce()
		hash, ok := h.Fabric().Hash()
		require.True(t, ok)
		return hash
	}
	require.Equal(t, once(5), once(5))
	require.Equal(t, once(5), once(7), "all at one moment: the order does not matter")
	require.NotEqual(t, once(5), once(0), "without")
}
