package api

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
)

func TestTheRoutingsThatFitCanBeLoaded(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	unfit := map[string]string{}
	for _, r := range get[[]RoutingView](x, "/routings") {
		unfit[r.Name] = r.Unfit
		require.NotEmpty(t, r.About)
		a := x.ask("POST", root+"/load", `{"routing":"`+r.Name+`","check":true}`, x.token)
		e, err := subnet.ByName(r.Name)
		require.NoError(t, err)
		if r.Unfit != "" || e.Routes == nil { // tables may need more virtual channels than there are
			require.Equal(t, r.Unfit == "", a.code == http.StatusOK, "%s: %s", r.Name, a.body)
		}
		if r.Name == "updn" {
			require.Contains(t, r.Options, RoutingOption{Name: "tree", Values: "bfs or dfs", About: r.Options[2].About})
		}
	}
	require.Len(t, unfit, len(subnet.Names()))
	require.Empty(t, unfit["adaptive-switch"])
	require.Contains(t, unfit["deterministic-link"], "raise the number")
	require.Contains(t, unfit["dimension-order"], "meshes")
}

func TestTheStreamTellsWhichSwitchesRunAnotherFirmware(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	stream := x.stream("")
	runs := func(name, routing string, number int, routings ...string) {
		t.Helper()
		for told := false; !told; { // until a frame tells of it
			f, err := stream.next()
			require.NoError(t, err)
			told = slices.ContainsFunc(f.Switches, func(w SwitchView) bool {
				return x.Topology().Switches[w.I].Name == name && w.Routing == number && slices.Equal(f.Routings, routings)
			})
		}
		require.Equal(t, routing, get[SwitchDetail](x, "/switches/"+name).Routing)
	}
	load := func(name, routing string) { x.order("/load", `{"switches":["`+name+`"],"routing":"`+routing+`"}`) }
	runs("s1.0", "", 0)
	load("s1.0", "adaptive-switch")
	runs("s1.0", "adaptive-switch", 1, "adaptive-switch")
	load("s1.1", "adaptive-link-digit")
	runs("s1.0", "adaptive-switch", 2, "adaptive-link-digit", "adaptive-switch")
	load("s1.1", "adaptive-link")
	runs("s1.1", "", 0, "adaptive-switch") // the fabric's again
}
