package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/rig"
)

// site is three hosts, each with a NATS server of one cluster: addresses of the loopback interface,
// or network namespaces.
type site struct {
	t       *testing.T
	bin     string // folder of our commands
	program string // the NATS server
	hosts   []*siteHost
	// cut parts one host from the others, and heal takes it back. What runs on it reaches what else
	// runs on it all the time.
	cut, heal func(host int)
}

type siteHost struct {
	name, addr     string
	client, route  int      // ports of its server
	prefix         []string // of a command that is to run there
	routes         []string // to other servers
	advertise, dir string
	cwd            string // of what runs there; empty: ours
	server, agent  *rig.Process
}

// start starts a program on a host.
func (s *site) start(h *siteHost, program string, args ...string) *rig.Process {
	s.t.Helper()
	argv := slices.Concat(h.prefix, []string{program}, args)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "WEFT_RUN_DIR="+filepath.Join(h.dir, "run"), "GOMAXPROCS=2")
	cmd.Dir = h.cwd
	return rig.Run(s.t, cmd)
}

// servers are the addresses of all, that of the host itself first.
func (s *site) servers(own *siteHost) string {
	list := []string{own.url()}
	for _, h := range s.hosts {
		if h != own {
			list = append(list, h.url())
		}
	}
	return strings.Join(list, ",")
}

func (h *siteHost) url() string { return fmt.Sprintf("nats://%s:%d", h.addr, h.client) }

// startServer starts the NATS server of a host, and waits for nothing.
func (s *site) startServer(h *siteHost) {
	s.t.Helper()
	advertise := ""
	if h.advertise != "" {
		advertise = fmt.Sprintf("cluster_advertise: %q,", h.advertise)
	}
	// As deploy/nats.conf has it, with times for tests.
	config := fmt.Sprintf(`server_name: %s
listen: "%s:%d"
ping_interval: "1s"
ping_max: 2
max_pending: 268435456
write_deadline: "30s"
cluster { name: weft, listen: "%s:%d", %s ping_interval: "500ms", routes: [ %s ] }
jetstream { store_dir: %q, max_memory_store: 64MB, max_file_store: 1GB }
`, h.name, h.addr, h.client, h.addr, h.route, advertise, strings.Join(h.routes, ", "), filepath.Join(h.dir, "nats"))
	path := filepath.Join(h.dir, "nats.conf")
	require.NoError(s.t, os.WriteFile(path, []byte(config), 0o600))
	h.server = s.start(h, s.program, "-c", path)
}

func (s *site) startAgent(h *siteHost) {
	s.t.Helper()
	h.agent = s.start(h, filepath.Join(s.bin, "fabricd"), "agent", "--name", h.name, "--server", s.servers(h), "--memory",
		"1GiB", "--cores", "2")
}

// startLeader starts fabricd up on a host. It leads, or stands by.
func (s *site) startLeader(h *siteHost, args ...string) *rig.Process {
	s.t.Helper()
	return s.start(h, filepath.Join(s.bin, "fabricd"),
		append([]string{
			"up", "--fabric", "lab", "--server", s.servers(h), "--listen", "off", "--json", "--hello-interval",
			"400ms",
		}, args...)...)
}

// loopbackSite is three hosts on three addresses of the loopback interface. Servers reach each
// other through relays that can be cut.
func loopbackSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for i := range 3 {
		addr := fmt.Sprintf("127.0.0.%d", i+1)
		s.hosts = append(s.hosts, &siteHost{
			name: fmt.Sprintf("h%d", i+1), addr: addr, client: rig.FreePort(t, addr), route: rig.FreePort(t, addr),
			dir:       t.TempDir(),
			advertise: "127.0.0.1:1", // where nobody is: else they found a way around the relays
		})
	}
	relays := map[int][]*rig.Relay{} // by host
	for i, h := range s.hosts {
		for j, to := range s.hosts {
			if i == j {
				continue
			}
			r := rig.NewRelay(t, fmt.Sprintf("%s:%d", to.addr, to.route))
			h.routes = append(h.routes, "nats://"+r.Address)
			relays[i], relays[j] = append(relays[i], r), append(relays[j], r)
		}
	}
	s.cut = func(host int) {
		for _, r := range relays[host] {
			r.Cut()
		}
	}
	s.heal = func(host int) {
		for _, r := range relays[host] {
			r.Restore()
		}
	}
	return s
}

func newSite(t *testing.T) *site {
	t.Helper()
	program, err := natstest.Program(natstest.Newest)
	require.NoError(t, err)
	return &site{t: t, bin: builtCommands(t), program: program}
}
