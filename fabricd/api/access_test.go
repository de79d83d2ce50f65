package api

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// keys is a folder of keys with the tokens view and operate.
func keys(t *testing.T, now time.Time) (dir string, tokens map[string]string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "keys")
	d, made, err := auth.Init(auth.Options{Fabric: "lab", Dir: dir, Now: now})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	tokens = map[string]string{}
	for _, m := range made {
		tokens[m.Name] = m.Secret
	}
	return dir, tokens
}

func bearing(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// Every call of the API by every kind of token, where only this machine can reach it and where
// others can: exactly the allowed ones succeed.
func TestEveryCallByEveryToken(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	dir, made := keys(t, time.Now())
	tokens, err := auth.OpenTokens(filepath.Join(dir, "leader", auth.TokensFile), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s := serve(t)
	calls := 0
	for address, anybody := range map[string]auth.Access{"127.0.0.1:0": auth.View, "0.0.0.0:0": 0} {
		x := s.serveWebAt(address, WebConfig{Tokens: tokens})
		cookie := x.ask("POST", root+"/session", "", bearing(made["operate"])).header.Get("Set-Cookie")
		require.Contains(t, cookie, "HttpOnly; SameSite=Strict")
		for _, by := range []struct {
			who   string
			edit  func(*http.Request)
			has   auth.Access
			token bool
		}{
			{"nobody", nil, anybody, false},
			{"a wrong token", bearing(strings.Repeat("A", 26)), anybody, false},
			{"a long token", bearing(strings.Repeat("A", 5000)), anybody, false},
			{"an empty token", bearing(""), anybody, false},
			{"the hash of a token", bearing(fmt.Sprintf("%x", made["operate"])), anybody, false},
			{"view", bearing(made["view"]), auth.View, true},
			{"operate", bearing(made["operate"]), auth.Operate, true},
			{"the run", bearing(x.web.Token()), auth.Operate, true},
			{"a cookie", func(r *http.Request) { r.Header.Set("Cookie", strings.SplitN(cookie, ";", 2)[0]) }, auth.View, false},
			{
				"a wrong cookie", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: x.web.cookie(), Value: "x"}) }, anybody,
				false,
			},
		} {
			call := func(r route, path string) {
				calls++
				// With a body that nothing comes of: who may is told what is wrong with it.
				a := x.ask(r.method, path, map[bool]string{true: `{"nonsense":1}`}[r.in != nil], func(req *http.Request) {
					req.Header.Set("X-Test", "1")
					if by.edit != nil {
						by.edit(req)
					}
				})
				allowed := by.has >= auth.View
				if r.anyToken {
					allowed = by.token
				} else if r.method != http.MethodGet {
					allowed = by.has >= auth.Operate
				}
				refused := a.code == http.StatusUnauthorized || a.code == http.StatusForbidden
				require.Equal(t, allowed, !refused, "%s %s %s on %s: %d %s", by.who, r.method, path, address, a.code, a.body)
				if refused && by.token {
					require.Equal(t, http.StatusForbidden, a.code, "it is known and may not")
				} else if refused {
					require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
				}
			}
			for _, r := range x.web.routes() {
				if r.path == "/stream" {
					continue // it lasts; below
				}
				path := strings.Replace(root+r.path, "{id}",
					map[bool]string{true: "s0.0", false: "s0.0-s1.0"}[strings.HasPrefix(r.path, "/switches")], 1)
				call(r, path)
			}
			call(route{method: "GET"}, "/metrics")
			calls += 2
			require.Equal(t, 200, x.ask("GET", "/", "", by.edit).code, "the page itself shows nothing")
			r, err := http.NewRequestWithContext(t.Context(), "GET", x.web.URL()+"api/v1/stream", nil)
			require.NoError(t, err)
			if by.edit != nil {
				by.edit(r)
			}
			answer, err := x.client.Do(r)
			require.NoError(t, err)
			require.Equal(t, by.has >= auth.View, answer.StatusCode == 200, "%s: stream on %s", by.who, address)
			require.NoError(t, answer.Body.Close())
		}
	}
	attack.Count(t, "every call of the HTTP API by every kind of token", calls)
	require.Empty(t, s.Fabric().Faults())
}

// A token that is taken back lets nobody in within a second, and neither does a cookie that was
// given for it.
func TestTokensThatAreTakenBack(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	dir, made := keys(t, time.Now())
	file := filepath.Join(dir, "leader", auth.TokensFile)
	tokens, err := auth.OpenTokens(file, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	x := serve(t).serveWebAt("0.0.0.0:0", WebConfig{Tokens: tokens})
	cookie := strings.SplitN(x.ask("POST", root+"/session", "", bearing(made["view"])).header.Get("Set-Cookie"), ";", 2)[0]
	withCookie := func(r *http.Request) { r.Header.Set("Cookie", cookie) }
	require.Equal(t, 200, x.ask("GET", root+"/links", "", withCookie).code)
	require.NoError(t, auth.RemoveToken(file, "view"))
	for _, edit := range []func(*http.Request){withCookie, bearing(made["view"])} {
		rig.Until(t, func() bool { return x.ask("GET", root+"/links", "", edit).code == 401 })
	}
	again, err := auth.AddToken(file, "again", auth.View)
	require.NoError(t, err)
	rig.Until(t, func() bool { return x.ask("GET", root+"/links", "", bearing(again.Secret)).code == 200 })
	require.Equal(t, 200, x.ask("GET", root+"/links", "",
		func(r *http.Request) { bearing(again.Secret)(r); r.Host = "lab.example" }).code,
		"by any name: without a token nobody gets anything")
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	var s sessions
	first := s.open(bearer{})
	for range maxSessions {
		_, ok := s.find(s.open(bearer{role: auth.View}))
		require.True(t, ok)
	}
	_, ok := s.find(first)
	require.False(t, ok, "the oldest has gone")
	require.Len(t, s.list, maxSessions)
}

func TestThePageOverTLS(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	dir, _ := keys(t, time.Now())
	file := func(name string) string { return filepath.Join(dir, "leader", name) }
	x := serve(t).serveWebAt("127.0.0.1:0", WebConfig{CertFile: file("cert.pem"), KeyFile: file("key.pem")})
	require.True(t, strings.HasPrefix(x.web.URL(), "https://127.0.0.1:"))
	known := x509.NewCertPool()
	ca, err := os.ReadFile(file("ca.pem"))
	require.NoError(t, err)
	require.True(t, known.AppendCertsFromPEM(ca))
	x.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: known}
	require.Equal(t, 200, x.ask("GET", root+"/links", "",
		func(r *http.Request) { r.Header.Set("Origin", strings.TrimSuffix(x.web.URL(), "/")) }).code)
	require.Equal(t, 403, x.ask("GET", root+"/links", "",
		func(r *http.Request) { r.Header.Set("Origin", strings.Replace(x.web.URL(), "https", "http", 1)) }).code)
	require.Contains(t, x.ask("POST", root+"/session", "", x.token).header.Get("Set-Cookie"), "Secure")

	old, _ := keys(t, time.Now().AddDate(-2, 0, 0))
	require.NoError(t, os.Chmod(file("key.pem"), 0o644))
	for want, c := range map[string]WebConfig{
		"it has expired on": {
			CertFile: filepath.Join(old, "leader", "cert.pem"),
			KeyFile:  filepath.Join(old, "leader", "key.pem"),
		},
		"give both": {CertFile: file("cert.pem")},
		"not safe from other users of this machine": {CertFile: file("cert.pem"), KeyFile: file("key.pem")},
		"no such file":               {CertFile: file("nowhere.pem"), KeyFile: filepath.Join(old, "leader", "key.pem")},
		"private key does not match": {CertFile: file("cert.pem"), KeyFile: filepath.Join(old, "leader", "key.pem")},
	} {
		c.Server = x.server
		_, err := NewWeb("127.0.0.1:0", c)
		require.ErrorContains(t, err, want)
	}
}
