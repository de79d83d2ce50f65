package explain_test

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/explain"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// clockwise is a routing function of one's own, for rings: always on, by port 1, until port 2 leads
// to the packet's NIC.
func clockwise(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out, rule := weft.PortID(1), "clockwise"
	if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
		out, rule = 2, "deliver"
	}
	if !sw.PortUp(out) {
		return switching.Discard("the link is dead")
	}
	return switching.To(sw, out, 0, pkt.Fields, rule)
}

// What would my firmware do at s1, and what when the link to s2 is dead?
func ExampleExplainer_Explain() {
	e := explain.New(func(context.Context, string, *topology.Graph) (switching.Firmware, int, error) {
		return switching.Firmware{Name: "clockwise", Route: clockwise}, 1, nil
	})
	q := explain.NewQuestion()
	q.Topology, q.Routing = "ring:4", "clockwise"
	q.Switch, q.In, q.Dst = explain.Name("s1"), explain.Name("s0"), explain.Name("n3")
	d, err := e.Explain(context.Background(), q)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(d)

	q.Dead = []explain.Ref{explain.Name("s2")}
	d, err = e.Explain(context.Background(), q)
	fmt.Println(d.Discard, d.Rule, err)
	// Output:
	// switch     s1, clockwise
	// packet     for n3, from s0 by port 0, vc 0
	// rule       clockwise
	// step       straight
	// goes to    s2 by port 1, vc 0
	// true the link is dead <nil>
}
