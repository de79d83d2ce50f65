package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
)

// How long linkmon status, linkmon links and a cut between the other two take while one of three
// hosts is frozen, beside the same with all of them there. The answer alone is what linkmon asks,
// over a connection that is open; the command is a process each time, which starts and connects
// before it asks: linkmon --version only starts. Each question is one iteration; slowest-ms is the
// slowest of them, which for a frozen host is the first: nobody knows yet that it does not answer.
func BenchmarkLinkmonWhileAHostIsFrozen(b *testing.B) {
	bin := builtCommands(b)
	url := natstest.Start(b, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", b.TempDir())).URL
	env := append(os.Environ(), "WEFT_RUN_DIR="+filepath.Join(b.TempDir(), "run"))
	start := func(args ...string) *rig.Process {
		cmd := exec.Command(filepath.Join(bin, "fabricd"), append(args, "--server", url)...)
		cmd.Env = env
		return rig.Run(b, cmd)
	}
	agents := map[string]*rig.Process{}
	for _, name := range []string{"h1", "h2", "h3"} {
		agents[name] = start("agent", "--name", name, "--memory", "1GiB", "--cores", "1")
		agents[name].Says(" room for ")
	}
	const tree = "kary-ntree:4,3"
	start("up", "--fabric", "lab", "--agents", "all", "--listen", "off", "--json", "--topology", tree, "--traffic",
		"uniform:0.02").Says(`{"up":`)
	client, err := api.Dial(registry.Entry{Listed: registry.Listed{Name: "lab", URL: url}}, "benchmark", true)
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close()) }()

	linkmon := func(b *testing.B, args ...string) {
		cmd := exec.Command(filepath.Join(bin, "linkmon"), args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	link := linkBetween(b, client, tree, "h1", "h3")
	all := func(b *testing.B, freeze bool) {
		each := func(name string, do func(b *testing.B), undo func(b *testing.B)) {
			b.Run(name, func(b *testing.B) {
				if freeze {
					agents["h2"].Signal(rig.Freeze)
				}
				slowest := time.Duration(0)
				for b.Loop() {
					began := time.Now()
					do(b)
					slowest = max(slowest, time.Since(began))
					if undo != nil {
						b.StopTimer()
						undo(b)
						b.StartTimer()
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
				agents["h2"].Signal(rig.Thaw)
				rig.Until(b, func() bool {
					st, err := client.Status(b.Context())
					return err == nil && st.Sample.LinksDown == 0 && st.Hosts[1].State == fabric.SwitchUp
				})
			})
		}
		each("answer/status", func(b *testing.B) {
			_, err := client.Status(b.Context())
			require.NoError(b, err)
		}, nil)
		each("answer/links", func(b *testing.B) {
			_, err := client.Links(b.Context())
			require.NoError(b, err)
		}, nil)
		apply := func(do fault.Verb) func(b *testing.B) {
			return func(b *testing.B) {
				_, err := client.Apply(b.Context(), fault.Spec{Do: do, A: link})
				require.NoError(b, err)
			}
		}
		each("answer/cut", apply(fault.VerbCut), apply(fault.VerbRestore))
		each("command/version", func(b *testing.B) { linkmon(b, "--version") }, nil)
		each("command/status", func(b *testing.B) { linkmon(b, "status") }, nil)
		each("command/links", func(b *testing.B) { linkmon(b, "links") }, nil)
		each("command/cut", func(b *testing.B) { linkmon(b, "cut", link) },
			func(b *testing.B) { linkmon(b, "restore", link) })
	}
	b.Run("frozen", func(b *testing.B) { all(b, true) })
	b.Run("there", func(b *testing.B) { all(b, false) })
}

// linkBetween is a link from a switch on one host to one on another.
func linkBetween(b *testing.B, c *api.Client, tree, one, other string) string {
	b.Helper()
	g, err := topology.Parse(tree)
	require.NoError(b, err)
	at := map[string]string{}
	for _, s := range g.Switches {
		d, err := c.Switch(b.Context(), s.Name, false)
		require.NoError(b, err)
		at[s.Name] = d.Process
	}
	for _, l := range g.Links {
		of := [2]string{at[g.Name(l.A.Node)], at[g.Name(l.B.Node)]}
		if of == [2]string{"host " + one, "host " + other} || of == [2]string{"host " + other, "host " + one} {
			return l.Name
		}
	}
	b.Fatalf("no link between %s and %s: %v", one, other, at)
	return ""
}
