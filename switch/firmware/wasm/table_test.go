package wasm_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware/wasm"
	"github.com/weft-fabric/weft/switch/tables"
)

// forwardsByTables has a guest that names an engine decide beside the built-in firmware of engines,
// by tables of many kinds and of one switch alone, which take each other's place.
func forwardsByTables(t *testing.T, m *wasm.Module) {
	require.Equal(t, "lash:layers=3", m.Firmware().Engine)
	rnd := rand.New(rand.NewPCG(testenv.Seed(t, 1), 2))
	rules := map[string]bool{}
	for _, c := range []struct{ spec, engine string }{
		{"kary-ntree:2,3", "updn"},
		{"mesh:3x3", "lash"},
		{"mesh:3x3", "xy"},
		{"ring:5", "updn:in-port=true"},
		{"ring:5", "lash:paths=pair"},
		{"ring:5", "d-mroots:layers=3"},
		{"torus:4x4", "mp-lash"},
	} {
		g, err := topology.Generate(c.spec)
		require.NoError(t, err)
		builtin, vcs, err := subnet.Firmware(t.Context(), c.engine, g)
		require.NoError(t, err)
		whole := m.Firmware().Programmed(builtin.Program)
		for s := range g.Switches {
			place := g.Place(weft.SwitchID(s))
			one := m.Firmware().Programmed(&tables.Program{Tables: builtin.Program.Tables.Of(place.Switch)})
			for n := range testenv.N(400, 100) {
				guest := []switching.Firmware{whole, one}[n%2]
				p := weft.PortID(rnd.IntN(len(place.Roles)))
				sw := &asking{Still: &switching.Still{At: place, Channels: vcs}}
				sw.Dead[0] = rnd.Uint64() & rnd.Uint64()
				at := switching.Arrival{Port: p, VC: weft.VC(rnd.IntN(vcs)), From: place.Roles[p]}
				pkt := weft.Header{Dst: weft.NICID(rnd.IntN(len(g.NICs) + 1)), Fields: weft.NewFields()}
				pkt.Path = uint16(rnd.IntN(builtin.Program.Tables.Paths() + 1))
				sends := func() bool { return len(builtin.Program.Assignment.From(place.Switch, p, pkt.Dst)) > 0 }
				if at.From == weft.RoleNIC && (int(pkt.Dst) >= len(g.NICs) || !sends()) {
					continue // the built-in one looks at the assignment then
				}
				want, got := sw.answer(t, builtin.Route, pkt, at), sw.answer(t, guest.Route, pkt, at)
				require.True(t, want.equal(got), "%s by %s at %s: %+v, %+v, dead %b: %+v, not %+v",
					c.spec, c.engine, place.Name, at, pkt, sw.Dead[0], got, want)
				rules[got.Rule] = true
			}
		}
	}
	require.Len(t, rules, 3)
}
