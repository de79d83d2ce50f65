package subnet

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// UpDownRoutes are the routes of up/down routing in a k-ary n-tree or an m-port tree, computed
// without what is dead: DDRC, the reconfiguration that Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic
// Fault Tolerance in Fat Trees, section VIII, compares with. No packet goes up again after it has
// come down, so there is no deadlock and one virtual channel is enough. It is kept to be computed
// again and again for one topology, allocates nothing when it is, and belongs to one goroutine.
type UpDownRoutes struct {
	g     *topology.Graph
	first []int // per switch: where its ports begin
	ports []port
	words int

	byTier []weft.SwitchID // the switches from the top

	reach []uint64 // per switch: the NICs that it reaches
	dead  []bool   // per port
}

// port is what a port of a switch leads to.
type port struct {
	role weft.Role
	peer uint32 // the switch or NIC
	link *topology.Link
}

// NewUpDownRoutes is for one tree, of which a file may have taken links; Compute comes next. Other
// topologies are refused.
func NewUpDownRoutes(g *topology.Graph) (*UpDownRoutes, error) {
	u := &UpDownRoutes{g: g, words: (len(g.NICs) + 63) / 64, first: make([]int, len(g.Switches)+1)}
	for i := range g.Switches {
		u.byTier = append(u.byTier, weft.SwitchID(i))
	}
	slices.SortStableFunc(u.byTier,
		func(a, b weft.SwitchID) int { return cmp.Compare(g.Switches[a].Tier, g.Switches[b].Tier) })
	for i, s := range g.Switches {
		place := g.Place(s.ID)
		if place.Tree == nil {
			return nil, notATree("up/down routes are computed", g)
		}
		u.first[i+1] = u.first[i] + s.Ports
		for p := range weft.PortID(s.Ports) {
			at := port{role: place.Roles[p]}
			if end, id, ok := g.Peer(weft.End{Node: s.ID.Node(), Port: p}); ok {
				at.peer, at.link = end.Node.Index, &g.Links[id]
			}
			u.ports = append(u.ports, at)
		}
	}
	u.reach = make([]uint64, len(g.Switches)*u.words)
	u.dead = make([]bool, len(u.ports))
	return u, nil
}

// Compute finds what each switch reaches without what is dead, and returns how many ordered pairs
// of different NICs are unroutable. A NIC whose link or switch is dead reaches nobody and nobody
// reaches it.
func (u *UpDownRoutes) Compute(dead *Dead) (unroutable int) {
	for i := range u.ports {
		u.dead[i] = u.ports[i].link == nil || dead.Cuts(u.ports[i].link)
	}
	clear(u.reach)
	for _, s := range slices.Backward(u.byTier) { // what is below by live links
		mine := u.of(s)
		for i := u.first[s]; i < u.first[s+1]; i++ {
			switch at := u.ports[i]; {
			case u.dead[i]:
			case at.role == weft.RoleNIC:
				mine.add(at.peer)
			case at.role == weft.RoleDown:
				mine.or(u.of(weft.SwitchID(at.peer)))
			}
		}
	}
	routable := 0
	for _, s := range u.byTier { // and what the switches above reach
		mine := u.of(s)
		sources := 0
		for i := u.first[s]; i < u.first[s+1]; i++ {
			switch at := u.ports[i]; {
			case u.dead[i]:
			case at.role == weft.RoleNIC:
				sources++
			case at.role == weft.RoleUp:
				mine.or(u.of(weft.SwitchID(at.peer)))
			}
		}
		if sources > 0 {
			routable += sources * (mine.count() - 1) // each but itself
		}
	}
	n := len(u.g.NICs)
	return n*(n-1) - routable
}

// of are the NICs that a switch reaches.
func (u *UpDownRoutes) of(s weft.SwitchID) set {
	return u.reach[int(s)*u.words : (int(s)+1)*u.words]
}

// Port is where switch s forwards packets for d by the routes of the last Compute, NoPort when it
// does not reach d. Up it is the default port, the destination's digit; when d cannot be reached
// that way, the next digits of d and those of the switch choose among the ports by which it can. So
// the destinations of a dead port are spread over the others, and so are the sources of a
// destination that is behind a dead link; those of live ports stay where they are.
func (u *UpDownRoutes) Port(s weft.SwitchID, d weft.NICID) weft.PortID {
	t := u.g.Place(s).Tree
	switch {
	case !u.of(s).has(uint32(d)):
		return weft.NoPort
	case t.HasDown(d):
		return t.DownPort(d)
	}
	p := t.DefaultUp(d)
	if u.leads(s, p, d) {
		return p
	}
	lead := 0
	for j := range t.Ups() {
		if u.leads(s, t.Up(j), d) {
			lead++
		}
	}
	spread := int(t.Number(d)/t.Below) / t.Ups()
	for _, w := range t.W {
		spread += w
	}
	skip := spread % lead // lead is not 0: some port leads to d, or the switch would not reach it
	for j := range t.Ups() {
		if p := t.Up(j); u.leads(s, p, d) {
			if skip == 0 {
				return p
			}
			skip--
		}
	}
	return weft.NoPort
}

// leads reports whether an up port is live and leads to a switch that reaches d.
func (u *UpDownRoutes) leads(s weft.SwitchID, p weft.PortID, d weft.NICID) bool {
	i := u.first[s] + int(p)
	return p != weft.NoPort && !u.dead[i] && u.of(weft.SwitchID(u.ports[i].peer)).has(uint32(d))
}

// Tables are the routes of the last Compute as tables, which later ones do not change. They look at
// the destination alone. In a mixture with those of other faults no packet goes up that has come
// down: what comes down does so towards its destination, so that this is below, and there no tables
// lead up. So no mixture can deadlock.
func (u *UpDownRoutes) Tables(ctx context.Context) (*tables.Tables, error) {
	return u.tables(ctx, false, u.port)
}

// AdaptiveTables are the same with every up port that leads on to the destination, the one of Port
// among them. They are per layer, of one layer.
func (u *UpDownRoutes) AdaptiveTables(ctx context.Context) (*tables.Tables, error) {
	return u.tables(ctx, true, u.ways)
}

// port appends Port, if there is one.
func (u *UpDownRoutes) port(s weft.SwitchID, d weft.NICID, hops []tables.Hop) []tables.Hop {
	if p := u.Port(s, d); p != weft.NoPort {
		hops = append(hops, tables.Hop{Port: p})
	}
	return hops
}

// ways appends all ports by which switch s may forward packets for d up and then down.
func (u *UpDownRoutes) ways(s weft.SwitchID, d weft.NICID, hops []tables.Hop) []tables.Hop {
	t := u.g.Place(s).Tree
	if !u.of(s).has(uint32(d)) || t.HasDown(d) {
		return u.port(s, d, hops)
	}
	for j := range t.Ups() {
		if p := t.Up(j); u.leads(s, p, d) {
			hops = append(hops, tables.Hop{Port: p})
		}
	}
	return hops
}

// tables makes tables of the hops by which each switch forwards for each destination.
func (u *UpDownRoutes) tables(
	ctx context.Context, perLayer bool, by func(weft.SwitchID, weft.NICID, []tables.Hop) []tables.Hop,
) (*tables.Tables, error) {
	ports := make([]int, len(u.g.Switches))
	for i, s := range u.g.Switches {
		ports[i] = s.Ports
	}
	lft, err := tables.NewTablesOf(tables.TablesShape{VCs: 1, NICs: len(u.g.NICs), PerLayer: perLayer, Ports: ports})
	if err != nil {
		return nil, err
	}
	var hops []tables.Hop
	var key []byte
	for i := range u.g.Switches {
		if err := layered.Interrupted(ctx); err != nil {
			return nil, err
		}
		s := weft.SwitchID(i)
		rows := map[string]int{}
		for d := range weft.NICID(len(u.g.NICs)) {
			if hops = by(s, d, hops[:0]); len(hops) == 0 {
				continue
			}
			key = key[:0]
			for _, h := range hops {
				key = append(key, byte(h.Port))
			}
			row, ok := rows[string(key)]
			if !ok {
				if len(hops) == 1 {
					row, err = lft.AddRow(s, hops)
				} else {
					row, err = lft.AddChoices(s, [][]tables.Hop{hops})
				}
				if err != nil {
					return nil, err
				}
				rows[string(key)] = row
			}
			if err := lft.Set(s, d, row); err != nil {
				return nil, err
			}
		}
	}
	return lft, nil
}
