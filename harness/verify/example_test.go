package verify_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// clockwise is a routing function of one's own: for rings, always to the next switch, until the
// packet is where its NIC is. In the topology ring:n port 0 of a switch leads back, port 1 on, and
// port 2 to its NIC. With a dateline a packet changes to VC 1 where it passes switch 0.
type clockwise struct{ dateline bool }

func (c clockwise) firmware() switching.Firmware {
	return switching.Firmware{Name: "clockwise", Route: c.route}
}

func (c clockwise) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here := uint32(sw.Place().Switch)
	switch {
	case here == uint32(pkt.Dst):
		return switching.To(sw, 2, 0, pkt.Fields, "deliver")
	case !sw.PortUp(1):
		return switching.Discard("the link is dead")
	}
	vc := at.VC
	if c.dateline && here == 0 {
		vc = 1
	}
	return switching.To(sw, 1, vc, pkt.Fields, "clockwise")
}

// A firmware of one's own is verified by a call. Packets that go round a ring can all wait for the
// next one; the counterexample says where. Two virtual channels mend that.
func ExampleRun() {
	g, err := topology.Parse("ring:4")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fw := range []clockwise{{}, {dateline: true}} {
		r, err := verify.Run(context.Background(), verify.Config{Graph: g, Firmware: fw.firmware(), VCs: 2})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r)
		if r.Counter != nil {
			fmt.Print(r.Counter)
		}
	}
	// Output:
	// FAILS: 1 fault sets, 12 pairs each: 0 not connected, 0 livelocks, 1 sets that can deadlock, at most 4 hops
	// deadlock with nothing dead:
	//     s0>s1 vc0
	//     s1>s2 vc0
	//     s2>s3 vc0
	//     s3>s0 vc0
	//     packets from n0 to n3, n1 to n0, n2 to n1, n3 to n2
	//     4 channels can hold only packets that wait for one another; in 4 of them each waits for the next
	// holds: 1 fault sets, 12 pairs each: 0 not connected, 0 livelocks, 0 sets that can deadlock, at most 4 hops
}

// TestClockwise is how a test asks: every set of one dead link, and the packets that end there must
// end by the rule meant for it.
func TestClockwise(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("ring:4")
	if err != nil {
		t.Fatal(err)
	}
	r, err := verify.Run(t.Context(), verify.Config{
		Graph: g, Firmware: clockwise{dateline: true}.firmware(), VCs: 2,
		Sets: verify.Sets{Min: 1, Max: 1, Kind: verify.Links},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if !r.CDGAcyclic || r.Livelocks > 0 || len(r.Discards) != 1 || r.Discards["the link is dead"] == 0 {
		t.Errorf("%v, discards %v\n%v", r, r.Discards, r.Counter)
	}
}
