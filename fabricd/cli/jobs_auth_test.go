package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// Agents have the credentials of their hosts, orders those of the leader; others give none.
func TestJobsAreForWhoHasTheCredentials(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	g := guardedSite(t)
	for _, h := range g.hosts[:2] {
		p := g.start(h, filepath.Join(g.bin, "fabricd"), "agent", "--work-only", "--name", h.name, "--jobs", "1",
			"--auth", g.copy("hosts/"+h.name), "--server", g.server)
		p.Says("computes 1 piece")
	}
	order := []string{"tolerate", "--topology", "torus:3x3x3", "--mechanisms", "I+D", "--faults", "2", "--json"}
	on := append(order, "--on", "all", "--server", g.server)
	leader := []string{"--auth", g.copy("leader"), "--server", g.server}
	said := g.fabricd(0, append(on, "--auth", leader[1])...)
	require.Contains(t, untimed(said), untimed(g.fabricd(0, order...)))
	require.Contains(t, g.fabricd(0, append([]string{"job", "list"}, leader...)...), " done ")
	require.Contains(t, g.fabricd(2, append(on, "--auth", g.copy("users/viewer"))...), "not permitted to publish")
	g.fabricd(2, on...)
}
