package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document/schematest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// described compiles the description, whose answers may hold nothing that it does not name.
func compiled(t *testing.T, x *webbed) (doc map[string]any, schema func(pointer string) *jsonschema.Schema) {
	t.Helper()
	data, err := json.Marshal(describe(x.web.routes(), true))
	require.NoError(t, err)
	decoded, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("weft.json", decoded))
	return decoded.(map[string]any), func(pointer string) *jsonschema.Schema {
		t.Helper()
		s, err := c.Compile("weft.json#" + pointer)
		require.NoError(t, err, pointer)
		return s
	}
}

// pointer is the JSON pointer to a schema of an operation.
func pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	out := ""
	for _, p := range parts {
		out += "/" + escape.Replace(p)
	}
	return out
}

func answerSchema(method, path, code string) string {
	return pointer("paths", root+path, strings.ToLower(method), "responses", code, "content", "application/json", "schema")
}

func TestAnswersAreWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t, harness.Traffic("uniform:0.3"), harness.TraceEvery(20))
	x.moving()
	_, schema := compiled(t, x)
	valid := func(pointer, body string) {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, schema(pointer).Validate(v), body)
	}
	stream := x.stream("")
	for _, o := range everyOrder {
		path := strings.NewReplacer("s0.0-s1.0", "{id}", "s0.0-s1.1", "{id}", "s0.1-s1.0", "{id}", "s1.1",
			"{id}").Replace(o.path)
		if o.body != "" {
			valid(pointer("paths", root+path, "post", "requestBody", "content", "application/json", "schema"), o.body)
		}
		valid(answerSchema("POST", path, "200"), x.order(o.path, o.body).body)
	}
	valid(answerSchema("POST", "/heal", "401"), x.ask("POST", root+"/heal", "", nil).body)
	for _, spec := range everyVerb[:4] {
		_, err := x.Fabric().Apply(t.Context(), spec)
		require.NoError(t, err)
	}
	for range 5 {
		f, err := stream.next()
		require.NoError(t, err)
		valid(pointer("components", "schemas", "Frame"), string(encodeFrame(f)))
	}
	names := map[string]string{"/links/{id}": "/links/s0.0-s1.0", "/switches/{id}": "/switches/s1.1"}
	for _, r := range x.web.routes() {
		if r.method != http.MethodGet || r.path == "/stream" {
			continue
		}
		path := r.path
		if name, ok := names[path]; ok {
			path = name
		}
		a := x.ask("GET", root+path, "", nil)
		require.Equal(t, 200, a.code, path)
		valid(answerSchema("GET", r.path, "200"), a.body)
	}
}

func TestThePublishedSchemaIsTheDescription(t *testing.T) {
	t.Parallel()
	want, err := json.MarshalIndent(describe((&Web{}).routes(), false), "", "  ")
	require.NoError(t, err)
	schematest.Published(t, "../../docs/schema/openapi.json", testenv.Update(), append(want, '\n'))
}

// Moved is another type than that of package fabric.
type Moved struct{ Elsewhere bool }

func TestTwoTypesOfOneNameAreNotDescribedAsOne(t *testing.T) {
	t.Parallel()
	get := func(out any) route { return route{method: "GET", path: "/a", out: out} }
	require.NotPanics(t, func() { describe([]route{get(fabric.Moved{}), get([]fabric.Moved{})}, false) })
	require.PanicsWithValue(t, "api: BUG: fabric.Moved of github.com/weft-fabric/weft/fabricd/fabric and api.Moved of "+
		"github.com/weft-fabric/weft/fabricd/api have one name in the description: give one another in typeName",
		func() { describe([]route{get(fabric.Moved{}), get(Moved{})}, false) })
	require.Panics(t, func() {
		describe([]route{get(struct {
			A fabric.Moved
			B Moved
		}{})}, false)
	}, "within one answer")
}

func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	doc := get[map[string]any](x, "/openapi.json")
	require.Equal(t, "3.1.0", doc["openapi"])
	paths := doc["paths"].(map[string]any)
	ids := map[string]bool{}
	for _, r := range x.web.routes() {
		op := paths[root+r.path].(map[string]any)[strings.ToLower(r.method)].(map[string]any)
		require.NotEmpty(t, op["summary"])
		require.False(t, ids[op["operationId"].(string)], op["operationId"])
		ids[op["operationId"].(string)] = true
		ways := op["security"].([]any) // without a token on the loopback, to look
		require.Len(t, ways, map[bool]int{true: 2, false: 1}[r.method == http.MethodGet], r.path)
	}
	require.Contains(t, paths, "/metrics")
	for _, path := range []string{
		"status", "topology", "links", "links/{id}", "switches", "switches/{id}", "faults", "ledger", "events",
		"routings", "fabrics", "programs", "stream", "openapi.json",
	} {
		require.Contains(t, paths[root+"/"+path], "get")
	}
	for _, path := range []string{
		"links/{id}/cut", "links/{id}/flap", "links/{id}/impair", "links/{id}/restore", "switches/{id}/crash",
		"switches/{id}/restart", "switches/{id}/move", "load", "heal", "apply", "trace",
	} {
		require.Contains(t, paths[root+"/"+path], "post")
	}
	_, schema := compiled(t, x)
	for name := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		schema(pointer("components", "schemas", name))
	}
}

func TestTheListingOfEveryKindOfTopologyIsAsDescribed(t *testing.T) {
	t.Parallel()
	_, schema := compiled(t, serveWeb(t))
	for _, spec := range []string{
		"kary-ntree:2,3", "mport-tree:4,2", "leaf-spine:2,3,4", "mesh:3x3", "torus:4x4x2",
		"ring:5", "irregular:8,12,1",
	} {
		g := topologytest.Parse(t, spec)
		data, err := listing(g, newGrouping(g, placement.Pods(g)))
		require.NoError(t, err)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		require.NoError(t, schema(answerSchema("GET", "/topology", "200")).Validate(v), spec)
	}
}

// Scripts and pages rely on these.
func TestNamesOfMembersStay(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"seq kind run at page pages links switches events faults hops history pods bundles sample ledger totals " +
			"deadlock traffic routings": Frame{},
		"i state cut_ab cut_ba flapping suffers_ab suffers_ba a_up b_up held_a held_b " +
			"rate_ab rate_ba load_ab load_ba queued_ab queued_ba lost": LinkView{},
		"i state held blocked rerouted u_turns vector routing":              SwitchView{},
		"name about options unfit":                                          RoutingView{},
		"link dir vc":                                                       ChannelView{},
		"i id state held blocked counts vector tables":                      SwitchState{},
		"port link peer peer_port state held sent received lost_queued vcs": PortView{},
		"vc input output credits stalls":                                    VCView{},
		"name topology routing firmware started page this":                  Listed{},
		"switch from to packets changed note":                               fabric.Moved{},
		"switch host":                                                       MoveRequest{},
		"error":                                                             failed{},
	} {
		var names []string
		for f := range reflect.TypeOf(v).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
		require.Equal(t, want, strings.Join(names, " "))
	}
}
