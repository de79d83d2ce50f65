//go:build linux

package cli

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// forPrograms is a fabric, in a registry of the test, whose NICs programs can have.
func forPrograms(t *testing.T, topology string, options ...harness.Option) *harness.Harness {
	t.Helper()
	h, _ := servePrograms(t, topology, options...)
	return h
}

func servePrograms(t *testing.T, topology string, options ...harness.Option) (*harness.Harness, *namespace.Server) {
	t.Helper()
	ownRegistry(t)
	h := harness.New(t, topology, append(options, harness.Patience(rig.Patience))...)
	s, err := namespace.Serve(namespace.Config{
		Fabric: "progs", Host: namespace.Local, Names: h.Topology().NICNames(), NIC: h.Fabric().LocalNIC,
		Where: func(weft.NICID) string { return namespace.Local },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	n, err := namespace.Open(ctx, namespace.Options{Fabric: "progs", NIC: h.Topology().NICs[0].Name})
	if err != nil {
		testenv.Missing(t, "programs need a network: %v", err)
	}
	require.NoError(t, n.Close())
	return h, s
}

// asProcess starts linkmon as a process.
func asProcess(t *testing.T, args ...string) *rig.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asLinkmon+"=1")
	return rig.Run(t, cmd)
}

// cutUntil cuts links between switches and mends them, in turn, at least so many and until p has
// ended.
func cutUntil(h *harness.Harness, p *rig.Process, least int) (cuts int) {
	var links []topology.Link
	for _, l := range h.Topology().Links {
		if l.BetweenSwitches() {
			links = append(links, l)
		}
	}
	draw := rand.New(rand.NewPCG(h.Seed(), 7))
	for ; cuts < least || !p.Ended(); cuts++ {
		l := links[draw.IntN(len(links))]
		a, b := h.Topology().Name(l.A.Node), h.Topology().Name(l.B.Node)
		h.Cut(a, b)
		h.Restore(a, b)
	}
	return cuts
}

// balanced checks that every packet is accounted for, and that what they carried is freed.
func balanced(t *testing.T, h *harness.Harness) fabric.Ledger {
	t.Helper()
	l := h.Quiesce()
	require.True(t, l.Balanced, "%+v", l)
	require.Positive(t, l.Delivered)
	require.Zero(t, h.Fabric().LocalNIC(0).Payloads().Held())
	return l
}

// A connection of iperf3 survives while links are cut and mended.
func TestIperfSurvivesCuts(t *testing.T) {
	testenv.Need(t, "iperf3", "iperf3")
	tree, last := "kary-ntree:2,3", "n111"
	if testenv.Full() {
		tree, last = "kary-ntree:4,3", "n333"
	}
	h := forPrograms(t, tree, live.OverNATS())
	server := asProcess(t, "exec", last, "--", "iperf3", "--server", "--one-off", "--forceflush")
	server.Says("Server listening")
	client := asProcess(t, "exec", h.Topology().NICs[0].Name, "--", "iperf3", "--client", last, "--time",
		strconv.Itoa(testenv.N(10, 2)), "--json")
	cutUntil(h, client, 20)
	require.Zero(t, client.Cmd.ProcessState.ExitCode(), client.Out.String())
	var said struct {
		End struct {
			Received struct {
				Bytes int `json:"bytes"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	require.NoError(t, json.Unmarshal([]byte(client.Out.String()), &said), client.Out.String())
	require.Greater(t, said.End.Received.Bytes, 100_000, client.Out.String())
	require.Regexp(t, `n\d+ .* [\d.]+m?s +ended`, ok(t, "connections"))
	code, _ := server.Ends()
	require.Zero(t, code)
	balanced(t, h)
}

// What MPI computes over NICs is right while links are cut.
func TestMPIComputesRightWhileLinksAreCut(t *testing.T) {
	for name, of := range map[string]struct{ compiler, launcher, from string }{
		"Open MPI": {"mpicc.openmpi", "mpirun.openmpi", "openmpi-bin and libopenmpi-dev"},
		"MPICH":    {"mpicc.mpich", "mpirun.mpich", "mpich and libmpich-dev"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Long(t)
			testenv.Unraced(t)
			program := filepath.Join(t.TempDir(), "allreduce")
			out, err := exec.Command(testenv.Need(t, of.compiler, of.from), "-O2", "-o", program,
				"../../scenarios/programs/allreduce.c").CombinedOutput()
			require.NoError(t, err, "%s", out)
			h := forPrograms(t, "kary-ntree:4,2")
			p := asProcess(t, "mpirun", "-n", "16", "--launcher", of.launcher, "--", program, "5")
			p.Says("steps/s")
			ends := make(chan struct{})
			go func() {
				defer close(ends)
				p.Says("on 16 ranks")
				if name == "MPICH" { // Debian's at times stays in MPI_Finalize for ever, on any network
					_ = p.Cmd.Process.Signal(os.Interrupt)
				}
			}()
			cuts := cutUntil(h, p, 100)
			<-ends
			require.Contains(t, p.Out.String(), "on 16 ranks, all sums right")
			if name != "MPICH" {
				require.Zero(t, p.Cmd.ProcessState.ExitCode())
			}
			t.Logf("%d cuts; %+v", cuts, balanced(t, h))
		})
	}
}

func TestWhatExecAndMpirunRefuse(t *testing.T) {
	ownRegistry(t)
	for want, args := range map[string][]string{
		"fabricd up":     {"exec", "n00", "--", "true"},
		"1280 to 9000":   {"exec", "--mtu", "100", "n00", "--", "true"},
		"name a program": {"exec", "--", "n00"},
		"--readonly":     {"--readonly", "exec", "n00", "true"},
		"--ranks":        {"mpirun", "-n", "0", "--", "true"},
	} {
		_, errs, code := linkmon(t, args...)
		require.Equal(t, 2, code, "%v", args)
		require.Contains(t, errs, want, "%v", args)
	}
	forPrograms(t, "kary-ntree:2,2")
	for want, args := range map[string][]string{
		`"n00"`:             {"exec", "n0", "--", "true"},
		"--launcher":        {"mpirun", "-n", "2", "--launcher", "no-such-mpirun", "--", "true"},
		"neither":           {"mpirun", "-n", "2", "--launcher", "true", "--", "true"},
		"no-such-program":   {"exec", "n00", "--", "no-such-program"},
		`unknown NIC "n22"`: {"mpirun", "-n", "2", "--nics", "n00,n22", "--", "true"},
	} {
		_, errs, code := linkmon(t, args...)
		require.Equal(t, 2, code, "%v", args)
		require.Contains(t, errs, want, "%v: %s", args, errs)
	}
}

// Launchers start an agent with a NIC and a line of the shell.
func TestAsAnAgentItTakesALineOfTheShell(t *testing.T) {
	forPrograms(t, "kary-ntree:2,2")
	cmd := exec.Command(os.Args[0], "n01", "A=b;", "export", "A;", `echo "$A"`, "$(hostname)", "$"+asAgent+";", "exit 7")
	cmd.Env = append(os.Environ(), asLinkmon+"=1", asAgent+"=progs")
	out, err := cmd.Output()
	require.Equal(t, "b n01", strings.TrimSpace(string(out)), "%v", err)
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
}
