package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	upcmd "github.com/weft-fabric/weft/fabricd/cli/up"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// keepingServer is a NATS server with JetStream as others run it.
func keepingServer(t *testing.T) string {
	t.Helper()
	return natstest.Start(t, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL
}

// startAgent is fabricd agent in this process, once it offers room.
func startAgent(t *testing.T, url, name string, args ...string) *running {
	t.Helper()
	r := begin(t, append([]string{"agent", "--server", url, "--name", name}, args...)...)
	rig.Until(t, func() bool { return r.out.String() != "" })
	return r
}

// delivers waits until a fabric prints that it has delivered packets.
func delivers(t *testing.T, up *running) {
	t.Helper()
	rig.Until(t, func() bool { return regexp.MustCompile(`delivered [1-9]`).MatchString(up.out.String()) }, "%s", &up.out)
}

func TestAnAgentDoesNotWaitForAReader(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	url := keepingServer(t)
	agent := beginUnread(t, "agent", "--server", url, "--name", "h1", "--memory", "128MiB")
	rig.Until(t, func() bool {
		var out, why rig.Output
		return run(t.Context(), &out, &why, "agents", "--server", url) == 0 && strings.Contains(out.String(), "runs nothing")
	})
	ownRegistry(t)
	up := begin(t, "up", "--listen", "off", "--fabric", "lab", "--server", url, "--agents", "h1",
		"--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1")
	delivers(t, up)
	up.end(t)
	agent.end(t)
	require.Regexp(t, `\d messages on standard output were not read; the last of them:\n`, agent.errs.String())
}

func TestAgentsOfAnotherVersionGetNoFabric(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	url := keepingServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended, began := make(chan error, 1), make(chan string, 1)
	go func() {
		ended <- cluster.RunAgent(ctx, cluster.AgentConfig{
			Name: "other", URL: url, Version: bus.Build{Protocol: 99}, Room: cluster.Room{Ports: 1000, Cores: 1},
			Run:  func(context.Context, host.Spec, func()) error { return nil },
			Note: func(s string) { began <- s },
		})
	}()
	<-began
	refused(t, "cluster: agent other on host ? is of version 99.0.0, and this fabricd of 5.0.0: run the same version on "+
		"all hosts",
		"up", "--topology", "kary-ntree:4,3", "--fabric", "lab", "--server", url, "--agents", "all")
	cancel()
	require.NoError(t, <-ended)
}

// A fabric is left running, led on by another that knows only its name, left again, and ended by
// nobody who leads it.
func TestAFabricOnAgentsIsLeftLedOnAndEnded(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	for _, release := range natstest.Releases {
		t.Run(string(release), func(t *testing.T) {
			leftLedOnAndEnded(t, natstest.Start(t, release, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL)
		})
	}
}

// runsAlready is why a fabric on agents is not led with another topology.
const runsAlready = "fabric lab runs on agents already, and is kary-ntree:2,2: leave --topology away to lead it, end " +
	"it with fabricd down, or choose another --fabric"

func leftLedOnAndEnded(t *testing.T, url string) {
	ownRegistry(t)
	for _, name := range []string{"h1", "h2"} {
		startAgent(t, url, name, "--memory", "128MiB", "--cores", "1")
	}
	at := []string{"--fabric", "lab", "--server", url}
	up := func(args ...string) *running {
		t.Helper()
		r := begin(t, append(append([]string{"up", "--listen", "off", "--detach"}, at...), args...)...)
		r.out.Await(t, "Ctrl-C drains")
		return r
	}
	r := up("--agents", "all", "--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1")
	head, _, _ := strings.Cut(r.out.String(), "Ctrl-C")
	require.Equal(t, `fabric lab: kary-ntree:2,2, 4 switches, 4 NICs, 8 links, adaptive-link, up in ?s
on 2 agents: 2 of 4 links between switches cross hosts (50%), and 50% of the hops of uniform traffic, 0.67 a packet
  h1               2 switches      2 NICs       8 ports
  h2               2 switches      2 NICs       8 ports
links are NATS subjects at nats://127.0.0.1:? (not ours: its owner says who may do what, and the ends of a link enforce cuts)
cut a link from another terminal:   linkmon --fabric lab cut s0.0 s1.0
bring it back:                      linkmon --fabric lab heal --all
see what happens:                   linkmon --fabric lab events --follow
`, freePort.ReplaceAllString(timeless(head), "$1?"))
	_, errs, code := fabricd(t, append([]string{"down"}, at...)...)
	require.Equal(t, 2, code)
	require.Regexp(t, `process \d+ on host .* leads fabric lab: end it there with Ctrl-C`, errs)
	e, err := registry.Find("lab")
	require.NoError(t, err)
	c, err := api.Dial(e, "test", true)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	require.NoError(t, err)
	carries(t, c)
	require.Regexp(t,
		`\nfabric lab goes on: lead it again with fabricd up --fabric lab, end it with fabricd down --fabric lab\n$`,
		r.end(t))

	refused(t, runsAlready, append([]string{"up", "--topology", "kary-ntree:4,3"}, at...)...)
	r = up()
	st, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"s0.0-s1.0"}, st.LinksCut)
	require.Greater(t, st.Totals.Delivered, uint64(20), "what was counted before counts")
	carries(t, c)
	r.end(t)

	// What the next leader would go on from: incident 1 is the cut, in force.
	text, _, code := fabricd(t, append([]string{"state", "--json"}, at...)...)
	require.Zero(t, code)
	var kept upcmd.Checkpoint
	require.NoError(t, json.Unmarshal([]byte(text), &kept))
	require.NotZero(t, kept.Term)
	require.Len(t, kept.State.Hosts, 2)
	require.Len(t, kept.Ledger.Hosts, 2)
	require.Equal(t, "s0.0-s1.0", kept.Ledger.Incidents[0].Target)
	require.True(t, kept.Ledger.Incidents[0].Active())
	require.Greater(t, kept.Sums.Delivered, uint64(20))
	text, _, code = fabricd(t, append([]string{"state"}, at...)...)
	require.Zero(t, code)
	require.Regexp(t, `^fabric lab, term \d+: 2 hosts, 1 faults in force, 1 reports, at .*\n`+
		`injected \d+, delivered \d+, lost \d+, discarded 0, in flight \d+\n(host \d, incarnation \d+\.\d: alive since .*, holds \d+ packets\n){2}$`, text)

	said, _, code := fabricd(t, append([]string{"down"}, at...)...)
	require.Zero(t, code)
	require.Equal(t,
		"fabric lab is ended: kary-ntree:2,2, which ran on h1, h2\nits ledger was not checked: nobody led it; "+
			"to check a ledger, lead the fabric with fabricd up and end it with Ctrl-C\n", said)
	refused(t, "no fabric lab is written down at this server: fabrics on agents only are; others begin and end with "+
		"their fabricd up",
		append([]string{"down"}, at...)...)
	list, _, _ := fabricd(t, "agents", "--server", url)
	require.Equal(t, 2, strings.Count(list, "; runs nothing\n"), list)
}

// A leader that is killed in the middle of beginning, or of ending, leaves nothing behind that the
// next one stumbles over.
func TestAFabricOnAgentsWhoseStartWasBrokenOff(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	url := keepingServer(t)
	agent := startAgent(t, url, "h1", "--memory", "128MiB")
	args := []string{
		"up", "--listen", "off", "--detach", "--fabric", "lab", "--server", url, "--agents", "h1", "--topology",
		"kary-ntree:2,2", "--traffic", "uniform:0.1",
	}

	// Killed before anything was written down: who has stood by begins.
	store, err := bus.OpenStore(t.Context(), bus.StoreConfig{Fabric: "lab", URL: url})
	require.NoError(t, err)
	defer store.Close()
	_, err = cluster.Campaign(t.Context(),
		cluster.CampaignConfig{Store: store, Me: cluster.Leader{ID: "x", Host: "gone", PID: 1}})
	require.NoError(t, err)
	r := begin(t, args...)
	r.out.Await(t, "standing by: process 1 on host gone leads fabric lab")
	r.out.Await(t, "Ctrl-C drains")

	// Another topology is refused at once, not when it is its turn; of other flags it is said that
	// they change nothing.
	refused(t, runsAlready, "up", "--fabric", "lab", "--server", url, "--topology", "kary-ntree:4,3")
	other := begin(t, "up", "--fabric", "lab", "--server", url, "--traffic", "uniform:0.7", "--method", "auto",
		"--listen", "off")
	other.out.Await(t, "standing by")
	require.Equal(t, "fabricd: fabric lab is there already, with --traffic uniform:0.1: these flags do not change it; "+
		"end it with fabricd down to begin it anew\n", other.errs.String())
	other.end(t)
	r.end(t)

	// Killed when the hosts were there, and nothing was known of them yet.
	require.NoError(t, store.Delete(t.Context(), "state"))
	r = begin(t, args...)
	r.out.Await(t, "Ctrl-C drains")
	require.Equal(t, "fabricd: who began fabric lab was ended before it was up: made anew on h1\n", r.errs.String())
	require.Regexp(t, `host \d+\.1 of fabric lab has ended: it was made for a leader that has ended since\n`,
		agent.out.String())
	r.end(t)

	// Killed in the middle of ending it.
	require.NoError(t, store.Delete(t.Context(), "fabric"))
	r = begin(t, args...)
	r.out.Await(t, "Ctrl-C drains")
	require.Regexp(t, `\nagent h1: host \d+\.1 of fabric lab has ended: a new fabric of this name begins\n`,
		agent.out.String())
	require.Empty(t, r.errs.String())
	r.out.Await(t, " traffic uniform:0.1\n") // else it began, and did not go on
	r.end(t)
	_, _, code := fabricd(t, "down", "--fabric", "lab", "--server", url)
	require.Zero(t, code)

	attack.Count(t, "a leader on agents killed in the middle of beginning and ending", 3)

	// Interrupted while it begins.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var quiet, why rig.Output
	require.Zero(t, run(ctx, &quiet, &why, args...))
	require.Equal(t, "fabricd: interrupted before fabric lab was up: nothing of it is left\n", why.String())
	_, there, err := cluster.StateStore{Store: store}.Desired(t.Context())
	require.NoError(t, err)
	require.False(t, there)
}

// With the keys that fabricd auth init makes: TLS, an agent that may be asked and no more, hosts
// with credentials that the leader issues.
func TestAFabricOnAgentsWithKeys(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	dir := filepath.Join(t.TempDir(), "keys")
	port, route := rig.FreePort(t, "127.0.0.1"), rig.FreePort(t, "127.0.0.1")
	_, errs, code := fabricd(t, "auth", "init", "--fabric", "lab", "--dir", dir, "--hosts", "h1=127.0.0.1", "--port",
		strconv.Itoa(port), "--cluster-port", strconv.Itoa(route))
	require.Zero(t, code, errs)
	host := filepath.Join(dir, "hosts", "h1")
	natstest.StartIn(t, natstest.Newest, host, "127.0.0.1", port)
	url := fmt.Sprintf("tls://127.0.0.1:%d", port)
	startAgent(t, url, "h1", "--auth", host, "--memory", "128MiB")
	up := begin(t, "up", "--fabric", "lab", "--agents", "all", "--auth", filepath.Join(dir, "leader"), "--server", url,
		"--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1", "--listen", "off")
	delivers(t, up)
	require.Regexp(t, `ledger: [1-9]\d* injected = \d+ delivered \+ 0 lost \+ 0 discarded \+ 0 in flight: balanced`,
		up.end(t))
}
