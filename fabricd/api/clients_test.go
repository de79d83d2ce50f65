package api

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// hang opens connections that send a little and then nothing, and are never read.
func (x *webbed) hang(n int, sends string) {
	x.t.Helper()
	for range n {
		c, err := net.Dial("tcp", x.web.listen.Addr().String())
		require.NoError(x.t, err)
		x.t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, sends)
		require.NoError(x.t, err)
	}
}

// Whoever opens connections and does not say what for keeps nobody waiting until their time is
// over.
func TestHalfOpenConnectionsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	x := serveWeb(t)
	list := x.web.conns
	held := func() (n int) {
		list.mu.Lock()
		defer list.mu.Unlock()
		for c := range list.open {
			if !c.served {
				n++
			}
		}
		return n
	}
	const halfOpen = maxConns + 400
	attempts := 0
	for _, sends := range []string{"", "G", "GET / HTTP/1.1\r\nHost: x\r\n", "POST " + root + "/heal HTTP/1.1\r\nX-A: "} {
		// On a machine that stands still for as long as a header may take they are all over before
		// we are asked: then once more.
		rig.Until(t, func() bool {
			attempts++
			x.hang(halfOpen, sends)
			x.client.CloseIdleConnections() // a new one, which comes after all those
			return x.ask("GET", root+"/links", "", nil).code == 200 && held() > maxConns-50
		}, "%q", sends)
	}
	list.mu.Lock()
	require.LessOrEqual(t, len(list.open), maxConns)
	list.mu.Unlock()
	if attempts == 4 { // as on a machine that is not stalled
		attack.Count(t, "half-open HTTP connections", halfOpen*attempts)
	}
}

// One client's requests, however slow, are refused to nobody else.
func TestBoundsAreThoseOfEachClient(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	file := filepath.Join(t.TempDir(), "tokens.json")
	ann, err := auth.AddToken(file, "ann", auth.Operate)
	require.NoError(t, err)
	bob, err := auth.AddToken(file, "bob", auth.Operate)
	require.NoError(t, err)
	tokens, err := auth.OpenTokens(file, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	x := serve(t).serveWebAt("127.0.0.1:0", WebConfig{Tokens: tokens})
	const slow = 80
	x.hang(slow, fmt.Sprintf("POST %s/heal HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: "+
		"1000\r\n\r\n{", root, ann.Secret))
	rig.Until(t, func() bool {
		return x.ask("POST", root+"/heal", "{}", bearing(ann.Secret)).code == http.StatusTooManyRequests
	}, "ann has all that one client may have")
	for range 2 * maxHeld {
		require.Equal(t, 200, x.ask("POST", root+"/heal", "{}", bearing(bob.Secret)).code)
		require.Equal(t, 200, x.ask("POST", root+"/heal", "{}", x.token).code)
		require.Equal(t, 200, x.ask("GET", root+"/links", "", nil).code)
	}
	watching := maxWatching + 1
	for n := range watching {
		r, err := http.NewRequestWithContext(t.Context(), "GET", x.web.URL()+"api/v1/stream", nil)
		require.NoError(t, err)
		bearing(ann.Secret)(r)
		answer, err := x.client.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		require.Equal(t, n < maxWatching, answer.StatusCode == 200)
	}
	x.stream("")
	attack.Count(t, "slow bodies and streams of one token", slow+watching)
}

// An order with a module counts for as many as it is long, or may be.
func TestLongBodiesCountForMany(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	x.hang(2, fmt.Sprintf("POST %s/load HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: "+
		"%d\r\n\r\n{", root, x.web.Token(), maxLoad))
	rig.Until(t, func() bool {
		return x.ask("POST", root+"/load", `{"check":true,"routing":"adaptive-link"}`, func(r *http.Request) {
			x.token(r)
			r.ContentLength = -1 // chunked
		}).code == http.StatusTooManyRequests
	}, "two modules on their way")
	require.Equal(t, 200, x.ask("POST", root+"/heal", "{}", x.token).code)
}

// What one client has waiting is behind what others ask for, and leaves half of the places.
func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	p := newPlaces(4)
	take := func(client string) error { return p.take(t.Context(), client, 0) }
	require.NoError(t, take("a"))
	require.NoError(t, take("a"))
	require.ErrorIs(t, take("a"), errNoPlace)
	require.NoError(t, take("b"))
	order := make(chan string, 4)
	var running sync.WaitGroup
	waits := func(client string, waiting int) {
		running.Go(func() {
			if err := p.take(t.Context(), client, rig.Patience); err != nil {
				client = err.Error()
			}
			order <- client
		})
		rig.Until(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.waiting) == waiting })
	}
	waits("a", 1)
	require.NoError(t, take("c"))
	waits("b", 2)
	waits("d", 3)
	for _, step := range []struct{ leaves, gets string }{{"a", "d"}, {"c", "a"}, {"d", "b"}} {
		p.leave(step.leaves)
		require.Equal(t, step.gets, <-order)
	}
	running.Wait()
	require.Equal(t, map[string]int{"a": 2, "b": 2}, p.busy)
}

// Removing a token ends what was opened with it; so does a file of tokens that is gone.
func TestStreamsAndSessionsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	require.Less(t, lookTime, time.Second/2, "and auth looks as often: together within a second")
	attempts := 0
	for name, end := range map[string]func(file string) error{
		"removed":      func(file string) error { return auth.RemoveToken(file, "ann") },
		"file gone":    os.Remove,
		"file unsafe":  func(file string) error { return os.Chmod(file, 0o604) },
		"file damaged": func(file string) error { return safefile.WriteSecret(file, []byte("[")) },
	} {
		for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
			file := filepath.Join(t.TempDir(), "tokens.json")
			ann, err := auth.AddToken(file, "ann", auth.View)
			require.NoError(t, err)
			log := new(rig.Output)
			logger := slog.New(slog.NewTextHandler(log, nil))
			tokens, err := auth.OpenTokens(file, logger)
			require.NoError(t, err)
			x := serve(t).serveWebAt(address, WebConfig{Tokens: tokens, Log: logger})
			cookie := strings.SplitN(x.ask("POST", root+"/session", "", bearing(ann.Secret)).header.Get("Set-Cookie"), ";", 2)[0]
			var open []*sse
			for _, edit := range []func(*http.Request){
				bearing(ann.Secret),
				func(r *http.Request) { r.Header.Set("Cookie", cookie) },
			} {
				if x.web.Loopback() && len(open) == 1 {
					continue // there a stream needs no session
				}
				open = append(open, x.streamAs(edit))
				_, err := open[len(open)-1].next()
				require.NoError(t, err)
			}
			require.NoError(t, end(file), name)
			for _, s := range open {
				late := time.AfterFunc(rig.Patience, s.close)
				for err = nil; err == nil; {
					_, err = s.next()
				}
				require.ErrorIs(t, err, errEnded)
				require.True(t, late.Stop(), "it was we who have ended it")
				attempts++
			}
			rig.Until(t, func() bool {
				x.web.sessions.mu.Lock()
				defer x.web.sessions.mu.Unlock()
				return len(x.web.sessions.list) == 0
			})
			for _, text := range []string{
				"their tokens hold no more",
				map[bool]string{true: "a token was removed", false: "no token of the file holds"}[name == "removed"],
			} { // written a moment after
				rig.Until(t, func() bool { return strings.Contains(log.String(), text) }, "the log says %q", text)
			}
			attempts++
		}
	}
	attack.Count(t, "streams and sessions whose token is taken back", attempts)
}
