package lead

import (
	"fmt"
	"math"
	"runtime"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
)

// What forwarding costs on one core while links are lightly loaded, so that a frame has one packet:
// docs/explanation/performance.md, Large fabrics live, the time of the idle fabric taken off. Both
// grow with the ports, for less of them is in the caches.
const (
	hopSeconds  = 20e-6 // of a core, for a packet that a switch forwards, in fabrics of up to hopPorts
	hopPorts    = 768
	hopGrowth   = 0.2 // exponent
	idleCores   = 0.1 // that a fabric of idlePorts has when nothing is sent
	idlePorts   = 384
	idleGrowth  = 0.18
	sparedShare = 1. / 3 // of the cores
	mostLoad    = 0.2    // what is offered where the cores carry more
	hopSources  = 16     // switches that paths are measured from
)

// defaultTraffic is what NICs inject unless given: uniform, at a load that so many cores carry with
// a third of them to spare.
func defaultTraffic(g *topology.Graph, rate float64, cores int) string {
	return fmt.Sprintf("uniform:%v", defaultLoad(g, rate, cores))
}

// theseCores is how many cores the fabric has.
func theseCores() int { return runtime.GOMAXPROCS(0) }

func defaultLoad(g *topology.Graph, rate float64, cores int) float64 {
	packets := carried(g, cores)
	load := packets / (float64(max(1, len(g.NICs))) * rate / nic.DefaultPacketBytes)
	if load >= mostLoad {
		return mostLoad
	}
	unit := math.Pow(10, math.Floor(math.Log10(load))-1) // two digits
	load = math.Floor(load/unit) * unit
	var short float64
	_, _ = fmt.Sscan(fmt.Sprintf("%.2g", load), &short) // as it is written
	return short
}

// carried is how many packets a second cores carry with a third of them to spare, at least one.
func carried(g *topology.Graph, cores int) float64 {
	ports := float64(2 * len(g.Links))
	idle := idleCores * math.Pow(max(1, ports/idlePorts), idleGrowth)
	hop := hopSeconds * math.Pow(max(1, ports/hopPorts), hopGrowth)
	return max(1, ((1-sparedShare)*float64(cores)-idle)/(hop*meanHops(g)))
}

// meanHops is how many switches a packet of uniform traffic crosses on a shortest path, from some
// of the NICs.
func meanHops(g *topology.Graph) float64 {
	nics := make([]int, len(g.Switches))
	for i := range g.Links {
		if l := &g.Links[i]; !l.BetweenSwitches() { // the NIC is the end B
			nics[l.A.Node.Index]++
		}
	}
	var with []int32
	for id, n := range nics {
		if n > 0 {
			with = append(with, int32(id))
		}
	}
	hops, pairs := 0, 0
	net, dist := g.Adjacency(nil), make([]int32, len(g.Switches))
	for i := 0; i < len(with); i += max(1, len(with)/hopSources) {
		for _, at := range net.Distances(dist, nil, with[i]) {
			hops, pairs = hops+nics[at]*int(dist[at]+1), pairs+nics[at]
		}
	}
	return float64(max(1, hops)) / float64(max(1, pairs))
}
