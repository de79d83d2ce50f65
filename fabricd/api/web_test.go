package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
)

// webbed is a small fabric with its HTTP side.
type webbed struct {
	*served
	web    *Web
	client *http.Client
	end    func() // as Ctrl-C does; returns when nothing is served any more
}

func serveWeb(t testing.TB, options ...harness.Option) *webbed {
	t.Helper()
	return serve(t, options...).serveWeb()
}

func (s *served) serveWeb() *webbed { return s.serveWebAt("127.0.0.1:0", WebConfig{}) }

// serveWebAt serves at an address, with the tokens and the certificate of a configuration.
func (s *served) serveWebAt(address string, c WebConfig) *webbed {
	t := s.t
	t.Helper()
	w, err := NewWeb(address, WebConfig{
		Server: s.server, Tokens: c.Tokens, CertFile: c.CertFile, KeyFile: c.KeyFile, Log: c.Log,
		Page: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "the page") }),
		List: func() ([]registry.Entry, error) {
			return []registry.Entry{
				{Listed: registry.Listed{Name: "lab", Page: "http://127.0.0.1:1/"}, Token: "secret"},
				{Listed: registry.Listed{Name: "other"}, Token: "secret"},
			}, nil
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	x := &webbed{served: s, web: w, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	x.end = func() { cancel(); running.Wait() }
	t.Cleanup(func() { x.end(); x.client.CloseIdleConnections() })
	return x
}

// httpAnswer is the answer to a request.
type httpAnswer struct {
	code   int
	header http.Header
	body   string
}

// ask sends a request as edit leaves it.
func (x *webbed) ask(method, path, body string, edit func(*http.Request)) httpAnswer {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), method, strings.TrimSuffix(x.web.URL(), "/")+path,
		strings.NewReader(body))
	require.NoError(x.t, err)
	if edit != nil {
		edit(r)
	}
	answer, err := x.client.Do(r)
	require.NoError(x.t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(x.t, err)
	return httpAnswer{answer.StatusCode, answer.Header, string(data)}
}

func (x *webbed) token(r *http.Request) { r.Header.Set("Authorization", "Bearer "+x.web.Token()) }

// get decodes the answer to a GET that must succeed.
func get[T any](x *webbed, path string) (v T) {
	x.t.Helper()
	a := x.ask("GET", root+path, "", nil)
	require.Equal(x.t, http.StatusOK, a.code, a.body)
	require.NoError(x.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// order has something done that must succeed.
func (x *webbed) order(path, body string) httpAnswer {
	x.t.Helper()
	a := x.ask("POST", root+path, body, x.token)
	require.Equal(x.t, http.StatusOK, a.code, a.body)
	return a
}

// sse is a stream that is being read.
type sse struct {
	t      testing.TB
	lines  *bufio.Scanner
	answer *http.Response
	id     string // of the last frame
}

func (x *webbed) stream(last string) *sse {
	x.t.Helper()
	return x.streamAs(func(r *http.Request) {
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
	})
}

// streamAs opens a stream by a request as edit leaves it.
func (x *webbed) streamAs(edit func(*http.Request)) *sse {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), "GET", x.web.URL()+"api/v1/stream", nil)
	require.NoError(x.t, err)
	edit(r)
	answer, err := x.client.Do(r)
	require.NoError(x.t, err)
	require.Equal(x.t, http.StatusOK, answer.StatusCode)
	require.Equal(x.t, "text/event-stream", answer.Header.Get("Content-Type"))
	s := &sse{t: x.t, lines: bufio.NewScanner(answer.Body), answer: answer}
	s.lines.Buffer(nil, 64<<20)
	x.t.Cleanup(s.close)
	return s
}

func (s *sse) close() { _ = s.answer.Body.Close() }

var errEnded = errors.New("the stream has ended")

// next reads a frame.
func (s *sse) next() (f Frame, err error) {
	var event string
	for s.lines.Scan() {
		name, value, _ := bytes.Cut(s.lines.Bytes(), []byte(": "))
		switch string(name) {
		case "event":
			event = string(value)
		case "id":
			s.id = string(value)
		case "data":
			require.Equal(s.t, "frame", event)
			return f, json.Unmarshal(value, &f)
		}
	}
	return f, errEnded
}

// until applies frames to a state until it is as wanted.
func (s *sse) until(st *State, want func(*State) bool) {
	s.t.Helper()
	timer := time.AfterFunc(rig.Patience, s.close)
	defer timer.Stop()
	for {
		f, err := s.next()
		require.NoError(s.t, err, "what is waited for does not come; the state is %+v", st.Frame)
		require.NoError(s.t, st.Apply(f))
		if want(st) {
			return
		}
	}
}

func TestAnAddressThatCannotBeListenedOnIsToldWithWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	for address, want := range map[string]string{
		"8080": `listen on "8080": expected host:port, as 127.0.0.1:8420`,
		taken.Addr().String(): `listen on "` + taken.Addr().String() +
			`" for browsers and scripts: another process has this port`,
		"192.0.2.1:8420":         `listen on "192.0.2.1:8420" for browsers and scripts: this machine has no address 192.0.2.1: give one of its own, or 0.0.0.0 for all that it has`,
		"127.0.0.1:80x":          `listen on "127.0.0.1:80x": port 80x: expected a number from 0 to 65535, 0 for a free one`,
		"127.0.0.1:99999":        `listen on "127.0.0.1:99999": port 99999: expected a number from 0 to 65535, 0 for a free one`,
		"no.such.host.invalid:0": `listen on "no.such.host.invalid:0" for browsers and scripts: host no.such.host.invalid is not known: give an address of this machine`,
	} {
		_, err := NewWeb(address, WebConfig{})
		require.EqualError(t, err, want)
	}
}
