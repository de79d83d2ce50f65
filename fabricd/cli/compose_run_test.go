package cli_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// composed runs the services of a compose file as processes, each at an address of its own, and
// starts again what ends, as "restart: unless-stopped" does.
type composed struct {
	services  map[string]composeService
	address   map[string]string // of each service
	store     string
	processes map[string]*rig.Process
}

// serverName is a NATS server in an address of the compose file.
var serverName = regexp.MustCompile(`//(nats\d)\b`)

func (c *composed) start(t *testing.T, name string) {
	t.Helper()
	s := c.services[name]
	here := strings.NewReplacer("0.0.0.0", c.address[name], "/etc/nats/nats.conf", filepath.Join(deployments, "nats.conf"),
		"/data", filepath.Join(c.store, name))
	given := func(text string) string {
		text = composeVariable.ReplaceAllString(text, "mport-tree:4,3")
		text = here.Replace(text)
		return serverName.ReplaceAllStringFunc(text, func(m string) string { return "//" + c.address[m[2:]] })
	}
	program, err := natstest.Program(natstest.Newest)
	if s.Image == image {
		program, err = filepath.Join(builtCommands(t), "fabricd"), nil
	}
	require.NoError(t, err)
	cmd := exec.Command(program)
	for _, arg := range s.Command {
		cmd.Args = append(cmd.Args, given(arg))
	}
	cmd.Env = os.Environ()
	for key, value := range s.Environment {
		cmd.Env = append(cmd.Env, key+"="+given(value))
	}
	c.processes[name] = rig.Run(t, cmd)
}

// until waits for a command to succeed and print a text.
func (c *composed) until(t *testing.T, what string, args ...string) {
	t.Helper()
	rig.Until(t, func() bool {
		for _, name := range slices.Sorted(maps.Keys(c.processes)) {
			if c.processes[name].Ended() {
				c.start(t, name)
			}
		}
		out, err := exec.Command(filepath.Join(builtCommands(t), args[0]), args[1:]...).CombinedOutput()
		return err == nil && strings.Contains(string(out), what)
	}, "%v says %q", args, what)
}

// What compose-cluster.yaml starts is one fabric over three agents, which outlives one of them.
func TestTheComposeClusterOutlivesAnAgent(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	if runtime.GOOS != "linux" {
		t.Skip("needs many addresses of the loopback, which only Linux has by itself")
	}
	c := &composed{
		services: readCompose(t, "compose-cluster.yaml").Services, address: map[string]string{}, store: t.TempDir(),
		processes: map[string]*rig.Process{},
	}
	for i, name := range slices.Sorted(maps.Keys(c.services)) {
		c.address[name] = fmt.Sprintf("127.77.0.%d", i+1)
	}
	for name := range c.services {
		c.start(t, name)
	}
	server := "nats://" + c.address["nats1"] + ":4222"
	c.until(t, "agent3", "fabricd", "agents", "--server", server, "--names", "agent1,agent2,agent3")
	linkmon := []string{"linkmon", "--fabric", "lab", "--server", server}
	c.until(t, "all links are well", append(linkmon, "links", "--down")...) // an agent lost before then is the end of it
	status := append(linkmon, "status")
	lost := c.processes["agent2"]
	delete(c.processes, "agent2")
	lost.Kill()
	c.until(t, "crashed   s", status...)
	c.start(t, "agent2") // it gets its switches back
	c.until(t, "crashed   none", status...)
}
