package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

func routeOf(t testing.TB, text string) weft.SourceRoute {
	r, err := weft.ParseSourceRoute(text)
	require.NoError(t, err)
	return r
}

func TestSourcePathsFollowTheRouteInThePacketAndNothingElse(t *testing.T) {
	v := still(placeOf(2, 3, 1, 0, 1)) // ports 0 and 1 lead down, 2 and 3 up
	leaf := still(placeOf(2, 3, 2, 0, 1))
	for _, c := range []struct {
		why   string
		at    *switching.Still
		route string
		in    weft.PortID
		dead  uint64
		to    weft.PortID
		left  string
		rule  string
	}{
		{"up", v, "p3,p1,p0", 0, 0, 3, "p1,p0", "source route"},
		{"up by the port it came from below", v, "p2", 1, 0, 2, "", "source route"},
		{"down", v, "p1,p0", 2, 0, 1, "p0", "source route"},
		{"down and back, as the route says", v, "p0,p1", 0, 0, 0, "p1", "source route"},
		{"to a NIC", leaf, "p1", 2, 0, 1, "", "source route"},
		{"dead", v, "p3,p1", 0, 1 << 3, 0, "", "source route: the link is dead"},
		{"others dead", v, "p3,p1", 0, 7, 3, "p1", "source route"},
		{"no route", v, "", 0, 0, 0, "", "source route: it ends before a NIC"},
		{"no port", v, "p9", 0, 0, 0, "", "source route: no such port"},
		{"up again", v, "p3", 2, 0, 0, "", "source route: up again from above a U-turn"},
		{"a NIC too early", leaf, "p1,p1", 2, 0, 0, "", "source route: a NIC before its end"},
	} {
		c.at.Dead[0] = c.dead
		pkt := weft.Header{Dst: 1, VC: 1, Fields: weft.NewFields()}
		pkt.Route = routeOf(t, c.route)
		d := SourcePaths{}.Firmware().Route(&pkt, Arrival{Port: c.in, VC: 1, From: c.at.At.Roles[c.in]}, c.at)
		require.Equal(t, c.rule, d.Rule, c.why)
		if c.rule != ruleRoute {
			require.Empty(t, d.Candidates, c.why)
			continue
		}
		want := weft.NewFields()
		want.Route = routeOf(t, c.left)
		require.Equal(t, []Candidate{{Port: c.to, VC: 1, Fields: want}}, d.Candidates, c.why)
		require.Equal(t, switching.Straight, d.Turn)
	}
	v.Dead[0], leaf.Dead[0] = 0, 0
}

func TestSourcePathsAreThoseOfTheSwitchOfTheNIC(t *testing.T) {
	routes, err := tables.NewSourceRoutes(3, 2, func(s weft.SwitchID, d weft.NICID) weft.SourceRoute {
		r, _ := weft.SourceRoute{}.Push(weft.PortID(int(s)*2 + int(d)))
		return r
	})
	require.NoError(t, err)
	fw := SourcePaths{Routes: routes}.Firmware()
	at := &weft.Place{Switch: 1, Name: "s1", Roles: make([]weft.Role, 3)}
	sent := func(fw Firmware, d weft.NICID) string {
		h := weft.Header{Dst: d, Fields: weft.NewFields()}
		fw.Source(at, 0, &h)
		return h.Route.String()
	}
	require.NoError(t, fw.Check(at, 1))
	require.ErrorContains(t, SourcePaths{}.Firmware().Check(at, 1), "has no routes for NICs at s1")
	require.Equal(t, "p3", sent(fw, 1))
	require.Empty(t, sent(fw, 2), "nobody")

	next, err := fw.Patched(tables.FirstVersion, at, 1, &tables.Patch{
		Switch: 1, From: tables.FirstVersion, To: 2, Routes: []tables.PatchRoute{{Dst: 1, Route: routeOf(t, "p7")}},
	})
	require.NoError(t, err)
	require.Equal(t, "p7", sent(next, 1))
	require.Equal(t, "p2", sent(next, 0))
	require.Equal(t, "p3", sent(fw, 1), "the one before is as it was")

	whole, err := next.Patched(2, at, 1, &tables.Patch{
		Switch: 1, To: 3, Routes: []tables.PatchRoute{{Dst: 0, Route: routeOf(t, "p5")}},
	})
	require.NoError(t, err)
	require.Equal(t, "p5", sent(whole, 0))
	require.Empty(t, sent(whole, 1), "a whole program names all")

	_, err = tables.NewSourceRoutes(1<<16, 1<<18, nil)
	require.ErrorContains(t, err, "at most")
}
