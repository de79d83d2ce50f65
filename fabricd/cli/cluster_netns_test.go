package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// insideNamespace has the test binary, started again on the first host, be the test itself; its
// value begins the names of the namespaces.
const insideNamespace = "WEFT_TEST_NAMESPACES"

// The same as on loopback, with hosts that share nothing but a bridge: network namespaces, and a
// clock each, hours apart. Their addresses exist inside them only, so the test runs itself once
// more inside the first.
func TestAFabricOverThreeNetworkNamespacesOutlivesTheirFailures(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	if prefix := os.Getenv(insideNamespace); prefix != "" {
		namespaces(t, prefix).run()
		return
	}
	if os.Getuid() == 0 {
		testenv.Need(t, "ip", "iproute2; on loopback the same failures run without it")
	}
	if why := noNamespaces(); why != "" {
		t.Skip(why + ": the same failures on three loopback addresses are in TestAFabricOverThreeHostsOutlivesTheirFailures")
	}
	prefix := fmt.Sprintf("weft%d", os.Getpid())
	ip(t, "netns", "add", prefix+"sw")
	t.Cleanup(func() { ip(t, "netns", "del", prefix+"sw") })
	inSwitch := func(args ...string) { ip(t, append([]string{"-n", prefix + "sw"}, args...)...) }
	inSwitch("link", "add", "br0", "type", "bridge")
	inSwitch("link", "set", "br0", "up")
	for i := 1; i <= 3; i++ {
		host, port := fmt.Sprintf("%s%d", prefix, i), fmt.Sprintf("p%d", i)
		ip(t, "netns", "add", host)
		t.Cleanup(func() { ip(t, "netns", "del", host) })
		inSwitch("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
		inSwitch("link", "set", port, "master", "br0", "up")
		ip(t, "-n", host, "addr", "add", fmt.Sprintf("10.77.0.%d/24", i), "dev", "eth0")
		ip(t, "-n", host, "link", "set", "eth0", "up")
		ip(t, "-n", host, "link", "set", "lo", "up")
	}
	cmd := exec.Command("ip", "netns", "exec", prefix+"1", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideNamespace+"="+prefix)
	said, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		if err != nil || strings.Contains(line, ": after ") {
			t.Log(strings.TrimSpace(line))
		}
	}
	require.NoError(t, err)
	require.Contains(t, string(said), "--- PASS: "+t.Name())
}

// noNamespaces is why the machine makes no network namespaces, or empty.
var noNamespaces = sync.OnceValue(func() string {
	if os.Getuid() != 0 {
		return "hosts in network namespaces need root"
	}
	name := fmt.Sprintf("weft%dtry", os.Getpid())
	for _, verb := range []string{"add", "del"} {
		if said, err := exec.Command("ip", "netns", verb, name).CombinedOutput(); err != nil {
			return fmt.Sprintf("this machine makes no network namespaces, though we are root: %v: %s", err, said)
		}
	}
	return ""
})

func ip(t *testing.T, args ...string) {
	t.Helper()
	said, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), said)
}

// namespaces is three hosts in namespaces that are there. A host is cut off by taking its port of
// the bridge down.
func namespaces(t *testing.T, prefix string) *site {
	t.Helper()
	s := newSite(t)
	var routes []string
	for i := 1; i <= 3; i++ {
		routes = append(routes, fmt.Sprintf("nats://10.77.0.%d:6222", i))
	}
	for i := 1; i <= 3; i++ {
		s.hosts = append(s.hosts, &siteHost{
			name: fmt.Sprintf("h%d", i), addr: fmt.Sprintf("10.77.0.%d", i), client: 4222, route: 6222, dir: t.TempDir(),
			routes: routes,
			prefix: append([]string{"ip", "netns", "exec", fmt.Sprintf("%s%d", prefix, i)}, clockOf(t, i)...),
		})
	}
	port := func(host int, state string) {
		ip(t, "-n", prefix+"sw", "link", "set", fmt.Sprintf("p%d", host+1), state)
	}
	s.cut = func(host int) { port(host, "down") }
	s.heal = func(host int) { port(host, "up") }
	return s
}

// clockOf begins a command whose monotonic clock is hours apart from those of other hosts: time
// namespaces, which this kernel may not have.
func clockOf(t *testing.T, host int) []string {
	t.Helper()
	apart := []string{"unshare", "--time", fmt.Sprintf("--monotonic=%d", host*5000)}
	ours, err := os.Readlink("/proc/self/ns/time")
	if err == nil {
		var its []byte
		its, err = exec.Command(apart[0], append(apart[1:], "readlink", "/proc/self/ns/time")...).Output()
		if err == nil && strings.TrimSpace(string(its)) != ours {
			return apart
		}
	}
	t.Logf("after no time namespace for host %d (%v) all hosts have one clock", host, err)
	return nil
}
