package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/weft-fabric/weft/fabricd/document"
)

// openAPI describes the API as OpenAPI 3.1, made of the routes and of the Go types that they take
// and give.
func (w *Web) openAPI(out http.ResponseWriter, _ *http.Request) {
	send(out, http.StatusOK, describe(w.routes(), false))
}

// object is a JSON object.
type object map[string]any

// describe is the description. Answers may have more members than it names, unless it is strict, as
// tests have it.
func describe(routes []route, strict bool) object {
	d := description{schemas: object{}, types: map[string]reflect.Type{}, strict: strict}
	d.schema(Frame{}, !strict) // of the stream, which has no answer in JSON
	d.schema(failed{}, !strict)
	paths := object{}
	for _, r := range routes {
		path, ok := paths[root+r.path].(object)
		if !ok {
			path = object{}
			paths[root+r.path] = path
		}
		path[strings.ToLower(r.method)] = d.operation(r)
	}
	paths["/metrics"] = object{"get": object{
		"summary": "What there is to measure, for Prometheus.", "operationId": "getMetrics",
		"responses": object{"200": object{
			"description": "Metrics as text.",
			"content":     object{"text/plain": object{"schema": object{"type": "string"}}},
		}},
	}}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Weft", "version": "1", "license": object{"name": "see LICENSE"},
			"description": "Look at a running fabric and act on it. On the loopback looking needs nothing, elsewhere a token; " +
				"orders need one that may operate: that of the run, which follows #token= in the address that fabricd up prints, " +
				"or one made with fabricd auth token.",
		},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"paths":             paths,
		"components": object{
			"schemas":         d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}
}

// description is one in the making.
type description struct {
	schemas object
	types   map[string]reflect.Type // of the schemas
	strict  bool
}

func (d *description) operation(r route) object {
	op := object{"summary": r.does, "operationId": operationID(r)}
	var parameters []object
	if strings.Contains(r.path, "{id}") {
		what := "The name of a link, from either end, as s0.00-s1.10."
		if strings.HasPrefix(r.path, "/switches") {
			what = "The name of a switch, as s1.03."
		}
		parameters = append(parameters,
			object{"name": "id", "in": "path", "required": true, "description": what, "schema": object{"type": "string"}})
	}
	for _, q := range r.query {
		parameters = append(parameters, object{"name": q.name, "in": "query", "description": q.does, "schema": q.schema})
	}
	if r.path == "/stream" {
		parameters = append(parameters, object{
			"name": "Last-Event-ID", "in": "header",
			"description": "The id of the last event that was read: the stream goes on after it if it can.",
			"schema":      object{"type": "string"},
		})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if r.in != nil {
		op["requestBody"] = object{"content": jsonOf(d.schema(r.in, false))}
	}
	ok := object{"description": "Done."}
	switch {
	case r.out != nil:
		ok["content"] = jsonOf(d.schema(r.out, !d.strict))
	case r.path == "/stream":
		ok["description"] = "Events named frame, the data of each a Frame, the id its place in the stream. The first is a " +
			"snapshot, the others say what has changed; another snapshot comes after a gap."
		ok["content"] = object{"text/event-stream": object{"schema": object{"$ref": "#/components/schemas/Frame"}}}
	default:
		ok["content"] = jsonOf(object{"type": "object"})
	}
	responses := object{"200": ok}
	codes := []int{http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	if strings.Contains(r.path, "{id}") || r.path == "/trace" || r.path == "/stream" {
		codes = append(codes, http.StatusNotFound)
	}
	codes = append(codes, http.StatusUnauthorized)
	if r.method == http.MethodGet {
		op["security"] = []object{{}, {"token": []string{}}}
	} else {
		op["security"] = []object{{"token": []string{}}}
		codes = append(codes, http.StatusRequestEntityTooLarge)
	}
	for _, c := range codes {
		responses[strconv.Itoa(c)] = object{
			"description": http.StatusText(c),
			"content":     jsonOf(object{"$ref": "#/components/schemas/Problem"}),
		}
	}
	op["responses"] = responses
	return op
}

func jsonOf(schema any) object { return object{"application/json": object{"schema": schema}} }

// operationID is a name as in cutLink, getSwitch.
func operationID(r route) string {
	var words []string
	for word := range strings.SplitSeq(strings.TrimSuffix(r.path, ".json"), "/") {
		if word != "" && word[0] != '{' {
			words = append(words, strings.ToUpper(word[:1])+word[1:])
		}
	}
	return strings.ToLower(r.method) + strings.Join(words, "") +
		map[bool]string{true: "ById"}[strings.HasSuffix(r.path, "{id}")]
}

// schema is that of v's type, by reference to the components that it adds.
func (d *description) schema(v any, more bool) any {
	s := document.Reflect(&jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: more, Mapper: asText,
		Namer: d.typeName,
	}, v)
	s.Version = ""
	data, err := json.Marshal(s)
	if err != nil {
		panic("api: BUG: a schema does not encode: " + err.Error())
	}
	var o struct {
		Defs object `json:"$defs"`
	}
	var whole object
	data = []byte(strings.ReplaceAll(string(data), "#/$defs/", "#/components/schemas/"))
	for _, to := range []any{&o, &whole} {
		if err := json.Unmarshal(data, to); err != nil {
			panic("api: BUG: a schema does not decode: " + err.Error())
		}
	}
	for name, def := range o.Defs {
		if d.schemas[name] == nil {
			d.schemas[name] = def
		}
	}
	delete(whole, "$defs")
	return whole
}

// typeName names the component of a type. Two types of one name would have one schema, that of the
// first: that is a bug.
func (d *description) typeName(t reflect.Type) string {
	name := t.Name()
	if t == reflect.TypeFor[failed]() {
		name = "Problem"
	}
	if was, ok := d.types[name]; ok && was != t && name != "" {
		panic(fmt.Sprintf("api: BUG: %v of %s and %v of %s have one name in the description: give one another in typeName",
			was, was.PkgPath(), t, t.PkgPath()))
	}
	d.types[name] = t
	return name
}

// asText maps the types that travel as text though they may be numbers in Go.
func asText(t reflect.Type) *jsonschema.Schema {
	if t.Kind() != reflect.Struct {
		if v, ok := reflect.New(t).Interface().(document.Patterned); ok {
			return &jsonschema.Schema{Type: "string", Pattern: v.Pattern()}
		}
	}
	return nil
}
