package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// refusal is the text of an answer that must be an error.
func refusal(t *testing.T, a httpAnswer, code int) string {
	t.Helper()
	require.Equal(t, code, a.code, a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	var f failed
	require.NoError(t, json.Unmarshal([]byte(a.body), &f), a.body)
	require.NotEmpty(t, f.Error)
	return f.Error
}

// everyOrder are a path and a body for each.
var everyOrder = []struct{ path, body string }{
	{"/links/s0.0-s1.0/cut", `{"direction":"to","silent":true,"for":"1h"}`},
	{"/links/s0.0-s1.1/flap", `{"period":"1h","duty":"30%","jitter":"1ms","count":3}`},
	{"/links/s0.1-s1.0/impair", `{"loss":"10%","delay":"5ms","jitter":"1ms","direction":"from"}`},
	{"/switches/s1.1/crash", `{"for":"1h"}`},
	{"/links/s0.0-s1.0/restore", `{"direction":"to"}`},
	{"/switches/s1.1/restart", ``},
	{"/heal", `{}`},
	{"/apply", `{"specs":[{"do":"cut","a":"s0.0","b":"s1.0"},{"do":"heal"}]}`},
	{"/trace", `{"src":"n00","dst":"n11","count":2}`},
	{"/switches/s1.1/move", `{"host":"west"}`}, // of a fabric that has hosts, see movesTo
}

func TestEveryOrderIsDoneOverHTTP(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t)
	for i, o := range everyOrder[:7] {
		var out fabric.Outcome
		require.NoError(t, json.Unmarshal([]byte(x.order(o.path, o.body).body), &out))
		require.True(t, out.Changed, o.path)
		l := x.Fabric().LinkStates()[x.linkID()]
		switch i {
		case 0:
			require.Equal(t, fabric.CutSilent, l.CutAB)
			require.Empty(t, l.CutBA, "only to")
			require.Equal(t, "cut s0.0-s1.0 silently, s0.0 to s1.0, for 1h0m0s", out.Fault.What)
		case 2:
			require.Equal(t, "loss 10%, delay 5ms ± 1ms", get[fabric.LinkState](x, "/links/s1.0-s0.1").SuffersBA)
		case 6:
			require.Equal(t, []string{"s0.0-s1.1", "s0.1-s1.0"}, out.Healed)
		}
	}
	x.order("/links/s1.0-s0.0/cut", `{"direction":"to"}`) // named from its other end
	l := get[fabric.LinkState](x, "/links/s0.0-s1.0")
	require.Equal(t, [2]string{"", fabric.CutSignalled}, [2]string{l.CutAB, l.CutBA})
	x.order("/links/s0.1-s1.1/impair", `{"loss":"5%","rate":"100kB/s"}`)
	x.order("/links/s0.1-s1.1/impair", `{"clear":true}`)
	require.Empty(t, get[fabric.LinkState](x, "/links/s0.1-s1.1").SuffersAB)
	x.order(everyOrder[7].path, everyOrder[7].body)
	require.Empty(t, get[Status](x, "/status").LinksCut)
}

func TestWithoutTheTokenNothingCanBeDone(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t)
	for _, o := range everyOrder {
		for _, edit := range []func(*http.Request){
			nil,
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("A", 26)) },
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer") },
			func(r *http.Request) { r.Header.Set("Authorization", x.web.Token()) },
			func(r *http.Request) { r.URL.RawQuery = "token=" + x.web.Token() },
		} {
			a := x.ask("POST", root+o.path, o.body, edit)
			require.Contains(t, refusal(t, a, http.StatusUnauthorized), "token of this run")
			require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
		}
	}
	require.Empty(t, x.Fabric().Faults())
	a := x.ask("GET", root+"/fabrics", "", nil)
	require.NotContains(t, a.body, "secret", "nor is the token told")
	require.Contains(t, a.body, `"this":true`)
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t)
	port := fmt.Sprint(x.web.listen.Addr().(*net.TCPAddr).Port)
	for host, code := range map[string]int{
		"127.0.0.1:" + port: 200, "localhost:" + port: 200, "LOCALHOST": 200, "[::1]:" + port: 200, "127.9.9.9": 200,
		"evil.example": 403, "127.0.0.1.evil.example:" + port: 403, "localhost.evil.example": 403, "192.0.2.1:" + port: 403,
	} {
		for _, path := range []string{root + "/links", "/", "/metrics"} {
			a := x.ask("GET", path, "", func(r *http.Request) { r.Host = host })
			require.Equal(t, code, a.code, "%s %s: %s", host, path, a.body)
		}
	}
	for origin, code := range map[string]int{
		"http://127.0.0.1:" + port: 200, "https://127.0.0.1:" + port: 403, "http://127.0.0.1:1": 403,
		"http://evil.example": 403, "null": 403,
	} {
		a := x.ask("GET", root+"/links", "", func(r *http.Request) { r.Header.Set("Origin", origin) })
		require.Equal(t, code, a.code, origin)
		require.Empty(t, a.header.Get("Access-Control-Allow-Origin"))
		a = x.ask("POST", root+"/heal", "", func(r *http.Request) { r.Header.Set("Origin", origin); x.token(r) })
		require.Equal(t, 200, a.code, "whoever has the token may: %s", origin)
	}
	require.Contains(t, refusal(t,
		x.ask("POST", root+"/heal", "", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }), 403),
		"evil.example")
	for fetch, code := range map[[2]string]int{
		{"cross-site", "image"}: 403, {"same-site", "iframe"}: 403, {"cross-site", "empty"}: 403,
		{"cross-site", "document"}: 200, {"same-origin", "empty"}: 200, {"none", "document"}: 200,
	} {
		edit := func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", fetch[0])
			r.Header.Set("Sec-Fetch-Dest", fetch[1])
		}
		require.Equal(t, code, x.ask("GET", root+"/links", "", edit).code, fetch)
		require.Equal(t, 200, x.ask("GET", root+"/links", "", func(r *http.Request) { edit(r); x.token(r) }).code,
			"whoever has the token may")
	}
}

func TestWhatCannotBeDoneSaysWhy(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t)
	for _, c := range []struct {
		request, body string
		code          int
		want          string
	}{
		{"POST /links/s0.0-s1.9/cut", ``, 404, `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"POST /links/s0.0/cut", ``, 404, "s0.0 is a switch, not a link"},
		{"POST /switches/s9.9/crash", ``, 404, `unknown switch "s9.9"`},
		{"POST /switches/n00/crash", ``, 404, "n00 is a NIC"},
		{"POST /links/" + strings.Repeat("s", 5000) + "/cut", ``, 404, "unknown link"},
		{"GET /links/s0.0-s1.9", ``, 404, `did you mean "s0.0-s1.0"?`},
		{"GET /switches/s0.9", ``, 404, `did you mean "s0.0"?`},
		{"GET /lniks", ``, 404, `did you mean "/api/v1/links"?`},
		{"GET /links/s0.0-s1.0/cut", ``, 405, "expected POST"},
		{"DELETE /links/s0.0-s1.0", ``, 405, "expected GET"},
		{"POST /stream", ``, 405, "expected GET"},
		{
			"POST /links/s0.0-s1.0/cut", `{"slient":true}`, 400,
			`malformed request: unknown field "slient": did you mean "silent"? known: direction, for, silent`,
		},
		{
			"POST /links/s0.0-s1.0/flap", `{"flap":{}}`, 400,
			`unknown field "flap": known: count, direction, duty, for, jitter, period, silent`,
		},
		{
			"POST /apply", `{"specs":[{"do":"impair","a":"s0.0-s1.0","impair":{"los":"1%"}}]}`, 400,
			`unknown field "los": did you mean "loss"? known: delay, jitter, loss, rate`,
		},
		{"POST /heal", `{"all":true}`, 400, `unknown field "all": known: none`},
		{"POST /links/s0.0-s1.0/cut", `{"silent":true`, 400, "malformed request: the JSON ends too early"},
		{"POST /links/s0.0-s1.0/cut", `{} {}`, 400, "more follows"},
		{"POST /links/s0.0-s1.0/cut", `[]`, 400, "malformed request: a JSON array instead of an object"},
		{
			"POST /links/s0.0-s1.0/cut", `{"silent":"yes"}`, 400,
			"malformed request: silent cannot be a JSON string: expected true or false",
		},
		{"POST /links/s0.0-s1.0/cut", `{"direction":"form"}`, 400, `did you mean "from"?`},
		{"POST /links/s0.0-s1.0/cut", `{"for":3}`, 400, "its unit is missing"},
		{"POST /links/s0.0-s1.0/flap", ``, 400, "flap without a period"},
		{"POST /links/s0.0-s1.0/impair", ``, 400, "impair without a figure"},
		{"POST /links/s0.0-s1.0/impair", `{"loss":0.1}`, 400, "write 10%"},
		{"POST /links/s0.0-s1.0/impair", `{"clear":true,"loss":"10%"}`, 400, "clear with figures"},
		{"POST /apply", ``, 400, "nothing is ordered"},
		{"POST /apply", `{"specs":[]}`, 400, "nothing is ordered"},
		{"POST /apply", `{"specs":[{"do":"cut","a":"s0.0-s1.1"},{"do":"cut","a":"s0.0-s1.9"}]}`, 400, "unknown link"},
		{"POST /trace", `{"src":"n00","dst":"n99"}`, 404, `unknown NIC "n99"`},
		{"POST /trace", `{"src":"n00","dst":"n00"}`, 400, "itself"},
		{"POST /heal", `{"x":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too large"},
		{"POST /apply", strings.Repeat(" ", maxBody+1), 413, "too large"},
		{"GET /faults?after=-1", ``, 400, "expected a whole number"},
		{"GET /events?after=x", ``, 400, "after=x"},
		{"GET /events?aftr=1", ``, 400, `unknown query parameter "aftr": did you mean "after"? known: after`},
		{"GET /status?after=1", ``, 400, `unknown query parameter "after": known: none`},
		{"GET /stream?opn=pod0", ``, 400, `did you mean "open"?`},
		{"GET /switches/s0.0?forwarding=no", ``, 400, "forwarding=no: expected true or false"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		require.Contains(t, refusal(t, x.ask(method, root+path, c.body, x.token), c.code), c.want, c.request)
	}
	require.Equal(t, "the page", x.ask("GET", "/", "", nil).body)
	require.Empty(t, x.Fabric().Faults())
	require.Empty(t, x.Fabric().LinksDown())
}

func TestWhatIsLookedAtIsThere(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	_, err := x.Fabric().Apply(t.Context(), everyVerb[3])
	require.NoError(t, err)
	x.Send("n01", "n00")
	x.RequireLedger()
	top := get[Topology](x, "/topology")
	require.Len(t, top.Links, 8)
	require.NotZero(t, top.Layout.Width)
	sw := get[[]SwitchState](x, "/switches")
	require.Len(t, sw, 4)
	require.Equal(t, fabric.SwitchDown, sw[3].State)
	d := get[SwitchDetail](x, "/switches/s1.0")
	require.Equal(t, 1, *d.Tier)
	require.Len(t, d.Ports, 4)
	require.Equal(t, PortView{
		Port: 0, Link: "s1.0-n00", Peer: "n00", State: "up", Sent: d.Ports[0].Sent, Received: d.Ports[0].Received,
		VCs: []VCView{{Credits: d.Ports[0].VCs[0].Credits, Stalls: d.Ports[0].VCs[0].Stalls}},
	}, d.Ports[0])
	require.Positive(t, d.Ports[0].Sent)
	require.Equal(t, d.Counts, sw[2].Counts)
	require.True(t, get[fabric.Ledger](x, "/ledger").Balanced)
	require.Len(t, get[[]fault.Report](x, "/faults"), 1)
	require.Empty(t, get[[]fault.Report](x, "/faults?after=1"))
	events := get[[]fabric.Event](x, "/events?after=1")
	require.Equal(t, uint64(2), events[0].Seq)
}

func TestABurstOfRequestsIsBoundedAndTheFabricUnharmed(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	x := serveWeb(t, harness.Traffic("uniform:0.3"), harness.Liveness(50*time.Millisecond, 20))
	requests, clients := testenv.N(10_000, 1000), 200
	before := x.Fabric().Totals().Delivered
	var next, done, refused, odd atomic.Int64
	paths := []string{"/links", "/switches", "/status", "/topology", "/ledger", "/switches/s0.0", "/nothing"}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(requests); n = next.Add(1) {
				r, _ := http.NewRequestWithContext(t.Context(), "GET",
					strings.TrimSuffix(x.web.URL(), "/")+root+paths[int(n)%len(paths)], nil)
				x.token(r) // of one client: others have their own bounds
				answer, err := x.client.Do(r)
				if err != nil {
					odd.Add(1)
					continue
				}
				_ = answer.Body.Close()
				switch answer.StatusCode {
				case http.StatusOK, http.StatusNotFound:
					done.Add(1)
				case http.StatusTooManyRequests, http.StatusServiceUnavailable:
					refused.Add(1)
					if answer.Header.Get("Retry-After") == "" {
						odd.Add(1)
					}
				default:
					odd.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, odd.Load())
	require.EqualValues(t, requests, done.Load()+refused.Load())
	require.Positive(t, refused.Load(), "200 at once are more than are answered or wait")
	require.Greater(t, done.Load(), int64(requests/100))
	require.Greater(t, x.Fabric().Totals().Delivered, before)
	require.Empty(t, x.Fabric().LinksDown())
	x.RequireLedger()
	require.Equal(t, 200, x.ask("GET", root+"/links", "", nil).code)
}

func TestViewersAreBounded(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	x := serveWeb(t)
	var all []*sse
	for range maxStreams {
		all = append(all, x.stream(""))
	}
	a := x.ask("GET", root+"/stream", "", nil)
	require.Contains(t, refusal(t, a, http.StatusServiceUnavailable), "too many viewers")
	require.Equal(t, "1", a.header.Get("Retry-After"))
	all[0].close()
	rig.Until(t, func() bool { return x.web.streams.count() < maxStreams })
	_, err := x.stream("").next()
	require.NoError(t, err)
}

func TestStreamsEndAtOnceWithTheServer(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	s := x.stream("")
	_, err := s.next()
	require.NoError(t, err)
	x.end()
	for err == nil {
		_, err = s.next()
	}
	require.ErrorIs(t, err, errEnded)
	require.NoError(t, s.lines.Err(), "it ends by itself, before the server closes the connections that are left")
	_, err = x.client.Get(x.web.URL())
	require.Error(t, err)
}

func TestAnotherRunBeginsAnew(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	s, st := x.stream(""), State{}
	s.until(&st, func(*State) bool { return true })
	y := serveWeb(t)
	f, err := y.stream(s.id).next()
	require.NoError(t, err)
	require.Equal(t, KindSnapshot, f.Kind)
	require.NotEqual(t, st.Run, f.Run)
	require.NotEqual(t, x.web.Token(), y.web.Token())
	refusal(t, y.ask("POST", root+"/heal", "", x.token), http.StatusUnauthorized)
}

func TestAnAddressThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, address := range []string{"nowhere", "127.0.0.1:99999", ""} {
		_, err := NewWeb(address, WebConfig{Server: s.server})
		require.ErrorContains(t, err, "listen")
	}
}

func TestAnOrderThatWaitsKeepsNobodyFromLooking(t *testing.T) {
	t.Parallel()
	x := serveWeb(t, harness.Liveness(time.Second, 20))
	s, st := x.stream(""), State{}
	s.until(&st, func(*State) bool { return true })
	_, err := x.Fabric().Apply(t.Context(), everyVerb[0],
		fault.Spec{Do: fault.VerbImpair, A: "s0.0-s1.0", Impair: &fault.Impair{Delay: new(fault.Duration(time.Hour))}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxOrders + 1 { // none of which comes off within the hour
		waiting.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, "POST", x.web.URL()+"api/v1/links/s0.0-s1.0/restore", nil)
			x.token(r)
			if answer, err := x.client.Do(r); err == nil {
				_ = answer.Body.Close()
			}
		})
	}
	s.until(&st, func(s *State) bool { return s.Links[x.linkID()].CutAB == "" })
	for range 2 * maxBusy {
		require.Equal(t, fabric.SwitchUp, get[SwitchDetail](x, "/switches/s0.0").State)
	}
	stop()
	waiting.Wait()
}

// unread is a connection whose other end does not read.
type unread struct {
	http.ResponseWriter
	written chan struct{} // a place for each answer that waits to be read
	end     chan struct{}
}

func (u unread) Write(data []byte) (int, error) {
	u.written <- struct{}{}
	<-u.end
	return len(data), nil
}

func TestThoseWhoDoNotReadTheirAnswersHoldUpNobody(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	u := unread{written: make(chan struct{}, maxBusy), end: make(chan struct{})}
	var running sync.WaitGroup
	defer running.Wait()
	defer close(u.end)
	for range maxBusy {
		u := unread{httptest.NewRecorder(), u.written, u.end}
		r := httptest.NewRequest("GET", "http://localhost"+root+"/links", nil)
		running.Go(func() { x.web.handler.ServeHTTP(u, r) })
	}
	for range maxBusy {
		<-u.written
	}
	require.Equal(t, http.StatusOK, x.ask("GET", root+"/links", "", nil).code)
}
