package firmware

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// renumbering gives the values of the digits of a tree other numbers: down[i] those that choose the
// down ports of tier i, up[i] those that choose the up ports of tier i+1.
type renumbering struct {
	net      *tree
	down, up [][]int
}

func renumber(net *tree, rnd *rand.Rand) renumbering {
	r := renumbering{net: net}
	for _, values := range net.views[0].At.Tree.Radix {
		r.down = append(r.down, rnd.Perm(values))
		r.up = append(r.up, rnd.Perm(net.k))
	}
	return r
}

// place is the switch that this one becomes.
func (r renumbering) place(p *weft.Place) *weft.Place {
	var w []int
	for i, d := range p.Tree.W {
		if i < int(p.Tree.Tier) {
			w = append(w, r.down[i][d])
		} else {
			w = append(w, r.up[i][d])
		}
	}
	return r.net.place(int(p.Tree.Tier), w)
}

func (r renumbering) nic(nic weft.NICID) weft.NICID {
	id := 0
	for i, d := range digitsOf(r.net, nic) {
		id = id*len(r.down[i]) + r.down[i][d]
	}
	return weft.NICID(id)
}

func (r renumbering) port(t *weft.Tree, p weft.PortID) weft.PortID {
	if j := t.UpIndex(p); j >= 0 {
		return t.Up(r.up[t.Tier-1][j])
	}
	return weft.PortID(r.down[t.Tier][p])
}

// vector renumbers the up ports of tier.
func (r renumbering) vector(tier int, v uint64) (out uint64) {
	for j := range r.net.k {
		if v>>j&1 == 1 {
			out |= 1 << r.up[tier-1][j]
		}
	}
	return out
}

// belongs says of which tier's switch the port field of a packet is a down port, and of which
// tier's the vector has the up ports.
func belongs(t *weft.Tree, at Arrival, f weft.Fields) (port, vector int) {
	port, vector = int(t.Tier), int(t.Tier)
	if at.From != weft.RoleUp {
		port, vector = port+1, vector+1
	}
	if f.PortField >= 0 {
		vector++
	}
	return port, vector
}

// uses are the header fields that a firmware writes, in packets of a small tree with any dead
// ports.
type uses struct{ second, aimed, misroute bool }

func usesOf(fw Firmware) (u uses) {
	net := newTree("kary-ntree:2,3")
	for dst := range weft.NICID(net.nics()) {
		for h := range met(net, fw, dst) {
			u.second = u.second || h.fields.PortField == weft.PortFieldDown
			u.aimed = u.aimed || h.fields.PortField >= 0
			u.misroute = u.misroute || h.fields.Misroute != 0
		}
	}
	return u
}

// fields draws such as a packet may have at this switch, of those that the firmware uses.
func (r renumbering) fields(use uses, t *weft.Tree, at Arrival, dst weft.NICID, rnd *rand.Rand) weft.Fields {
	f := weft.NewFields()
	if at.From == weft.RoleNIC {
		return f
	}
	if use.second {
		f.PortField = int16(-1 - rnd.IntN(2))
	}
	if use.aimed && (at.From == weft.RoleUp) != t.HasDown(dst) && rnd.IntN(2) == 0 && int(t.Tier) < r.net.n-1 {
		f.PortField = int16(rnd.IntN(r.net.k))
	}
	if _, vector := belongs(t, at, f); use.misroute && vector < r.net.n {
		f.Misroute = rnd.Uint64() & rnd.Uint64() & (1<<r.net.k - 1)
	}
	return f
}

// renumbered is what a packet's fields become, those it came with being f.
func (r renumbering) renumbered(t *weft.Tree, at Arrival, f weft.Fields, out weft.Fields,
	turn switching.Turn,
) weft.Fields {
	port, vector := belongs(t, at, f)
	if out.PortField >= 0 && f.PortField < 0 {
		port = int(t.Tier) // just set
	}
	if out.PortField >= 0 {
		out.PortField = int16(r.down[port][out.PortField])
	}
	if turn == switching.UTurn {
		vector = int(t.Tier)
	}
	if out.Misroute != 0 {
		out.Misroute = r.vector(vector, out.Misroute)
	}
	return out
}

// register is the index that a register of a switch has in the one that it becomes.
func (r renumbering) register(fw Firmware, p, q *weft.Place, i int) int {
	name := fw.Registers(p)[i].Name
	var digit, value int
	if n, _ := fmt.Sscanf(name, RerouteVector+" d%d=%d", &digit, &value); n == 2 && value < len(r.down[digit]) {
		name = fmt.Sprintf("%s d%d=%d", RerouteVector, digit, r.down[digit][value])
	}
	return slices.IndexFunc(fw.Registers(q), func(r Register) bool { return r.Name == name })
}

// At every switch, with any dead ports, header fields and registers: with all ports renumbered the
// decision is the same, renumbered.
func TestSymmetricFirmwaresTreatAllPortsOfADirectionAlike(t *testing.T) {
	symmetric := 0
	for i, e := range variants() {
		if !e.Symmetric {
			continue
		}
		symmetric++
		use := usesOf(e)
		for _, spec := range []string{"kary-ntree:3,4", "mport-tree:6,3", "kary-ntree:4,2", "leaf-spine:2,5,3"} {
			t.Run(spec+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				net := newTree(spec)
				rnd := rand.New(rand.NewPCG(5, uint64(i)))
				rules := map[string]bool{}
				for range testenv.Levels(3000, 600, 200) {
					rules[asymmetry(t, net, e, use, rnd)] = true
				}
				require.Greater(t, len(rules), 5, "too few rules were met: %v", rules)
			})
		}
	}
	require.Positive(t, symmetric)
}

func asymmetry(t *testing.T, net *tree, fw Firmware, use uses, rnd *rand.Rand) (rule string) {
	r := renumber(net, rnd)
	v := still(net.views[rnd.IntN(len(net.views))].At)
	u := still(r.place(v.At))
	tr := v.At.Tree
	for p := range v.At.Ports() {
		if rnd.IntN(3) == 0 {
			v.Dead.Add(weft.PortID(p))
			u.Dead.Add(r.port(tr, weft.PortID(p)))
		}
	}
	for i := range fw.RegistersAt(v.At) {
		if value := rnd.Uint64() & rnd.Uint64() & (1<<net.k - 1); tr.Tier > 0 {
			v.Registers[i] = value
			u.Registers[r.register(fw, v.At, u.At, i)] = r.vector(int(tr.Tier), value)
		}
	}
	p := weft.PortID(rnd.IntN(v.At.Ports()))
	at := Arrival{Port: p, From: v.At.Roles[p]}
	pkt := weft.Header{Dst: weft.NICID(rnd.IntN(net.nics()))}
	if rnd.IntN(2) == 0 { // near
		pkt.Dst = weft.NICID((tr.Prefix*tr.Above + rnd.Uint32N(tr.Above)) % uint32(net.nics()))
	}
	pkt.Fields = r.fields(use, tr, at, pkt.Dst, rnd)
	other := weft.Header{Dst: r.nic(pkt.Dst), Fields: r.renumbered(tr, at, pkt.Fields, pkt.Fields, switching.Straight)}

	d := fw.Route(&pkt, at, v)
	got := fw.Route(&other, Arrival{Port: r.port(tr, p), From: at.From}, u)
	want := d
	want.Candidates = nil
	for _, c := range d.Candidates {
		c.Port = r.port(tr, c.Port)
		c.Fields = r.renumbered(tr, at, pkt.Fields, c.Fields, d.Turn)
		want.Candidates = append(want.Candidates, c)
	}
	if d.Write.Do {
		want.Write.Index = r.register(fw, v.At, u.At, d.Write.Index)
		want.Write.Value = r.vector(int(tr.Tier), d.Write.Value)
	}
	slices.SortFunc(want.Candidates, func(a, b Candidate) int { return cmp.Compare(a.Port, b.Port) })
	require.Equal(t, want.Candidates, append([]Candidate(nil), got.Candidates...), "%v %+v %+v", v.At.Name, at, pkt)
	want.Candidates, got.Candidates = nil, nil
	require.Equal(t, want, got, "%v %+v %+v", v.At.Name, at, pkt)
	return d.Rule
}
