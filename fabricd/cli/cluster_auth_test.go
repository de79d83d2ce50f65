package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// guarded is three hosts whose servers trust a folder of keys alone. Each process has a copy of
// what it needs, as on a host of its own.
type guarded struct {
	*clusterRun
	keys    string // the folder
	made    string // what init has printed: the tokens of the API, too
	server  string // all of them
	viewers []*rig.Process
}

// guardedSite makes the keys and starts the servers, each in its copy of the folder.
func guardedSite(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{
		clusterRun: &clusterRun{site: newSite(t), load: "uniform:0.01"},
		keys:       filepath.Join(t.TempDir(), "keys"),
	}
	client, route := rig.FreePort(t, "127.0.0.3"), rig.FreePort(t, "127.0.0.3")
	var names, urls []string
	for i := range 3 {
		h := &siteHost{
			name: fmt.Sprintf("h%d", i+1), addr: fmt.Sprintf("127.0.0.%d", i+1), client: client, route: route,
			dir: t.TempDir(),
		}
		g.hosts = append(g.hosts, h)
		names, urls = append(names, h.name+"="+h.addr), append(urls, fmt.Sprintf("tls://%s:%d", h.addr, client))
	}
	g.server = strings.Join(urls, ",")
	g.made = g.fabricd(0, "auth", "init", "--fabric", "lab", "--dir", g.keys, "--hosts", strings.Join(names, ","),
		"--port", fmt.Sprint(client), "--cluster-port", fmt.Sprint(route))
	for _, h := range g.hosts {
		h.cwd = g.copy("hosts/" + h.name)
		h.server = g.start(h, g.program, "-c", "nats.conf")
	}
	at := g.as("leader")
	g.keepsThings(bus.StoreConfig{Fabric: "lab", URL: at.URL, Credentials: at.Credentials, Existing: true})
	return g
}

// copy is a copy of a folder of the keys.
func (g *guarded) copy(folder string) string {
	g.t.Helper()
	to := filepath.Join(g.t.TempDir(), "copy")
	require.NoError(g.t, os.CopyFS(to, os.DirFS(filepath.Join(g.keys, folder))))
	require.NoError(g.t, filepath.WalkDir(to, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() { // which CopyFS does not keep
			err = os.Chmod(path, 0o600)
		}
		return err
	}))
	return to
}

// fabricd runs a command to its end, which is that code, and returns what it has printed.
func (g *guarded) fabricd(code int, args ...string) string {
	g.t.Helper()
	return g.command(code, "fabricd", args...)
}

func (g *guarded) command(code int, program string, args ...string) string {
	g.t.Helper()
	cmd := exec.Command(filepath.Join(g.bin, program), args...)
	cmd.Env = append(os.Environ(), "WEFT_RUN_DIR="+filepath.Join(g.hosts0(), "run"))
	said, err := cmd.CombinedOutput()
	require.Equal(g.t, code, cmd.ProcessState.ExitCode(), "%s %v: %v: %s", program, args, err, said)
	return string(said)
}

func (g *guarded) hosts0() string {
	if len(g.hosts) == 0 {
		return g.t.TempDir()
	}
	return g.hosts[0].dir
}

// startAgentWith starts an agent with the credentials of a folder.
func (g *guarded) startAgentWith(h *siteHost, folder string) *rig.Process {
	g.t.Helper()
	p := g.start(h, filepath.Join(g.bin, "fabricd"), "agent", "-v", "--name", h.name, "--auth", folder, "--server",
		g.server, "--memory", "1GiB", "--cores", "2")
	p.Says(" room for ")
	return p
}

// rotated is what came of a rotation of all keys.
func (g *guarded) rotated() (out auth.Rotated) {
	g.t.Helper()
	require.NoError(g.t, json.Unmarshal([]byte(g.fabricd(0, "auth", "rotate", "--dir", g.keys, "--json")), &out))
	require.Equal(g.t, []string{"h1", "h2", "h3"}, out.Servers)
	require.Empty(g.t, out.Away)
	for _, r := range out.Renewed {
		require.Empty(g.t, r.Missed)
	}
	return out
}

// rotate rotates all keys; those users take new ones.
func (g *guarded) rotate(want ...string) {
	g.t.Helper()
	viewer := g.start(g.hosts[2], filepath.Join(g.bin, "linkmon"), "watch", "--json", "--fabric", "lab", "--auth",
		g.copy("users/viewer"), "--server", g.server)
	viewer.Says(`"delivered_per_second":`) // it is connected
	out := g.rotated()
	viewer.Kill() // it would end when a busy machine keeps the fabric from answering for long
	g.viewers = append(g.viewers, viewer)
	require.Empty(g.t, out.Copy, "all have taken theirs")
	var got []string
	for _, r := range out.Renewed {
		who := r.User
		switch {
		case r.StandsBy:
			who += " standing by"
		case r.Hosts > 0:
			who += fmt.Sprintf(" and %d hosts", r.Hosts)
		}
		got = append(got, who)
	}
	require.ElementsMatch(g.t, want, got)
	g.sound("a rotation")
}

// The keys of a fabric over three hosts are rotated under load while everything runs that can be
// connected: once, at soak twice, and once more after another has taken the lead. Then the key of
// an agent is revoked. No packet is unaccounted for, nobody is started again, and no secret is to
// be seen anywhere.
func TestKeysOfAFabricOverThreeHostsAreRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	g := guardedSite(t)
	old := map[string]string{}
	for _, folder := range []string{"leader", "hosts/h1", "users/viewer", "users/manager"} {
		old[folder] = g.copy(folder)
	}
	before := secretsIn(t, g.keys)
	for _, h := range g.hosts {
		h.agent = g.startAgentWith(h, h.cwd)
	}
	tree := "mport-tree:4,2"
	if testenv.Soak() {
		tree = "mport-tree:4,3"
	}
	var err error
	g.graph, err = topology.Parse(tree)
	require.NoError(t, err)
	leader := func(h int, args ...string) *rig.Process {
		return g.start(g.hosts[h], filepath.Join(g.bin, "fabricd"), append([]string{
			"up", "-v", "--json", "--fabric", "lab", "--auth", g.copy("leader"), "--server", g.server, "--hello-interval",
			"400ms", "--listen", "0.0.0.0:0", "--detach",
		}, args...)...)
	}
	g.lead = leader(0, "--agents", "all", "--topology", tree, "--traffic", g.load, "--routing", "ftree", "--method",
		"none")
	g.lead.Says(`{"up":`)
	g.standby = leader(1)
	g.standby.Says(`{"standby":`)
	manager := g.start(g.hosts[1], filepath.Join(g.bin, "fabricd"), "manage", "-v", "--json", "--fabric", "lab", "--auth",
		g.copy("users/manager"), "--server", g.server)
	manager.Says(`"kind":"manages"`)
	g.client = g.operator()
	everybody := []string{
		"agent-h1", "agent-h2", "agent-h3", "manager", "viewer", "fabric standing by",
		"fabric and 3 hosts",
	}
	for range testenv.Levels(2, 1, 1) {
		g.rotate(everybody...)
	}

	g.lead.Signal(syscall.SIGINT)
	g.lead.Ends()
	g.standby.Says(`{"up":`)
	ended := g.lead
	g.lead, g.standby = g.standby, leader(0)
	g.standby.Says(`{"standby":`)
	g.rotate(everybody...)

	// Who has the old credentials is let in no more.
	for folder, creds := range old {
		args := map[string][]string{
			"leader": {"agents"}, "hosts/h1": {"agent", "--name", "h1"}, "users/viewer": {"down", "--fabric", "lab"},
			"users/manager": {"manage", "--fabric", "lab"},
		}[folder]
		require.Regexp(t,
			`^fabricd: .* with the key U\w{55}: it does not know who signed them, or they are revoked or expired: `+
				`take the newest that fabricd auth has made: nats: Authorization Violation\n$`,
			g.fabricd(2, append(args, "--auth", creds, "--server", g.server)...), folder)
	}

	// The agent of the third host is revoked: it ends, its part is lost and the others go on.
	said := g.fabricd(0, "auth", "revoke", "--dir", g.keys, "agent-h3")
	key := regexp.MustCompile(`U[A-Z2-7]{55}`).FindAllString(said, -1)
	code, said := g.hosts[2].agent.Ends()
	require.Equal(t, 2, code)
	require.Regexp(t, "has revoked the key ("+strings.Join(key, "|")+") of .* fabricd auth rotate makes", said)
	g.until("switches are dead", func(st api.Status) bool { return len(st.SwitchesDown) > 0 })
	g.goesOn()
	// With what the next rotation has left for it, it has its part again.
	revoked := g.hosts[2].agent
	require.Equal(t, []string{"hosts/h3"}, g.rotated().Copy)
	g.hosts[2].agent = g.startAgentWith(g.hosts[2], g.copy("hosts/h3"))
	g.sound("an agent revoked, and started with new credentials")
	g.noSecret(append(before, secretsIn(t, g.keys)...),
		append(g.viewers, g.hosts[0].agent, g.hosts[1].agent, g.hosts[2].agent, revoked, ended, g.lead, g.standby,
			manager)...)
}

// operator is a client that may operate.
func (g *guarded) operator() *api.Client {
	g.t.Helper()
	at := g.as("users/operator")
	client, err := api.Dial(registry.Entry{Listed: registry.Listed{Name: "lab", URL: at.URL}, Operator: at.Credentials},
		"test", true)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, client.Close()) })
	return client
}

// as is how one connects with a folder of the keys.
func (g *guarded) as(folder string) bus.Resolved {
	g.t.Helper()
	at, err := bus.Settings{
		Server: g.server,
		Auth:   filepath.Join(g.keys, folder),
	}.Resolve(func(string) string { return "" })
	require.NoError(g.t, err)
	return at
}

// noSecret looks for secrets, and for tokens of the API, in what processes print and how they were
// started, in all that the page and its API tell who looks, and in what the servers keep; and at
// who can read the files that hold them.
func (g *guarded) noSecret(secrets []string, processes ...*rig.Process) {
	t := g.t
	t.Helper()
	tokens := regexp.MustCompile(`(?m) ([A-Z2-7]{26})$`).FindAllStringSubmatch(g.made, -1)
	require.Len(t, tokens, 2)
	for _, token := range tokens {
		secrets = append(secrets, token[1])
	}
	look := func(where, told string) {
		t.Helper()
		require.NotEmpty(t, told, where)
		require.Empty(t, secret.FindAllString(told, -1), where)
		for _, s := range secrets {
			require.NotContains(t, told, s, where)
		}
	}
	for _, p := range processes {
		look(fmt.Sprint(p.Cmd.Args), p.Out.String())
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); err == nil && len(line) > 0 { // it runs
			look(fmt.Sprint("arguments of ", p.Cmd.Args), string(line))
		}
	}
	for path, body := range g.pages(tokens[0][1]) {
		look(path, body)
	}
	for _, h := range g.hosts {
		var kept strings.Builder
		require.NoError(t, filepath.WalkDir(filepath.Join(h.cwd, "jetstream"),
			func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return nil // a server is at work there
				}
				text, _ := os.ReadFile(path)
				kept.Write(text)
				return nil
			}))
		require.Contains(t, kept.String(), "$KV.weft-lab.")
		look("what the server of "+h.name+" keeps", kept.String())
	}
	files := 0
	for _, dir := range []string{g.keys, g.hosts[0].cwd, filepath.Join(g.hosts[0].dir, "run")} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && (e.Name() == "jetstream" || e.Name() == "accounts") {
				return filepath.SkipDir // the server's
			}
			info, err := e.Info()
			if err == nil && info.Mode().IsRegular() {
				files++
				require.Zero(t, info.Mode().Perm()&0o077, "%s: %v", path, info.Mode())
			}
			return err
		}))
	}
	require.Greater(t, files, 30)
}

// pages are what the page of the leader, its API and its metrics tell who has a token.
func (g *guarded) pages(token string) map[string]string {
	t := g.t
	t.Helper()
	var up struct {
		Up struct{ Page string }
	}
	require.NoError(t,
		json.NewDecoder(strings.NewReader(g.lead.Out.String()[strings.Index(g.lead.Out.String(), `{"up":`):])).Decode(&up))
	require.Regexp(t, `^https://127\.0\.0\.1:\d+/$`, up.Up.Page)
	known := x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(g.keys, "ca.pem"))
	require.NoError(t, err)
	require.True(t, known.AppendCertsFromPEM(ca))
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known}},
		Timeout:   rig.Patience,
	}
	defer client.CloseIdleConnections()
	all := map[string]string{}
	for _, path := range []string{
		"", "metrics", "api/v1/status", "api/v1/topology", "api/v1/links", "api/v1/switches", "api/v1/faults",
		"api/v1/ledger", "api/v1/events", "api/v1/fabrics", "api/v1/openapi.json",
	} {
		for _, bears := range []string{"", strings.Repeat("A", 26), token} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, up.Up.Page+path, nil)
			require.NoError(t, err)
			if bears != "" {
				req.Header.Set("Authorization", "Bearer "+bears)
			}
			answer, err := client.Do(req)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, errors.Join(err, answer.Body.Close()))
			if want := map[bool]int{true: 200, false: 401}[bears == token || path == ""]; want != answer.StatusCode {
				t.Fatalf("%s with %q: %s: %s", path, bears, answer.Status, body)
			}
			all[path+" with "+bears] = string(body) + fmt.Sprint(answer.Header)
		}
	}
	return all
}
