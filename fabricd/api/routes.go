package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// root is where the API is.
const root = "/api/v1"

// route is one method of one path below root. Those that are not GET are orders, which need a token
// that may operate.
type route struct {
	method, path string
	does         string // in one line, for the description
	query        []parameter
	in           any // what its body decodes into; nil: it has none
	out          any // what its answer is; nil: something else than JSON
	handle       func(r *http.Request) (any, error)
	raw          http.HandlerFunc // instead of handle
	body         int64            // the most bytes of its body; 0: maxBody
	unbounded    bool             // it has a bound of its own
	anyToken     bool             // it is no order, though not GET: any token will do, and it is asked for
}

// parameter is one of a query.
type parameter struct {
	name, does string
	schema     object
}

// routes are all there are, but for those of the page and the metrics.
func (w *Web) routes() []route {
	after := []parameter{{"after", "Only what has a higher number.", object{"type": "integer", "minimum": 0}}}
	table := []parameter{{
		"forwarding", "false leaves the forwarding table out, which may be long.",
		object{"type": "boolean"},
	}}
	open := []parameter{{"open", "In a fabric with pods, tell of pods and bundles in sum, and of links and switches " +
		"only in these pods: names, separated by commas, may be none.", object{"type": "string"}}}
	list := []route{
		{method: "GET", path: "/status", does: "The fabric at a glance.", out: Status{}, handle: reads(w.Server.status)},
		{
			method: "GET", path: "/topology", does: "Switches, NICs and links, with the places where they are drawn.",
			out: Topology{}, raw: w.topology,
		},
		{
			method: "GET", path: "/links", does: "The state of all links, in the order of the topology.",
			out: []fabric.LinkState{}, handle: reads(w.Server.links),
		},
		{method: "GET", path: "/links/{id}", does: "The state of one link.", out: fabric.LinkState{}, handle: w.link},
		{
			method: "GET", path: "/switches", does: "All switches, in the order of the topology.", out: []SwitchState{},
			handle: w.switches,
		},
		{
			method: "GET", path: "/switches/{id}",
			does: "One switch: ports, virtual channels, registers, what it discards and why.", query: table, out: SwitchDetail{},
			handle: w.switchDetail,
		},
		{
			method: "GET", path: "/faults", does: "Fault reports, the oldest first: at most 512, the next when asked again.",
			query: after, out: []fault.Report{}, handle: w.faults,
		},
		{
			method: "GET", path: "/ledger", does: "Where every packet is.", out: fabric.Ledger{},
			handle: func(*http.Request) (any, error) { return w.Server.fabric.Ledger(), nil },
		},
		{
			method: "GET", path: "/events",
			does: "Events that are kept, the oldest first: at most 512, the next when asked again.", query: after,
			out: []fabric.Event{}, handle: w.events,
		},
		{
			method: "GET", path: "/routings", out: []RoutingView{},
			does:   "The routings that switches can be loaded with, by name, and why one does not fit this fabric.",
			handle: func(*http.Request) (any, error) { return w.Server.routings(), nil },
		},
		{
			method: "GET", path: "/fabrics", does: "The fabrics that run on this machine, with the addresses of their pages.",
			out: []Listed{}, handle: w.fabrics,
		},
		{
			method: "GET", path: "/jobs", out: []Job{},
			does: "Computations that agents do at the NATS server of the fabric, the oldest first; none where it has a " +
				"server of its own.",
			handle: w.jobs,
		},
		{
			method: "GET", path: "/programs", out: Programs{},
			does: "What programs do that have NICs of the fabric: who talks to whom, how many bytes a second, how fast they " +
				"go.",
			handle: reads(w.Server.programs),
		},
		{
			method: "GET", path: "/stream",
			does: "The state stream as server-sent events named frame, each a Frame. Last-Event-ID resumes.", query: open,
			raw: w.stream, unbounded: true,
		},
		{method: "GET", path: "/openapi.json", does: "This description.", raw: w.openAPI},

		{
			method: "POST", path: "/session",
			does: "What a token lets its bearer do; a browser gets a cookie, with which it may look.", out: Session{},
			raw: w.session, anyToken: true,
		},
		{
			method: "POST", path: "/links/{id}/cut", does: "Cut a link: nothing comes through.", in: CutOrder{},
			out: fabric.Outcome{}, handle: order(w, CutOrder.spec),
		},
		{
			method: "POST", path: "/links/{id}/flap", does: "Cut a link and restore it, again and again.", in: FlapOrder{},
			out: fabric.Outcome{}, handle: order(w, FlapOrder.spec),
		},
		{
			method: "POST", path: "/links/{id}/impair", does: "Have a link lose, delay or slow what it carries.",
			in: ImpairOrder{}, out: fabric.Outcome{}, handle: order(w, ImpairOrder.spec),
		},
		{
			method: "POST", path: "/links/{id}/restore",
			does: "Repair a link; one that is not cut is healed of what it suffers.", in: RestoreOrder{}, out: fabric.Outcome{},
			handle: order(w, RestoreOrder.spec),
		},
		{
			method: "POST", path: "/switches/{id}/crash", does: "Crash a switch: it loses all that it holds.", in: CrashOrder{},
			out: fabric.Outcome{}, handle: order(w, CrashOrder.spec),
		},
		{
			method: "POST", path: "/switches/{id}/restart", does: "Start a crashed switch again, empty.", in: RestartOrder{},
			out: fabric.Outcome{}, handle: order(w, RestartOrder.spec),
		},
		{
			method: "POST", path: "/switches/{id}/move", does: "Have another host run a switch, under traffic.", in: MoveOrder{},
			out: fabric.Moved{}, handle: w.move,
		},
		{
			method: "POST", path: "/load", does: "Have switches run another firmware, under traffic.",
			in: LoadRequest{}, body: maxLoad, out: LoadResult{}, handle: w.load,
		},
		{
			method: "POST", path: "/time-factor",
			does: "Have the clock of the fabric go slower or faster than that of the machine.",
			in:   TimeFactor{}, out: TimeFactor{}, handle: w.timeFactor,
		},
		{
			method: "POST", path: "/heal", does: "Repair everything.", in: HealOrder{}, out: fabric.Outcome{},
			handle: order(w, HealOrder.spec),
		},
		{
			method: "POST", path: "/apply", does: "Several faults and repairs at one instant, all or none.", in: ApplyRequest{},
			out: []fabric.Outcome{}, handle: w.apply,
		},
		{
			method: "POST", path: "/trace",
			does: "Trace the next packets of a flow; what is told of them is in the state stream.", in: TraceRequest{},
			out: fabric.Tracing{}, handle: w.trace,
		},
	}
	return list
}

// mux answers every path and method: those it does not know with an error in JSON as well.
func (w *Web) mux() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	var paths []string
	for _, r := range w.routes() {
		h := r.raw
		if h == nil {
			h = func(out http.ResponseWriter, req *http.Request) {
				v, err := r.handle(req)
				answer(out, v, err)
			}
		}
		h = takes(r.query, h)
		most := cmp.Or(r.body, maxBody)
		switch {
		case r.unbounded:
			h = w.only(auth.View, h)
		case r.anyToken:
			h = w.bounded(w.busy, most, h)
		case r.method == http.MethodGet:
			h = w.only(auth.View, w.bounded(w.busy, most, h))
		default:
			h = w.only(auth.Operate, w.bounded(w.orders, most, h))
		}
		mux.HandleFunc(r.method+" "+root+r.path, h)
		if methods[r.path] == nil {
			paths = append(paths, root+r.path)
		}
		methods[r.path] = append(methods[r.path], r.method)
	}
	mux.Handle("GET /metrics", w.only(auth.View, w.bounded(w.busy, maxBody, w.metrics().ServeHTTP)))
	methods["/metrics"] = []string{http.MethodGet}
	for path, allowed := range methods {
		at := root + path
		if path == "/metrics" {
			at = path
		}
		mux.HandleFunc(at, func(out http.ResponseWriter, r *http.Request) {
			out.Header().Set("Allow", strings.Join(allowed, ", "))
			refuse(out, http.StatusMethodNotAllowed,
				fmt.Errorf("%s %s: expected %s", nearest.Clip(r.Method), nearest.Clip(r.URL.Path), strings.Join(allowed, " or ")))
		})
	}
	unknown := func(out http.ResponseWriter, r *http.Request) {
		refuse(out, http.StatusNotFound, document.Unknown("path", r.URL.Path, paths))
	}
	mux.HandleFunc("/api/", unknown)
	mux.HandleFunc("/api", unknown) // or it would be sent on, as HTML
	if w.Page != nil {
		mux.Handle("/", w.Page)
	}
	return mux
}

// takes refuses a request whose query has a parameter that is not among these.
func takes(query []parameter, h http.HandlerFunc) http.HandlerFunc {
	known := make([]string, len(query))
	for i, p := range query {
		known[i] = p.name
	}
	return func(out http.ResponseWriter, r *http.Request) {
		for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
			if !slices.Contains(known, name) {
				refuse(out, http.StatusBadRequest, document.Unknown("query parameter", name, known))
				return
			}
		}
		h(out, r)
	}
}

func reads[T any](h func(context.Context, none) (T, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) { return h(r.Context(), none{}) }
}

// number reads a number from the query; 0 when it is not there.
func number[N int | uint64](r *http.Request, name string) (N, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: expected a whole number", name, nearest.Clip(text))
	}
	return N(n), nil
}

// truth reads true or false from the query, true when it is not there.
func truth(r *http.Request, name string) (bool, error) {
	switch text := r.URL.Query().Get(name); text {
	case "":
		return true, nil
	case "true", "false":
		return text == "true", nil
	default:
		return false, fmt.Errorf("%s=%s: expected true or false", name, nearest.Clip(text))
	}
}

func (w *Web) faults(r *http.Request) (any, error) {
	after, err := number[int](r, "after")
	if err != nil {
		return nil, err
	}
	return w.Server.faultsAfter(after), nil
}

func (w *Web) events(r *http.Request) (any, error) {
	after, err := number[uint64](r, "after")
	if err != nil {
		return nil, err
	}
	return w.Server.eventsAfter(after), nil
}

func (w *Web) link(r *http.Request) (any, error) {
	l, err := w.Server.fabric.Topology().LinkByName(r.PathValue("id"))
	if err != nil {
		return nil, notFound(err)
	}
	return w.Server.fabric.LinkStates()[l.ID], nil
}

func notFound(err error) error { return coded{err, http.StatusNotFound} }

// topology is what fabricd topology generate --json prints, and where things are drawn.
func (w *Web) topology(out http.ResponseWriter, _ *http.Request) {
	data, err := w.listing()
	if err != nil {
		refuse(out, http.StatusInternalServerError, err)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Cache-Control", "no-store")
	_, _ = out.Write(data)
}

// Listed is one fabric of this machine.
type Listed struct {
	Name     string `json:"name"`
	Topology string `json:"topology"`
	Routing  string `json:"routing"`
	Firmware string `json:"firmware"` // the same, under its old name: until 0.2.0
	Started  string `json:"started" jsonschema:"format=date-time"`
	Page     string `json:"page,omitempty" jsonschema_description:"Where its page is, without the token: whoever has no token of that run may look only."`
	This     bool   `json:"this,omitempty" jsonschema_description:"It is this one."`
}

// Job is a computation that agents do.
type Job struct {
	ID      string   `json:"id"`
	Command string   `json:"command"`
	State   string   `json:"state" jsonschema_description:"open, done or failed."`
	What    string   `json:"what" jsonschema_description:"What its pieces are."`
	Pieces  int      `json:"pieces"`
	Done    int      `json:"done" jsonschema_description:"Of the pieces."`
	GivenUp int      `json:"given_up" jsonschema_description:"Pieces that no agent could compute."`
	Hosts   []Worker `json:"hosts"`
}

// Worker is an agent that has computed pieces of a job.
type Worker struct {
	Name string  `json:"name"`
	Done int     `json:"done"`
	Rate float64 `json:"rate" jsonschema_description:"Pieces a second."`
}

func (w *Web) jobs(r *http.Request) (any, error) {
	if w.Jobs == nil {
		return []Job{}, nil
	}
	list, err := w.Jobs(r.Context())
	if err != nil {
		return nil, coded{err, http.StatusBadGateway}
	}
	return list, nil
}

func (w *Web) fabrics(*http.Request) (any, error) {
	list := []Listed{}
	if w.List == nil {
		return list, nil
	}
	entries, err := w.List()
	if err != nil {
		return nil, coded{err, http.StatusInternalServerError}
	}
	for _, e := range entries {
		list = append(list, Listed{
			e.Name, e.Topology, e.Routing, e.Routing, e.Started.Format("2006-01-02T15:04:05Z07:00"), e.Page,
			e.Name == w.Server.info.Name,
		})
	}
	return list, nil
}

// apply does several orders at one instant.
func (w *Web) apply(r *http.Request) (any, error) {
	a, err := body[ApplyRequest](r)
	if err != nil {
		return nil, err
	}
	return w.Server.apply(r.Context(), a)
}

func (w *Web) trace(r *http.Request) (any, error) {
	t, err := body[TraceRequest](r)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{t.Src, t.Dst} {
		if _, err := w.Server.fabric.Topology().NICByName(name); err != nil {
			return nil, notFound(err)
		}
	}
	return w.Server.trace(r.Context(), t)
}

// body decodes the body of a request strictly; none is the zero value.
func body[T any](r *http.Request) (v T, err error) {
	data, err := io.ReadAll(r.Body)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return v, err
	}
	if err := strictly(data, &v); err != nil {
		return v, bus.Malformed(err)
	}
	return v, nil
}
