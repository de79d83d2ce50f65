package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/outside"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/attack"
)

// keepingServer is a NATS server with JetStream as others run it.
func keepingServer(t *testing.T) string {
	t.Helper()
	return outside.Start(t, outside.Newest, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL
}

// background runs a command until the test or stop ends it, with 0.
func background(t *testing.T, args ...string) (out, errs *buffer, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, errs = &buffer{}, &buffer{}
	code := make(chan int, 1)
	go func() { code <- run(ctx, out, errs, args...) }()
	done := false
	stop = func() {
		t.Helper()
		if cancel(); done {
			return
		}
		done = true
		select {
		case c := <-code:
			require.Zero(t, c, "%v: %s", args, errs)
		case <-time.After(patience):
			t.Fatalf("%v does not end", args)
		}
	}
	t.Cleanup(stop)
	return out, errs, stop
}

// startAgent is fabricd agent in this process, once it offers room.
func startAgent(t *testing.T, url, name string, args ...string) (out *buffer, stop func()) {
	t.Helper()
	out, _, stop = background(t, append([]string{"agent", "--server", url, "--name", name}, args...)...)
	require.Eventually(t, func() bool { return out.String() != "" }, patience, time.Millisecond)
	return out, stop
}

func TestAgentsOfferRoomAndAreListed(t *testing.T) {
	url := keepingServer(t)
	refused(t, "no agent answers at nats://127.0.0.1", "agents", "--server", url)
	out, stop := startAgent(t, url, "h1", "--memory", "1GiB", "--cores", "3")
	require.Equal(t, "agent h1: offers room for 30720 ports of switches and NICs (1 GiB, 3 cores)\n", out.String())
	startAgent(t, url, "h2", "--memory", "128MiB", "--switches", "4")
	list, _, code := fabricd(t, "agents", "--server", url)
	require.Zero(t, code)
	require.Regexp(t, `(?m)^h1 .*process \d+: 3 cores, 1 GiB, room for 30720 of 30720 ports; runs nothing$`, list)
	require.Regexp(t, `(?m)^h2 .* room for 2048 of 2048 ports and 4 of 4 switches; runs nothing$`, list)
	list, _, code = fabricd(t, "agents", "--server", url, "--names", "h2", "--json")
	require.Zero(t, code)
	var found []cluster.Status
	require.NoError(t, json.Unmarshal([]byte(list), &found))
	require.Equal(t, 4, found[0].Room.Switches)
	refused(t, `unknown agent "h3": did you mean "h`, "agents", "--server", url, "--names", "h1,h3")
	refused(t, "agent h1: another agent has this name: process ", "agent", "--server", url, "--name", "h1")
	stop()
	refused(t, `unknown agent "h1": did you mean "h2"?`, "agents", "--server", url, "--names", "h1")
}

func TestAnAgentDoesNotWaitForAReader(t *testing.T) {
	url := keepingServer(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	unread, stdout := io.Pipe()
	var errs buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, stdout, &errs, "agent", "--server", url, "--name", "h1", "--memory", "128MiB")
	}()
	require.Eventually(t, func() bool {
		var out, why buffer
		return run(t.Context(), &out, &why, "agents", "--server", url) == 0 && strings.Contains(out.String(), "runs nothing")
	}, patience, 10*time.Millisecond)
	ownRegistry(t)
	out, _, stop := background(t, "up", "--listen", "off", "--name", "lab", "--server", url, "--agents", "h1",
		"--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1")
	require.Eventually(t, func() bool { return regexp.MustCompile(`delivered [1-9]`).MatchString(out.String()) },
		patience, 5*time.Millisecond, "%s", out)
	stop()
	interrupt()
	require.Zero(t, <-code, errs.String())
	require.Regexp(t, `\d messages on standard output were not read; the last of them:\n`, errs.String())
	require.NoError(t, unread.Close())
}

// What stands in the way of a fabric on agents is said before anything has begun.
func TestAFabricOnAgentsThatCannotBeIsRefused(t *testing.T) {
	ownRegistry(t)
	url := keepingServer(t)
	plain := outside.Start(t, outside.Newest).URL
	up := func(server string, args ...string) []string {
		return append([]string{"up", "--topology", "kary-ntree:4,3", "--name", "lab", "--server", server, "--agents"}, args...)
	}
	refused(t, "hosts meet at a NATS server: name it with --server", "up", "--agents", "all")
	refused(t, "hosts meet at a NATS server: name it with --server", "agent")
	refused(t, "--memory: \"4 apples\" is no amount of memory", "agent", "--server", url, "--memory", "4 apples")
	refused(t, "--name: bus: agent name \"a b\"", "agent", "--server", url, "--name", "a b")
	refused(t, "the broker keeps nothing: it runs without JetStream: a fabric on agents is written down there: start nats-server with -js", up(plain, "all")...)
	small := outside.Start(t, outside.Newest, fmt.Sprintf("jetstream { store_dir: %q, max_file_store: 1MB }", t.TempDir())).URL
	refused(t, "the broker has no room for the 128 MiB that it may take: make some where its store_dir is, or raise max_file_store", up(small, "all")...)
	out, stop := startAgent(t, plain, "h1")
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "; its server runs without JetStream, which keeps what is known of a fabric on agents: unless another of its cluster has it, start nats-server with -js")
	}, patience, time.Millisecond)
	stop()
	refused(t, `--agents "": expected all, or names as h1,h2`, up(url, "")...)
	refused(t, `--agents "h1,,h2": expected all, or names as h1,h2`, up(url, "h1,,h2")...)
	refused(t, "no agent answers at "+url+": start one on each host, as: fabricd agent --server "+url, up(url, "all")...)
	startAgent(t, url, "h1", "--memory", "70MiB") // 192 ports
	refused(t, "too little room on the agents: room for 192 ports of 384 is missing: add agents, or offer more on them\n  h1: room for 192 ports, 192 ports less than its share",
		up(url, "all")...)
	startAgent(t, url, "h2", "--memory", "1GiB", "--switches", "3")
	refused(t, "the switches cannot be shared out so that they fit", up(url, "all")...)
	refused(t, `unknown agent "h4"`, up(url, "h1,h4")...)

	ctx, cancel := context.WithCancel(context.Background())
	ended, began := make(chan error, 1), make(chan string, 1)
	go func() {
		ended <- cluster.RunAgent(ctx, cluster.AgentConfig{
			Name: "other", URL: url, Version: bus.Build{Protocol: 99}, Room: cluster.Room{Ports: 1000, Cores: 1},
			Run:  func(context.Context, host.Charter, func()) error { return nil },
			Note: func(s string) { began <- s },
		})
	}()
	<-began
	refused(t, "is of version 99.0.0, and this fabricd of 2.0.0", up(url, "all")...)
	cancel()
	require.NoError(t, <-ended)

	refused(t, "no fabric lab is written down at this server", "down", "--name", "lab", "--server", url)
	refused(t, "no fabric none is written down at this server", "down", "--name", "none", "--server", url)
	_, errs, code := fabricd(t, "down", "--name", "lab", "--server", plain)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "start nats-server with -js")
}

// A fabric is left running, led on by another that knows only its name, left again, and ended by nobody who leads it.
func TestAFabricOnAgentsIsLeftLedOnAndEnded(t *testing.T) {
	for _, release := range outside.Releases {
		t.Run(string(release), func(t *testing.T) {
			leftLedOnAndEnded(t, outside.Start(t, release, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL)
		})
	}
}

func leftLedOnAndEnded(t *testing.T, url string) {
	ownRegistry(t)
	for _, name := range []string{"h1", "h2"} {
		startAgent(t, url, name, "--memory", "128MiB", "--cores", "1")
	}
	at := []string{"--name", "lab", "--server", url}
	up := func(args ...string) (*buffer, func()) {
		t.Helper()
		out, _, stop := background(t, append(append([]string{"up", "--listen", "off", "--leave"}, at...), args...)...)
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "Ctrl-C drains") }, patience, time.Millisecond)
		return out, stop
	}
	out, stop := up("--agents", "all", "--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1")
	require.Contains(t, out.String(), "\non 2 agents: 2 of 4 links between switches cross hosts (50%), and 50% of the hops of uniform traffic, 0.67 a packet\n"+
		"  h1               2 switches      2 NICs       8 ports\n")
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
	stop()
	require.Contains(t, out.String(), "fabric lab goes on: lead it again with fabricd up --name lab, end it with fabricd down --name lab\n")

	refused(t, "fabric lab runs on agents already, and is kary-ntree:2,2: leave --topology away to lead it",
		append([]string{"up", "--topology", "kary-ntree:4,3"}, at...)...)
	_, stop = up()
	st, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"s0.0-s1.0"}, st.LinksCut)
	require.Greater(t, st.Totals.Delivered, uint64(20), "what was counted before counts")
	carries(t, c)
	stop()

	// What the next leader would go on from: incident 1 is the cut, in force.
	text, _, code := fabricd(t, append([]string{"state", "--json"}, at...)...)
	require.Zero(t, code)
	var kept checkpoint
	require.NoError(t, json.Unmarshal([]byte(text), &kept))
	require.NotZero(t, kept.Term)
	require.Len(t, kept.State.Parts, 2)
	require.Len(t, kept.Ledger.Hosts, 2)
	require.Equal(t, "s0.0-s1.0", kept.Ledger.Incidents[0].Target)
	require.True(t, kept.Ledger.Incidents[0].Active())
	require.Greater(t, kept.Sums.Delivered, uint64(20))
	text, _, code = fabricd(t, append([]string{"state"}, at...)...)
	require.Zero(t, code)
	require.Regexp(t, `^fabric lab, term \d+: 2 parts, 1 faults in force, 1 reports`, text)
	require.Contains(t, text, ": alive since ")

	said, _, code := fabricd(t, append([]string{"down"}, at...)...)
	require.Zero(t, code)
	require.Contains(t, said,
		"fabric lab is ended: kary-ntree:2,2, which ran on h1, h2\nits ledger was not checked: nobody led it")
	refused(t, "no fabric lab is written down at this server", append([]string{"down"}, at...)...)
	list, _, _ := fabricd(t, "agents", "--server", url)
	require.Equal(t, 2, strings.Count(list, "; runs nothing\n"), list)
}

// A leader that is killed in the middle of beginning, or of ending, leaves nothing behind that the next one stumbles over.
func TestAFabricOnAgentsWhoseStartWasBrokenOff(t *testing.T) {
	ownRegistry(t)
	url := keepingServer(t)
	agent, _ := startAgent(t, url, "h1", "--memory", "128MiB")
	args := []string{
		"up", "--listen", "off", "--leave", "--name", "lab", "--server", url, "--agents", "h1", "--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1",
	}
	isUp := func(out *buffer) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "Ctrl-C drains") }, patience, time.Millisecond)
	}

	// Killed before anything was written down: who has stood by begins.
	store, err := bus.OpenStore(t.Context(), bus.StoreConfig{Fabric: "lab", URL: url})
	require.NoError(t, err)
	defer store.Close()
	_, err = cluster.Campaign(t.Context(), cluster.CampaignConfig{Store: store, Me: cluster.Leader{ID: "x", Host: "gone", PID: 1}})
	require.NoError(t, err)
	out, _, stop := background(t, args...)
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "standing by: process 1 on host gone leads fabric lab")
	}, patience, time.Millisecond)
	isUp(out)

	// Another topology is refused at once, not when it is its turn; of other flags it is said that they change nothing.
	refused(t, "fabric lab runs on agents already, and is kary-ntree:2,2", "up", "--name", "lab", "--server", url, "--topology", "kary-ntree:4,3")
	other, said, leave := background(t, "up", "--name", "lab", "--server", url, "--traffic", "uniform:0.7", "--manager", "auto", "--listen", "off")
	require.Eventually(t, func() bool { return strings.Contains(other.String(), "standing by") }, patience, time.Millisecond)
	require.Equal(t, "fabricd: fabric lab is there already, with --traffic uniform:0.1: these flags do not change it; end it with fabricd down to begin it anew\n", said.String())
	leave()
	stop()

	// Killed when the parts were there, and nothing was known of them yet.
	require.NoError(t, store.Delete(t.Context(), "state"))
	out, errs, stop := background(t, args...)
	isUp(out)
	require.Contains(t, errs.String(), "fabricd: who began fabric lab was ended before it was up: made anew on h1\n")
	require.Regexp(t, `part \d+\.1 of fabric lab has ended: it was made for a leader that has ended since\n`, agent.String())
	stop()

	// Killed in the middle of ending it.
	require.NoError(t, store.Delete(t.Context(), "fabric"))
	out, errs, stop = background(t, args...)
	isUp(out)
	require.Contains(t, agent.String(), "has ended: a new fabric of this name begins\n")
	require.NotContains(t, errs.String(), "made anew")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), " traffic uniform:0.1\n") }, patience, time.Millisecond, "it began, and did not go on")
	stop()
	_, _, code := fabricd(t, "down", "--name", "lab", "--server", url)
	require.Zero(t, code)

	attack.Count(t, "a leader on agents killed in the middle of beginning and ending", 3)

	// Interrupted while it begins.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var quiet, why buffer
	require.Zero(t, run(ctx, &quiet, &why, args...))
	require.Equal(t, "fabricd: interrupted before fabric lab was up: nothing of it is left\n", why.String())
	_, there, err := cluster.Book{Store: store}.Desired(t.Context())
	require.NoError(t, err)
	require.False(t, there)
}

// With the keys that fabricd auth init makes: TLS, an agent that may be asked and no more, parts with credentials that the leader issues.
func TestAFabricOnAgentsWithKeys(t *testing.T) {
	ownRegistry(t)
	dir := filepath.Join(t.TempDir(), "keys")
	port, route := freePort(t, "127.0.0.1"), freePort(t, "127.0.0.1")
	_, errs, code := fabricd(t, "auth", "init", "--fabric", "lab", "--dir", dir, "--hosts", "h1=127.0.0.1", "--port", strconv.Itoa(port), "--cluster-port", strconv.Itoa(route))
	require.Zero(t, code, errs)
	program, err := outside.Program(outside.Newest)
	require.NoError(t, err)
	host := filepath.Join(dir, "hosts", "h1")
	server := exec.Command(program, "-c", "nats.conf")
	server.Dir = host
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed
	})
	url := fmt.Sprintf("tls://127.0.0.1:%d", port)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, patience, 5*time.Millisecond)
	startAgent(t, url, "h1", "--auth", host, "--memory", "128MiB")
	out, _, stop := background(t, "up", "--name", "lab", "--agents", "all", "--auth", filepath.Join(dir, "leader"), "--server", url,
		"--topology", "kary-ntree:2,2", "--traffic", "uniform:0.1", "--listen", "off")
	require.Eventually(t, func() bool { return regexp.MustCompile(`delivered [1-9]`).MatchString(out.String()) }, patience, 5*time.Millisecond, "%s", out)
	stop()
	require.Regexp(t, `ledger: [1-9]\d* injected = \d+ delivered \+ 0 lost \+ 0 discarded \+ 0 in flight: balanced`, out.String())
}
