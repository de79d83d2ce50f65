package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/outside"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/part"
)

// keepingServer is a NATS server with JetStream as others run it.
func keepingServer(t *testing.T) string {
	t.Helper()
	return outside.Start(t, outside.Newest, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL
}

// background runs a command until the test or stop ends it, with 0.
func background(t *testing.T, args ...string) (out *buffer, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, errs, code := &buffer{}, &buffer{}, make(chan int, 1)
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
	return out, stop
}

// startAgent is fabricd agent in this process, once it offers room.
func startAgent(t *testing.T, url, name string, args ...string) (out *buffer, stop func()) {
	t.Helper()
	out, stop = background(t, append([]string{"agent", "--server", url, "--name", name}, args...)...)
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
			Name: "other", URL: url, Version: cluster.Version{Protocol: 99}, Room: cluster.Room{Ports: 1000, Cores: 1},
			Run:  func(context.Context, part.Charter, func()) error { return nil },
			Note: func(s string) { began <- s },
		})
	}()
	<-began
	refused(t, "is of version 99.0.0, and this fabricd of 1.0.0", up(url, "all")...)
	cancel()
	require.NoError(t, <-ended)

	refused(t, "no fabric lab is written down at this server", "down", "--name", "lab", "--server", url)
	refused(t, "no fabric none is written down at this server", "down", "--name", "none", "--server", url)
	_, errs, code := fabricd(t, "down", "--name", "lab", "--server", plain)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "start nats-server with -js")
}
