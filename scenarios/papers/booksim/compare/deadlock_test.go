package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/measure"
	switching "github.com/weft-fabric/weft/switch"
)

// around sends every packet on by port 1 of a ring until it is there, in one virtual channel.
type around struct{ *measure.Config }

func (a around) Route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	at := sw.Place().Switch
	leaf, port := a.Topology.SwitchOf(pkt.Dst)
	for p := range weft.PortID(sw.Place().Ports()) {
		peer, _, ok := a.Topology.Peer(weft.End{Node: at.Node(), Port: p})
		if next := (int(at) + 1) % len(a.Topology.Switches); leaf != at && ok && peer.Node == weft.SwitchID(next).Node() {
			port = p
		}
	}
	return switching.To(sw, port, 0, pkt.Fields, "on")
}

// Until the deadlock packets have moved, and a throughput of that time would stand in the curve as
// if it were one.
func TestANetworkThatDeadlocksIsNotCompared(t *testing.T) {
	n := &network{name: "ring", spec: "ring:4", pattern: "uniform", window: 2000, variants: []variant{{"circle", 1, []change{
		func(c *measure.Config) { copied := *c; c.Firmware = around{&copied} },
	}}}}
	_, err := n.measure(t.Context(), table{{network: "ring", variant: "circle", load: 1, seed: 1}}, nil, func(run) error { return nil })
	require.ErrorContains(t, err, "ring, circle at load 1, seed 1: deadlock after ")
	require.ErrorContains(t, err, "s3 -> s0 vc0")
}
