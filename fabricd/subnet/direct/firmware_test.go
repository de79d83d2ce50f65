package direct

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// packets follows packets of one destination through switches that do not know what is dead.
type packets struct {
	g     *topology.Graph
	fw    firmware.Firmware
	views []switching.Still
	dead  func(*topology.Link) bool
	dst   weft.NICID
	left  map[packet]int // hops still to go
}

// packet is a packet that came to a switch.
type packet struct {
	at  weft.SwitchID
	sub weft.SubHeaders
}

// hops is how many hops a packet still takes, whichever candidates it takes.
func (p *packets) hops(at packet, came switching.Arrival) (int, error) {
	if n, ok := p.left[at]; ok {
		return n, nil
	}
	h := weft.Header{Dst: p.dst, Fields: weft.NewFields()}
	h.Sub = at.sub
	d := p.fw.Route(&h, came, &p.views[at.at])
	if len(d.Candidates) == 0 {
		return 0, fmt.Errorf("switch %d discards %v: %s", at.at, at.sub, d.Rule)
	}
	hops := -1
	for _, c := range append([]switching.Candidate(nil), d.Candidates...) {
		end, id, _ := p.g.Peer(weft.End{Node: at.at.Node(), Port: c.Port})
		if !end.Node.IsSwitch() {
			return 0, nil
		}
		if p.dead(&p.g.Links[id]) {
			return 0, fmt.Errorf("switch %d sends %v over %s: %s", at.at, at.sub, p.g.Links[id].Name, d.Rule)
		}
		n, err := p.hops(packet{weft.SwitchID(end.Node.Index), c.Fields.Sub},
			switching.Arrival{Port: end.Port, VC: c.VC, From: weft.RolePeer})
		if err != nil {
			return 0, err
		}
		if n++; hops >= 0 && n != hops {
			return 0, fmt.Errorf("switch %d: %v takes %d or %d hops", at.at, at.sub, n, hops)
		}
		hops = n
	}
	p.left[at] = hops
	return hops, nil
}

// Packets with the ways that NICs write meet no fault, whatever they choose, and take as many hops
// as the ways say: the firmware reads the sub-headers as the package means them.
func TestPacketsKeepOffFaults(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"torus:3x3x3", "torus:4x4", "torus:6x5", "mesh:4x4", "torus:4x2x3,nics=2"} {
		g, n := generate(t, spec)
		for _, text := range []string{
			"I", "M", "I+D", "I+M", "D+M", "I+D+M", "Ix3", "I+D+direction-order", "Ix2+D+either",
			"I+D+M+either",
		} {
			m := parse(t, text)
			dead := newOracle(g, m, draw(g, 5, rand.New(rand.NewPCG(7, 1)))).cuts
			s := n.Solve(m, dead, nil)
			ways, err := s.Ways()
			if err != nil {
				t.Fatal(err)
			}
			made := firmware.Direct{
				Adaptive: true, SubPaths: m.SubPaths(), Ways: ways,
				Deterministic: m.Deterministic, Misroutes: m.Misroute,
			}
			if m.InDirectionOrder() {
				made.Order = firmware.DirectionFirst
			}
			fw := made.Firmware()
			p := packets{g: g, fw: fw, dead: dead, views: make([]switching.Still, len(g.Switches))}
			for i := range p.views {
				p.views[i] = switching.Still{At: g.Place(weft.SwitchID(i)), Channels: m.SubPaths() + 1}
				if err := fw.Fits(p.views[i].At, m.SubPaths()+1); err != nil {
					t.Fatal(err)
				}
			}
			for _, to := range g.NICs {
				p.dst, p.left = to.ID, map[packet]int{}
				dst, _ := g.SwitchOf(to.ID)
				for _, from := range g.NICs {
					src, port := g.SwitchOf(from.ID)
					way, ok := s.Way(src, dst)
					if src == dst {
						continue
					}
					h := weft.Header{Src: from.ID, Dst: to.ID, Fields: weft.NewFields()}
					fw.Source(g.Place(src), port, &h)
					hops, err := p.hops(packet{src, h.Sub}, switching.Arrival{Port: port, From: weft.RoleNIC})
					if ok != (err == nil) || ok && hops != way.Length {
						t.Fatalf("%s %s: %s to %s: %d hops, %v; the way is %+v, %v", spec, text, from.Name, to.Name, hops, err, way, ok)
					}
				}
			}
		}
	}
}
