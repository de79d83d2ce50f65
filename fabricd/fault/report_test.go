package fault

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full is a report with every field set.
func full() Report {
	return Report{
		ID: 3, Kind: "cut", Target: "s0.0-s1.0", What: "cut s0.0-s1.0 silently, s0.0 to s1.0, for 10s",
		Direction: To, Silent: true, At: 2.01, RestoredAt: 12.01, CountedFrom: 2.01, CountedTo: 13.01,
		Detected: []Detection{
			{End: "s1.0", Port: 2, AfterSeconds: 0.15025, How: BySilence},
			{End: "s0.0", Port: 0, AfterSeconds: 0.15075, How: ByNeighbour},
		},
		SeenAfter: 0.15075, FirstReroute: new(0.1515),
		LostWire: 12, LostQueued: 3, LostCrash: 1, Rerouted: 480, Requeued: 2,
		Discarded: 5, DiscardedBy: map[string]uint64{"4: no way left": 4, "2: a dead NIC": 1},
		Reordered: 7, Duplicated: 1, Extra: ExtraHops{Packets: 470, Mean: 1.5, Most: 4},
		Degradation: Degradation{
			Found: true, Baseline: 8000, Lowest: 6000, Depth: 25, LowestAfter: new(0.02), MadeGoodAfter: new(0.18),
		},
		Connections: &Connections{Count: 3, Resent: 20480, Longest: 0.21, Worst: []Connection{
			{NIC: "n00", From: "10.64.0.1:49152", To: "10.64.0.4:80", Resent: 20480, Standstill: 0.21},
		}},
		LastEffect: new(9.8), SharedWith: []int{2, 4}, Shared: []string{"rerouted", "throughput"}, Open: true,
		Generation: 4,
		Reconfiguration: &Reconfiguration{
			Version: 6, Method: "ddrc", DetectSeconds: 0.1525, ComputeSeconds: 0.00125, DistributeSeconds: 0.003,
			InForceSeconds: 0.15675, SettledSeconds: 0.19, Switches: 4, Entries: 24,
			FlowsTotal: 56, FlowsRerouted: 8, Unroutable: 2, Without: []string{"s0.0 to s1.1"}, Acyclic: true,
			Error: "s1.1 does not answer",
		},
	}
}

func TestReportAsJSONIsStable(t *testing.T) {
	got, err := json.Marshal(full())
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"id": 3, "kind": "cut", "target": "s0.0-s1.0", "what": "cut s0.0-s1.0 silently, s0.0 to s1.0, for 10s",
		"direction": "to", "silent": true, "at": 2.01, "restored_at": 12.01, "counted_from": 2.01, "counted_to": 13.01,
		"detected": [
			{"end": "s1.0", "port": 2, "after_seconds": 0.15025, "how": "silence"},
			{"end": "s0.0", "port": 0, "after_seconds": 0.15075, "how": "neighbour"}
		],
		"seen_after_seconds": 0.15075, "first_reroute_seconds": 0.1515,
		"lost_wire": 12, "lost_queued": 3, "lost_crash": 1, "rerouted": 480, "requeued": 2,
		"discarded": 5, "discarded_by": {"4: no way left": 4, "2: a dead NIC": 1},
		"reordered": 7, "duplicated": 1, "extra_hops": {"packets": 470, "mean": 1.5, "most": 4},
		"throughput": {"found": true, "baseline": 8000, "lowest": 6000, "depth": 25, "lowest_after_seconds": 0.02, "made_good_after_seconds": 0.18},
		"connections": {"count": 3, "resent_bytes": 20480, "longest_standstill_seconds": 0.21, "worst": [
			{"nic": "n00", "from": "10.64.0.1:49152", "to": "10.64.0.4:80", "resent_bytes": 20480, "standstill_seconds": 0.21}
		]},
		"last_effect_seconds": 9.8, "shared_with": [2, 4], "shared": ["rerouted", "throughput"], "open": true, "era": 4,
		"reconfiguration": {
			"version": 6, "method": "ddrc", "detect_seconds": 0.1525, "compute_seconds": 0.00125, "drain_seconds": 0, "distribute_seconds": 0.003, "in_force_seconds": 0.15675, "settled_seconds": 0.19,
			"switches": 4, "entries": 24, "flows_total": 56, "flows_rerouted": 8, "unroutable_pairs": 2, "isolated_pairs": 0, "unroutable": ["s0.0 to s1.1"], "cdg_acyclic": true, "static": false,
			"error": "s1.1 does not answer"
		}
	}`, string(got))

	var back Report
	require.NoError(t, json.Unmarshal(got, &back))
	assert.Equal(t, full(), back)
}

// Scripts iterate over lists and compare numbers, and must not have to ask for null first.
func TestAnEmptyReportHasEmptyListsInJSON(t *testing.T) {
	got, err := json.Marshal(&Report{})
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"id": 0, "kind": "", "target": "", "what": "", "at": 0, "counted_from": 0, "counted_to": 0, "detected": [], "seen_after_seconds": 0, "first_reroute_seconds": null,
		"lost_wire": 0, "lost_queued": 0, "lost_crash": 0, "rerouted": 0, "requeued": 0, "discarded": 0, "discarded_by": {},
		"reordered": 0, "duplicated": 0, "extra_hops": {"packets": 0, "mean": 0, "most": 0},
		"throughput": {"found": false, "baseline": 0, "lowest": 0, "depth": 0, "lowest_after_seconds": null, "made_good_after_seconds": null},
		"last_effect_seconds": null, "open": false, "era": 0
	}`, string(got))
}

func TestFabricWideFiguresAreOnesOfTheReport(t *testing.T) {
	data, err := json.Marshal(full())
	require.NoError(t, err)
	var figures map[string]any
	require.NoError(t, json.Unmarshal(data, &figures))
	shown := map[string]bool{"discarded_by": true} // with discarded
	for _, name := range labels {
		shown[name] = true
	}
	for _, name := range FabricWide() {
		assert.Contains(t, figures, name)
		assert.True(t, shown[name], "%s is marked as shared nowhere in the report for people", name)
	}
}

func TestACloneSharesNothing(t *testing.T) {
	r := full()
	c := r.Clone()
	assert.Equal(t, r, c)
	scribble(reflect.ValueOf(&c).Elem())
	assert.Equal(t, full(), r)
	assert.Equal(t, Report{}, Report{}.Clone())
}

// scribble overwrites what v points to, as deep as it goes.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).SetZero()
		}
	case reflect.Map:
		v.Clear()
	case reflect.Pointer:
		v.Elem().SetZero()
	}
}

func TestLostIsTheSumOfAllLosses(t *testing.T) {
	assert.Equal(t, uint64(16), full().Lost())
}

func TestSummary(t *testing.T) {
	ends := []Detection{{End: "s0", Port: 1, How: BySignal}, {End: "s1", Port: 2, How: BySignal}}
	three := append(ends[:2:2], Detection{End: "s1", Port: 3, How: BySignal}, ends[0])
	cut := Report{Kind: "cut", Target: "s0-s1", At: 2.01, SeenAfter: 0.000034, LostWire: 3, LostQueued: 1}
	with := func(change func(r *Report)) Report {
		r := cut
		change(&r)
		return r
	}
	for _, c := range []struct {
		report Report
		want   string
	}{
		{cut, "cut s0-s1 at 2.010 s, both ends acted within 0.03 ms; lost 3 on the wire, 1 queued"},
		{
			with(func(r *Report) { r.RestoredAt, r.Rerouted, r.Detected = 6, 4, ends }),
			"cut s0-s1 at 2.010 s, both ends acted within 0.03 ms; lost 3 on the wire, 1 queued; restored at 6.000 s, " +
				"rerouted meanwhile 4",
		},
		{
			with(func(r *Report) { r.Kind, r.Target, r.LostCrash, r.Detected = "crash", "s1", 9, three }),
			"crash s1 at 2.010 s, its neighbours acted within 0.03 ms; lost 3 on the wire, 1 queued, 9 inside",
		},
		{
			with(func(r *Report) { r.Silent = true }),
			"cut s0-s1 silently at 2.010 s, seen by neither end yet; lost 3 on the wire, 1 queued",
		},
		{
			with(func(r *Report) { r.Silent, r.RestoredAt = true, 2.02 }),
			"cut s0-s1 silently at 2.010 s, seen by neither end; lost 3 on the wire, 1 queued; restored at 2.020 s, rerouted " +
				"meanwhile 0",
		},
		{
			with(func(r *Report) { r.Silent, r.Direction, r.Detected, r.SeenAfter = true, From, ends[:1], 0.15 }),
			"cut s0-s1 silently, s1 to s0, at 2.010 s, s0 alone acted within 150.00 ms; lost 3 on the wire, 1 queued",
		},
		{
			with(func(r *Report) { r.Kind = "impair" }),
			"impair s0-s1 at 2.010 s, seen by neither end yet; lost 3 on the wire, 1 queued",
		},
		{
			with(func(r *Report) { r.Kind, r.Target, r.Detected = "broker", "connection", three }),
			"broker connection at 2.010 s, 3 ends acted within 0.03 ms; lost 3 on the wire, 1 queued",
		},
		{
			with(func(r *Report) {
				r.Kind, r.Target, r.What, r.Detected = KindProcess, "s1", "process of s1 does not answer (process 7 on lab)", three
			}),
			"process of s1 does not answer (process 7 on lab) at 2.010 s, its neighbours acted within 0.03 ms; lost 3 on the " +
				"wire, 1 queued, 0 inside",
		},
		{
			with(func(r *Report) { r.Kind, r.Target, r.What = KindHandover, "s1", "s1 moves from host east to host west" }),
			"s1 moves from host east to host west at 2.010 s; lost 3 on the wire, 1 queued, 0 inside",
		},
		{
			with(func(r *Report) {
				r.Kind, r.What = "silence", "s0 heard nothing on s0-s1 for 150ms, and no fault here explains it"
			}),
			"s0 heard nothing on s0-s1 for 150ms, and no fault here explains it, at 2.010 s, both ends acted within 0.03 ms; " +
				"lost 3 on the wire, 1 queued",
		},
		{
			with(func(r *Report) { r.Extra = ExtraHops{Packets: 1, Mean: 2, Most: 2} }),
			"cut s0-s1 at 2.010 s, both ends acted within 0.03 ms; lost 3 on the wire, 1 queued\n  1 packet went 2.00 hops " +
				"further, at most 2",
		},
		{
			full(),
			"cut s0.0-s1.0 silently, s0.0 to s1.0, at 2.010 s, both ends acted within 150.75 ms; lost 12 on the wire, 3 queued; " +
				"restored at 12.010 s, rerouted meanwhile 480\n" +
				"  first re-route after 151.50 ms; requeued 2; discarded 5; reordered 7, duplicated 1; " +
				"470 packets went 1.50 hops further, at most 4; throughput fell by 25% of 8000 packets/s after 20 ms, made good " +
				"after 180 ms; " +
				"3 connections, 20 KiB sent again, the longest standstill 210ms; shared with faults 2, 4, counted at the same time",
		},
	} {
		assert.Equal(t, c.want, c.report.Summary())
	}
}

func TestTheWholeReportForPeople(t *testing.T) {
	var b strings.Builder
	n, err := full().WriteTo(&b)
	require.NoError(t, err)
	assert.Equal(t, int64(b.Len()), n)
	assert.Equal(t, `fault 3: cut s0.0-s1.0 silently, s0.0 to s1.0, for 10s
  when           2.010 s to 12.010 s
  detected       by s1.0 port 2 after 150.25 ms, by silence
                 by s0.0 port 0 after 150.75 ms, by neighbour
  first re-route after 151.50 ms
  lost           16: 12 on the wire, 3 queued, 1 inside
  rerouted       480 *
  requeued       2
  discarded      5: 4 by "4: no way left", 1 by "2: a dead NIC"
  reordered      7
  duplicated     1
  extra hops     mean 1.50, most 4, of 470 packets
  throughput     fell by 25% of 8000 packets/s after 20 ms, made good after 180 ms *
  connections    3 connections, 20 KiB sent again, the longest standstill 210ms
                 n00, 10.64.0.1:49152 > 10.64.0.4:80: 20 KiB sent again, stood still for 210ms
                 and 2 more
  last effect    after 9800.00 ms
  manager        ddrc: new tables in force after 156.8 ms (detect 152.5, compute 1.2, distribute 3.0), 2 of 56 pairs without a path, as s0.0 to s1.1: s1.1 does not answer
                 version 6, 24 entries of 4 switches, 8 of 56 flows re-routed, settled after 190.0 ms
  * may be due to faults 2, 4 as well, counted at the same time (until 1 s after repair)
  its effects are still being counted
`, b.String())

	b.Reset()
	_, err = Report{ID: 1, Kind: "crash", Target: "s1", At: 1, Open: true}.WriteTo(&b)
	require.NoError(t, err)
	assert.Contains(t, b.String(),
		"fault 1: crash s1\n  when           from 1.000 s, it lasts\n  detected       by no end\n  first re-route none\n")
	assert.NotContains(t, b.String(), "still being counted", "it lasts, which says so already")

	_, err = full().WriteTo(failing{})
	assert.ErrorIs(t, err, os.ErrClosed)
}

// failing is a writer that does.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestAReconfigurationInOneLine(t *testing.T) {
	t.Parallel()
	c := Reconfiguration{
		DetectSeconds: 0.001, ComputeSeconds: 0.002, DistributeSeconds: 0.003, InForceSeconds: 0.006,
		FlowsTotal: 56, Unroutable: 7, Isolated: 7,
	}
	assert.Equal(t, "new tables in force after 6.0 ms (detect 1.0, compute 2.0, distribute 3.0), 7 of 56 pairs without "+
		"a path, joined by no live links", c.String())
	c.DetectSeconds, c.InForceSeconds, c.Isolated, c.Static = 0, 0.005, 4, true
	assert.Equal(t, "new tables in force after 5.0 ms (compute 2.0, distribute 3.0), the fabric emptied meanwhile, 7 of "+
		"56 pairs without a path, of which no live links join 4",
		c.String(), "nothing is detected when links come back")
	c = Reconfiguration{
		DetectSeconds: 0.001, ComputeSeconds: 0.002, DrainSeconds: 0.04, DistributeSeconds: 0.003,
		InForceSeconds: 0.046, Static: true,
	}
	assert.Equal(t, "new tables in force after 46.0 ms (detect 1.0, compute 2.0, drain 40.0, distribute 3.0), the "+
		"fabric emptied meanwhile", c.String())
}

// The losses of phases add up to what was lost in all. One that ended twice, or before the one that
// it follows, has lost nothing.
func TestLossesByPhase(t *testing.T) {
	t.Parallel()
	c := Reconfiguration{Method: "opensm", Lost: PhaseLosses(map[string]uint64{
		UntilTrap: 2, UntilSweep: 1, UntilFirst: 9, UntilForce: 10,
	})}
	c.Settle(13)
	assert.Equal(t, []PhaseLoss{
		{UntilTrap, 2}, {UntilSweep, 0}, {UntilFirst, 7}, {UntilForce, 1}, {UntilSettled, 3},
	}, c.Lost)
	var b strings.Builder
	_, err := Report{Reconfiguration: &c}.WriteTo(&b)
	require.NoError(t, err)
	assert.Contains(t, b.String(),
		"lost meanwhile 2 until trap, 0 until sweep, 7 until first table, 1 until in force, 3 until settled")
	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"lost_by_phase":[{"until":"trap","packets":2},`)

	c = Reconfiguration{}
	c.Settle(13)
	assert.Nil(t, c.Lost, "another manager has no such phases")
}
