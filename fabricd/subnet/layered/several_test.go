package layered_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// countPaths counts the shortest paths between two switches.
func countPaths(g *topology.Graph, s, d weft.SwitchID) (n int) {
	if s == d {
		return 1
	}
	for p := range weft.PortID(g.Switches[s].Ports) {
		peer, _, ok := g.Peer(weft.End{Node: s.Node(), Port: p})
		if next := weft.SwitchID(peer.Node.Index); ok && peer.Node.IsSwitch() &&
			g.SwitchDistance(next, d) < g.SwitchDistance(s, d) {
			n += countPaths(g, next, d)
		}
	}
	return n
}

// walked is the way of an address through deterministic switches.
func walked(r *layered.Routing, s weft.SwitchID, d weft.NICID, a weft.Address) (ports string) {
	w := way{r: r, to: d, path: a.Path}
	w.each = func(from, to weft.SwitchID, _ weft.PortID, _ weft.VC) {
		ports += string(rune(from)) + string(rune(to))
	}
	w.follow(s, injection(r.Graph, s), a.VC, 0)
	return ports
}

func TestMPLASHHasAllShortestPaths(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"irregular:24,48,3", "mesh:4x4", "torus:4x4"} {
		g := parse(t, spec)
		for _, step4 := range []layered.Tristate{layered.On, layered.Off} {
			r := sound(t, layered.MPLASH, g, layered.Options{Step4: step4})
			most := 0
			for s := range g.Switches {
				for d := range g.NICs {
					to, _ := g.SwitchOf(weft.NICID(d))
					list := r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d))
					ways, in := map[string]bool{}, map[weft.Address]bool{}
					for _, a := range list {
						ways[walked(r, weft.SwitchID(s), weft.NICID(d), a)] = true
						in[a] = true
						require.Zero(t, a.Layers, "packets stay in their layer")
					}
					require.Len(t, ways, countPaths(g, weft.SwitchID(s), to), "from %d to %d", s, d)
					require.Len(t, in, len(list), "no address twice")
					if step4 == layered.Off {
						require.Len(t, list, len(ways), "one layer a path")
					}
					most = max(most, len(list)-len(ways))
				}
			}
			require.Equal(t, step4 == layered.On && r.Layers > 1, most > 0)
		}
	}
}

func TestMPLASHTakesNoMorePathsThanItsLimit(t *testing.T) {
	t.Parallel()
	g := parse(t, "mesh:5x5")
	r := sound(t, layered.MPLASH, g, layered.Options{Limit: 3, Step4: layered.Off})
	require.Len(t, r.Assignment.Addresses(0, 24), 3)
	r = sound(t, layered.MPLASH, g, layered.Options{Step4: layered.Off})
	require.Equal(t, 70, countPaths(g, 0, 24))
	require.Len(t, r.Assignment.Addresses(0, 24), layered.DefaultLimit)
}

// The square of four switches: between opposite corners there are two ways, and each begins with a
// port of its own.
func TestALASHHasAnAddressForEachFirstLink(t *testing.T) {
	t.Parallel()
	g := parse(t, "mesh:3x3")
	r := sound(t, layered.ALASH, g, layered.Options{Step4: layered.Off})
	require.Equal(t, layered.Adaptive, r.Kind)
	list := r.Assignment.Addresses(0, 8)
	require.Len(t, list, 2)
	from := injection(g, 0)
	for i, port := range []weft.PortID{1, 3} { // towards larger x and y
		require.EqualValues(t, i, list[i].Path)
		hops := r.Tables.Choices(0, 8, list[i].Path, from, list[i].VC)
		require.Len(t, hops, 1)
		require.Equal(t, port, hops[0].Port)
		// What came from a switch takes any of them, by whatever address.
		require.Len(t, r.Tables.Choices(4, 8, list[i].Path, 0, 0), 2)
		require.Len(t, r.Tables.Choices(4, 8, list[i].Path, 2, 0), 2)
	}
	require.Len(t, r.Assignment.Addresses(0, 1), 1, "one way to a neighbour")
}

func TestALASHHasAnAddressForEachMinimalPortAndAllWaysAfterIt(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:32,64,2")
	r := sound(t, layered.ALASH, g, layered.Options{Move: layered.Off, Step4: layered.Off})
	for s := range g.Switches {
		for d := range g.NICs {
			to, _ := g.SwitchOf(weft.NICID(d))
			if int(to) == s {
				continue
			}
			var ports []weft.PortID
			in := weft.NoPort
			for p := range weft.PortID(g.Switches[s].Ports) {
				peer, _, ok := g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: p})
				switch {
				case !ok || !peer.Node.IsSwitch():
				case g.SwitchDistance(weft.SwitchID(peer.Node.Index), to) < g.SwitchDistance(weft.SwitchID(s), to):
					ports = append(ports, p)
				default:
					in = p
				}
			}
			list := r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d))
			require.Len(t, list, len(ports))
			for i, a := range list {
				require.Equal(t, ports[a.Path],
					r.Tables.Choices(weft.SwitchID(s), weft.NICID(d), a.Path, injection(g, weft.SwitchID(s)), a.VC)[0].Port)
				require.EqualValues(t, i, a.Path)
				if in != weft.NoPort {
					require.Len(t, r.Tables.Choices(weft.SwitchID(s), weft.NICID(d), a.Path, in, a.VC), len(ports))
				}
			}
		}
	}
}

func TestALASHMovesBetweenAllLayersOfAnAddress(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:32,64,2")
	free := sound(t, layered.ALASH, g, layered.Options{})
	bound := sound(t, layered.ALASH, g, layered.Options{Move: layered.Off})
	moves := 0
	for s := range g.Switches {
		for d := range g.NICs {
			layers := map[uint16]uint16{} // per path: those in which packets enter
			list := free.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d))
			for _, a := range list {
				layers[a.Path] |= 1 << a.VC
			}
			for i, a := range list {
				want := layers[a.Path]
				if bits.OnesCount16(want) == 1 {
					want = 0 // it stays
				} else {
					moves++
				}
				require.Equal(t, want, a.Layers)
				b := bound.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d))[i]
				require.Equal(t, weft.Address{Path: a.Path, VC: a.VC}, b)
			}
		}
	}
	require.Positive(t, moves)
}
