package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/modules"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/testenv"
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
				sw := x.Topology().Switches[w.I].Name
				return sw == name && w.Routing == number && slices.Equal(f.Routings, routings)
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

// A module comes along by HTTP as by linkmon, also one that is larger than other orders may be, and
// is taken for no other than it is.
func TestAModuleIsLoadedByHTTP(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	require.NoError(t, modules.Add())
	x := serveWeb(t)
	guest, err := os.ReadFile("../../switch/firmware/examples/c/adaptive_link.wasm")
	require.NoError(t, err)
	const more = 2 << 20 // in a section of its own, which means nothing
	guest = append(binary.AppendUvarint(append(guest, 0), more), make([]byte, more)...)
	sum := sha256.Sum256(guest)
	name := fmt.Sprintf("wasm:fw.wasm@%x", sum[:8])
	post := func(name string, file []byte) httpAnswer {
		return x.ask("POST", root+"/load", fmt.Sprintf(`{"switches":["s1.0"],"routing":%q,"file":%q}`, name,
			base64.StdEncoding.EncodeToString(file)), x.token)
	}
	other := append(bytes.Clone(guest[:len(guest)-1]), 1)
	require.Contains(t, refusal(t, post(name, other), 422), "has no such module", "the hash is that of another")
	require.Contains(t, refusal(t, post("wasm:fw.wasm", guest), 422), "with its hash in the name")
	require.Contains(t, refusal(t, post(name, make([]byte, maxLoad)), 413), "too large")
	require.Empty(t, get[SwitchDetail](x, "/switches/s1.0").Routing)
	require.Equal(t, http.StatusOK, post(name, guest).code)
	require.Equal(t, name, get[SwitchDetail](x, "/switches/s1.0").Routing)
}
