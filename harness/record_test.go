package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func newTestRecorder(t *testing.T) *recorder {
	t.Helper()
	g := topologytest.Parse(t, "ring:4")
	return newRecorder(g)
}

func TestARecorderForgetsTheOldestPathsAndKeepsTheLatest(t *testing.T) {
	t.Parallel()
	r := newTestRecorder(t)
	const sent = 2*maxPaths + 3
	for i := range uint64(sent) {
		r.Record(0, weft.NICID(1).Node(), &weft.Actions{Arrived: []weft.Header{{Dst: 1, Seq: i, Traced: true}}})
	}
	assert.Len(t, r.paths, maxPaths)
	assert.Len(t, r.order, maxPaths)
	for seq, want := range map[uint64]weft.Account{
		0: 0, sent - maxPaths - 1: 0, sent - maxPaths: weft.Delivered, sent - 1: weft.Delivered,
	} {
		assert.Equal(t, want, r.path(Packet{Dst: 1, Seq: seq}).End, "packet %d", seq)
	}
}

func TestARecorderDescribesTheLatestDropTracedOrNot(t *testing.T) {
	t.Parallel()
	r := newTestRecorder(t)
	assert.Equal(t, "no switch lost or discarded a packet", r.lastDrop())
	drop := weft.Drop{Account: weft.Discarded, Rule: "dead", Header: weft.Header{Src: 1, Dst: 2, Seq: 7}}
	r.Record(0, weft.SwitchID(3).Node(), &weft.Actions{Drops: []weft.Drop{drop}})
	assert.Equal(t, "the last one: packet n1 -> n2 #7: discarded at s3 by rule \"dead\"\n"+
		"  harness.TraceEvery(1) records the paths of all packets", r.lastDrop())
	assert.Empty(t, r.paths, "the path of a packet that is not traced is not kept")

	drop.Header.Traced = true
	hop := weft.Hop{Switch: 3, In: 0, Out: weft.NoPort, Rule: "dead", Waited: weft.Millisecond, Header: drop.Header}
	r.Record(0, weft.SwitchID(3).Node(), &weft.Actions{Hops: []weft.Hop{hop}, Drops: []weft.Drop{drop}})
	assert.Equal(t, "the last one: packet n1 -> n2 #7: discarded at s3 by rule \"dead\"\n"+
		"  s3       in p0 vc0  dead (waited 1ms)", r.lastDrop())
}

func TestAPathThatWasReturnedDoesNotGrow(t *testing.T) {
	t.Parallel()
	r := newTestRecorder(t)
	h := weft.Header{Dst: 1, Traced: true}
	r.Record(0, weft.SwitchID(0).Node(), &weft.Actions{Hops: []weft.Hop{{Header: h}}})
	before := r.path(Packet{Dst: 1})
	ended := r.changed(Packet{Dst: 1})
	r.Record(0, weft.SwitchID(1).Node(), &weft.Actions{Hops: []weft.Hop{{Header: h}}, Arrived: []weft.Header{h}})
	<-ended
	assert.Len(t, before.Hops, 1)
	assert.Len(t, r.path(Packet{Dst: 1}).Hops, 2)
	assert.Equal(t, "in flight", before.End.String())
}

func TestTroubleOfTheLinksIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	r := newTestRecorder(t)
	for range 100 {
		r.trouble("inbox full")
	}
	assert.Len(t, r.linkErrors(), 10)
}
