package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTraceFollowsPacketsHopByHopToTheirEnds(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	h.Quiesce() // queues are empty: a packet finds room
	out := ok(t, "trace", "--src", "n00", "--dst", "n10", "--count", "2")
	for _, line := range []string{
		`n00 sends it to s1\.0, after \S+ [mu]?s in its send queue`,
		`s1\.0 +in p0 vc0, out p[23] vc0 to s0\.[01]  rule 1: any live up port\n    candidates p2 vc0 to s0\.0 room 2\+\d` +
			`( chosen, p3 vc0 to s0\.1 room \d\+\d|, p3 vc0 to s0\.1 room \d\+\d chosen)`,
		`n10 has it, \S+ [mu]?s after it was generated`,
	} {
		require.Regexp(t, `(?m)^#\d+ +[\d.]+s  `+line+`$`, out)
	}
	require.Len(t,
		regexp.MustCompile(`(?m)^#\d+  delivered: n00 > s1\.0 > s0\.[01] > s1\.1 > n10, 0 reroutes$`).FindAllString(out, -1),
		2)

	var ends int
	for line := range strings.Lines(ok(t, "trace", "--src", "n00", "--dst", "n10", "--count", "3", "--json")) {
		var v fabric.HopView
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		require.Equal(t, []string{"n00", "n10"}, []string{v.Src, v.Dst})
		if v.End == fabric.EndDelivered {
			ends++
		}
	}
	require.Equal(t, 3, ends)
}

func TestTraceTellsWhereAPacketWasLostAndBySomeFault(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab", harness.NoLiveness()) // nobody finds the cut out before the packet has come
	h.Quiesce()
	h.CutSilently("s1.1", "n10")
	out := ok(t, "trace", "--src", "n00", "--dst", "n10")
	require.Regexp(t, `\n#\d+ +[\d.]+s  lost on the wire from s1\.1 to n10, on link s1\.1-n10 \(cut silently, fault 1\)\n`+
		`#\d+  lost: n00 > s1\.0 > s0\.[01] > s1\.1 > \(n10\), 0 reroutes\n$`, out)
}

func TestTraceAllShowsWhatIsTracedAnyway(t *testing.T) {
	ownRegistry(t)
	start(t, "lab", harness.TraceEvery(5))
	out, stop := background(t, "trace", "--all")
	out.Await(t, "  delivered: n")
	require.Zero(t, stop())
	require.Regexp(t, `(?m)^n\d\d>n\d\d #\d+  `, out.String())
}

// What a switch tells that is a process of its own may come after the end, and is waited for.
func TestTraceWaitsForHopsThatComeLate(t *testing.T) {
	out := new(rig.Output)
	trace := &tracing{src: "n00", dst: "n10", count: 1, out: out, packets: map[packetKey]*travelled{}}
	hop := func(at float64, node string, hops int) fabric.HopView {
		return fabric.HopView{Src: "n00", Dst: "n10", At: at, Node: node, Hops: hops, In: 0, Out: 1, To: "x", Rule: "r"}
	}
	require.NoError(t, trace.take(hop(0.1, "s1.0", 0)))
	require.NoError(t, trace.take(hop(0.3, "s1.1", 2)))
	require.NoError(t,
		trace.take(fabric.HopView{Src: "n00", Dst: "n10", At: 0.4, Node: "n10", Hops: 3, Out: -1, End: fabric.EndDelivered}))
	require.ErrorIs(t, trace.take(hop(0.2, "s0.1", 1)), errEnough)
	require.Equal(t, `#0    0.100000s  s1.0     in p0 vc0, out p1 vc0 to x  rule r
#0    0.300000s  s1.1     in p0 vc0, out p1 vc0 to x  rule r
#0    0.400000s  n10 has it, 0 us after it was generated
#0    0.200000s  s0.1     in p0 vc0, out p1 vc0 to x  rule r
#0  delivered: s1.0 > s0.1 > s1.1 > n10, 0 reroutes
`, out.String())
}

// Hops of packets that are under way at a time are told in turn; each packet is printed by itself,
// and one that does not end at last.
func TestTraceOfSeveralPacketsPrintsOneAfterTheOther(t *testing.T) {
	out := new(rig.Output)
	trace := &tracing{src: "n00", dst: "n10", count: 3, out: out, packets: map[packetKey]*travelled{}}
	take := func(seq uint64, at float64, v fabric.HopView) error {
		v.Src, v.Dst, v.Seq, v.At = "n00", "n10", seq, at
		return trace.take(v)
	}
	decided := fabric.HopView{Node: "s1.0", Out: 1, To: "x", Rule: "r"}
	ended := fabric.HopView{Node: "n10", Hops: 1, Out: -1, End: fabric.EndDelivered}
	require.NoError(t, take(7, 0.1, decided))
	require.NoError(t, take(8, 0.2, decided))
	require.NoError(t, take(9, 0.3, decided))
	require.Empty(t, out.String())
	require.NoError(t, take(8, 0.4, ended))
	require.NoError(t, take(7, 0.5, ended))
	require.ErrorIs(t, trace.unheard(), command.ErrFailed)
	var packets []string
	for line := range strings.Lines(out.String()) {
		if packet, _, ok := strings.Cut(line, " "); ok && packet != "" {
			packets = append(packets, packet)
		}
	}
	require.Equal(t, strings.Fields("#8 #8 #8 #7 #7 #7 #9 #9"), packets)
	require.Contains(t, out.String(), "#9  not heard of any more: under way: s1.0, 0 reroutes\n")
}

// Whoever loses the processor reads the time of a hop late. A packet has been at its source first.
func TestATraceBeginsAtTheSource(t *testing.T) {
	t.Parallel()
	p := travelled{packetKey: packetKey{src: "n00", dst: "n10"}}
	for _, v := range []fabric.HopView{
		{Node: "n00", At: 30},
		{Node: "s1.1", At: 20},
		{Node: "s0.0", At: 10},
		{Node: "n10", At: 40, End: fabric.EndDelivered},
	} {
		p.add(v)
	}
	require.Equal(t, "delivered: n00 > s0.0 > s1.1 > n10, 0 reroutes", p.summary())
}
