package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/topology"
)

const authTree = "mport-tree:4,3"

// guarded is three hosts whose servers trust a folder of keys alone. Each process has a copy of what it needs, as on a host of its own.
type guarded struct {
	*clusterRun
	keys   string // the folder
	made   string // what init has printed: the tokens of the API, too
	server string // all of them
}

// guardedSite makes the keys and starts the servers, each in its copy of the folder.
func guardedSite(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{clusterRun: &clusterRun{site: newSite(t), load: "uniform:0.05"}, keys: filepath.Join(t.TempDir(), "keys")}
	client, route := freePort(t, "127.0.0.3"), freePort(t, "127.0.0.3")
	var names, urls []string
	for i := range 3 {
		h := &siteHost{name: fmt.Sprintf("h%d", i+1), addr: fmt.Sprintf("127.0.0.%d", i+1), client: client, route: route, dir: t.TempDir()}
		g.hosts = append(g.hosts, h)
		names, urls = append(names, h.name+"="+h.addr), append(urls, fmt.Sprintf("tls://%s:%d", h.addr, client))
	}
	g.server = strings.Join(urls, ",")
	g.made = g.fabricd(0, "auth", "init", "--fabric", "lab", "--dir", g.keys, "--hosts", strings.Join(names, ","), "--port", fmt.Sprint(client), "--cluster-port", fmt.Sprint(route))
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

// rotate rotates all keys; those users take new ones.
func (g *guarded) rotate(want ...string) {
	defer func(began time.Time) { g.t.Log("rotation and all that after", time.Since(began)) }(time.Now())
	g.t.Helper()
	var out auth.Rotated
	require.NoError(g.t, json.Unmarshal([]byte(g.fabricd(0, "auth", "rotate", "--dir", g.keys, "--json")), &out))
	require.Equal(g.t, []string{"h1", "h2", "h3"}, out.Servers)
	require.Empty(g.t, out.Away)
	require.Empty(g.t, out.Copy, "all have taken theirs")
	var got []string
	for _, r := range out.Renewed {
		require.Empty(g.t, r.Missed)
		who := r.User
		switch {
		case r.StandsBy:
			who += " standing by"
		case r.Parts > 0:
			who += fmt.Sprintf(" and %d parts", r.Parts)
		}
		got = append(got, who)
	}
	require.ElementsMatch(g.t, want, got)
	g.sound("a rotation")
}

// The keys of a fabric over three hosts are rotated under load while everything runs that can be connected, twice, and once more after another has
// taken the lead; then that of an agent is revoked. No packet is unaccounted for, nobody is started again, and no secret is to be seen anywhere.
func TestKeysOfAFabricOverThreeHostsAreRotatedAndRevoked(t *testing.T) {
	overHosts(t)
	g := guardedSite(t)
	old := map[string]string{}
	for _, folder := range []string{"leader", "hosts/h1", "users/viewer", "users/manager"} {
		old[folder] = g.copy(folder)
	}
	before := secretsIn(t, g.keys)
	for _, h := range g.hosts {
		h.agent = g.start(h, filepath.Join(g.bin, "fabricd"), "agent", "-v", "--name", h.name, "--auth", h.cwd, "--server", g.server, "--memory", "1GiB", "--cores", "2")
		h.agent.says(" room for ")
	}
	var err error
	g.graph, err = topology.Parse(authTree)
	require.NoError(t, err)
	leader := func(h int, args ...string) *siteProcess {
		return g.start(g.hosts[h], filepath.Join(g.bin, "fabricd"), append([]string{
			"up", "-v", "--json", "--name", "lab", "--auth", g.copy("leader"), "--server", g.server, "--hello-interval", "200ms", "--listen", "0.0.0.0:0", "--leave",
		}, args...)...)
	}
	g.lead = leader(0, "--agents", "all", "--topology", authTree, "--traffic", g.load, "--routing", "ftree", "--manager", "none")
	g.lead.says(`{"up":`)
	g.standby = leader(1)
	g.standby.says(`{"standby":`)
	manager := g.start(g.hosts[1], filepath.Join(g.bin, "fabricd"), "manage", "-v", "--json", "--fabric", "lab", "--auth", g.copy("users/manager"), "--server", g.server)
	manager.says(`"kind":"manages"`)
	viewer := g.start(g.hosts[2], filepath.Join(g.bin, "linkmon"), "events", "--follow", "--json", "--fabric", "lab", "--auth", g.copy("users/viewer"), "--server", g.server)
	viewer.says(`"kind":`) // it is connected
	g.client = g.operator()
	everybody := []string{"agent-h1", "agent-h2", "agent-h3", "manager", "viewer", "fabric standing by", "fabric and 3 parts"}
	g.rotate(everybody...)
	g.rotate(everybody...)

	g.lead.signal(syscall.SIGINT)
	g.lead.wait()
	g.standby.says(`{"up":`)
	ended := g.lead
	g.lead, g.standby = g.standby, leader(0)
	g.standby.says(`{"standby":`)
	g.rotate(everybody...)

	// Who has the old credentials is let in no more.
	for folder, creds := range old {
		args := map[string][]string{
			"leader": {"agents"}, "hosts/h1": {"agent", "--name", "h1"}, "users/viewer": {"down", "--name", "lab"}, "users/manager": {"manage", "--fabric", "lab"},
		}[folder]
		require.Contains(t, g.fabricd(2, append(args, "--auth", creds, "--server", g.server)...), "they are revoked or expired", folder)
	}

	// The agent of the third host is revoked: it ends, its part is lost and the others go on.
	said := g.fabricd(0, "auth", "revoke", "--dir", g.keys, "agent-h3")
	key := regexp.MustCompile(`U[A-Z2-7]{55}`).FindAllString(said, -1)
	g.hosts[2].agent.wait()
	require.Equal(t, 2, g.hosts[2].agent.cmd.ProcessState.ExitCode())
	require.Regexp(t, "has revoked the key ("+strings.Join(key, "|")+") of ", g.hosts[2].agent.errs.String())
	require.Contains(t, g.hosts[2].agent.errs.String(), "fabricd auth rotate makes")
	g.until("switches are dead", func(st api.Status) bool { return len(st.SwitchesDown) > 0 })
	g.goesOn()
	g.noSecret(append(before, secretsIn(t, g.keys)...), g.hosts[0].agent, g.hosts[1].agent, g.hosts[2].agent, ended, g.lead, g.standby, manager, viewer)
}

// operator is a client that may operate.
func (g *guarded) operator() *api.Client {
	g.t.Helper()
	at := g.as("users/operator")
	client, err := api.Dial(registry.Entry{Name: "lab", URL: at.URL, Operator: at.Credentials}, "test", true)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, client.Close()) })
	return client
}

// as is how one connects with a folder of the keys.
func (g *guarded) as(folder string) bus.Resolved {
	g.t.Helper()
	at, err := bus.Settings{Server: g.server, Auth: filepath.Join(g.keys, folder)}.Resolve(func(string) string { return "" })
	require.NoError(g.t, err)
	return at
}

// noSecret looks for secrets in all that processes print and in how they were started.
func (g *guarded) noSecret(secrets []string, processes ...*siteProcess) {
	g.t.Helper()
	for _, p := range processes {
		told := p.out.String() + p.errs.String() + strings.Join(p.cmd.Args, " ")
		require.Empty(g.t, secret.FindAllString(told, -1), "%v", p.cmd.Args)
		for _, s := range secrets {
			require.NotContains(g.t, told, s)
		}
	}
}
