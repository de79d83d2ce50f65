package fabric

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
)

// The clock of a host is taken for what the fastest answer says, until that is old.
func TestSkew(t *testing.T) {
	t.Parallel()
	var s skew
	s.measure(100, 200, 90) // it was at 90 when ours was at 150, give or take 50
	assert.EqualValues(t, 60, s.behind)
	s.measure(1000, 1010, 940)
	assert.EqualValues(t, 65, s.behind)
	s.measure(2000, 2900, 2000) // a slow answer says less
	assert.EqualValues(t, 65, s.behind)
	s.measure(2100, 2900, 3000) // unless the clock has jumped
	assert.EqualValues(t, -500, s.behind)
	s.measure(3000, 3010, 2940)
	later := 2*skewLasts + 2000
	s.measure(later, later+900, later)
	assert.EqualValues(t, 450, s.behind)
	assert.EqualValues(t, 1450, s.toLocal(1000, 5000))
	assert.EqualValues(t, 1200, s.toLocal(1000, 1200), "nothing is later than now")
}

// A clock is put right by as much as is known for certain.
func TestSkewIsSteeredAgainst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ behind, trip, by, left weft.Time }{
		{behind: weft.Second, trip: weft.Millisecond, by: weft.Second},
		{behind: -weft.Second, trip: weft.Millisecond, by: -weft.Second, left: -weft.Second},
		{behind: steerFrom / 2, trip: 1, left: steerFrom / 2},
		{behind: -20 * steerFrom, trip: 21 * steerFrom, left: -20 * steerFrom},
	} {
		s := skew{behind: c.behind, trip: c.trip, known: true}
		assert.Equal(t, c.by, s.steer(), c)
		assert.Equal(t, c.left, s.behind, c)
	}
	var unknown skew
	assert.Zero(t, unknown.steer())
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("kary-ntree:2,2") // 4 switches, 4 NICs
	require.NoError(t, err)
	list, err := Placements(g, []HostOptions{
		{Name: "a", Switches: []weft.SwitchID{2, 0}},
		{Name: "b", NICs: []weft.NICID{3}},
	}, 1)
	require.NoError(t, err)
	require.Len(t, list, 3)
	assert.Equal(t, []weft.SwitchID{1, 3}, list[0].SwitchIDs(), "what is on no host the leader runs")
	assert.Equal(t, []weft.NICID{0, 1, 2}, list[0].NICIDs())
	assert.Equal(t, []weft.SwitchID{0, 2}, list[1].SwitchIDs())
	assert.Equal(t, 1, list[1].Shard)
	assert.Equal(t, 1+ShardsPerHost, list[2].Shard)
	list, err = Placements(g, []HostOptions{{
		Name: "a", Switches: []weft.SwitchID{0, 1, 2, 3},
		NICs: []weft.NICID{0, 1, 2, 3},
	}}, 2)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, 2, list[0].Shard, "the leader's connections hear nothing of hosts")

	for want, hosts := range map[string][]HostOptions{
		"on host a and on host b": {
			{Name: "a", Switches: []weft.SwitchID{1}},
			{Name: "b", Switches: []weft.SwitchID{1}},
		},
		"two hosts are called a": {
			{Name: "a", Switches: []weft.SwitchID{1}},
			{Name: "a", Switches: []weft.SwitchID{2}},
		},
		"like a node of the topology":    {{Name: "s0.0", Switches: []weft.SwitchID{1}}},
		"needs a name":                   {{Switches: []weft.SwitchID{1}}},
		"neither a switch nor a NIC":     {{Name: "a"}},
		"switch 4: no such object":       {{Name: "a", Switches: []weft.SwitchID{4}}},
		"nic 9: no such object in this ": {{Name: "a", NICs: []weft.NICID{9}}},
	} {
		_, err := Placements(g, hosts, 1)
		assert.ErrorContains(t, err, want)
	}
}

func TestALargeHostMayTakeLongerToComeUp(t *testing.T) {
	h := &hostState{ends: make([]weft.End, 25_000)}
	require.Equal(t, 35*time.Second, h.orderTime(&host.Order{SignalAll: true}))
	require.Equal(t, orderTime, h.orderTime(&host.Order{}))
}

// An answer that a later one has overtaken still tells what only it was asked for.
func TestAnOvertakenAnswerTellsWhatTheLaterDoesNot(t *testing.T) {
	t.Parallel()
	f, s := startStuck(t)
	defer close(s.release)
	for name, of := range map[string]struct {
		host  *hostState
		store func(h *hostState, s host.Counters)
	}{
		"in this process": {f.local, func(h *hostState, s host.Counters) { h.storeLocalCounters(s, s.At) }},
		"in another": {
			f.switches[0].own.Load(),
			func(h *hostState, s host.Counters) { require.NoError(t, h.storeCounters(s)) },
		},
	} {
		h, store := of.host, of.store
		last := h.counters.Load().own
		tells := func(at weft.Time, extra int, latency string) host.Counters {
			c := host.Counters{Number: last.Number, At: last.At + at}
			c.Incarnation, c.Seq = last.Incarnation, last.Seq+uint64(at)
			if extra > 0 {
				c.Generations = []nic.GenerationStats{{MostExtra: extra}}
			}
			if latency != "" {
				c.Latency = []byte(latency)
			}
			return c
		}
		store(h, tells(1000, 1, "1"))
		store(h, tells(3000, 0, ""))
		store(h, tells(2000, 2, "2"))
		has := h.counters.Load()
		assert.Equal(t, last.At+3000, has.own.At, name)
		assert.Equal(t, 2, has.all.Generations[0].MostExtra, name)
		assert.Equal(t, "2", string(has.own.Latency), name)
		store(h, tells(5000, 5, "5"))
		store(h, tells(4000, 4, "4"))
		has = h.counters.Load()
		assert.Equal(t, 5, has.all.Generations[0].MostExtra, name)
		assert.Equal(t, "5", string(has.own.Latency), name)
	}
}

// A report is closed when the hosts that answer have been asked for all that is in it, and have
// told: until then it might say how many packets went further and that none did.
func TestReportsWaitForWhatHostsTell(t *testing.T) {
	t.Parallel()
	f := startRing(t, withProcesses(reaches{host: willing{}}))
	h := f.ownedBy(f.switches[0], 2, firstEpoch)
	require.Equal(t, weft.Second, f.toldSince(weft.Second), "it does not answer")
	h.markAlive()
	require.NoError(t, h.read(host.CountersRequest{}))
	require.Zero(t, f.toldSince(weft.Second), "it was not asked for generations")
	before := f.Now()
	require.NoError(t, h.read(host.CountersRequest{Generations: true}))
	require.GreaterOrEqual(t, f.toldSince(weft.Never), before)
	require.LessOrEqual(t, f.toldSince(weft.Never), f.Now())
	require.Equal(t, before, f.toldSince(before))
	h.markSuspect()
	require.Equal(t, weft.Never, f.toldSince(weft.Never))
}
