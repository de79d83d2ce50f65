package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/namespace"
)

// asAgent has linkmon be the agent by which a launcher of MPI reaches other NICs, in place of a
// remote shell: its value is the fabric, its arguments are a NIC and a line of the shell. Launchers
// take one word as their agent, not a command with flags.
const asAgent = "WEFT_MPI_AGENT"

// agentArgs are the arguments of linkmon as an agent; nil: it is none.
func agentArgs() []string {
	fabric, ok := os.LookupEnv(asAgent)
	if !ok {
		return nil
	}
	_ = os.Unsetenv(asAgent) // programs that it starts are none
	return append([]string{"--fabric", fabric, "exec", "--shell"}, os.Args[1:]...)
}

// mpirunCommand runs programs of MPI.
func (m *monitor) mpirunCommand() *cobra.Command {
	var ranks int
	var nics []string
	var launcher, unit string
	cmd := &cobra.Command{
		Use:   "mpirun -n RANKS -- PROGRAM [ARGUMENT ...]",
		Short: "Run an MPI program, each rank on a NIC",
		Long: `mpirun has the mpirun of Open MPI or MPICH start a program on NICs of the fabric, which see each other
through the fabric alone. Each NIC is a host of its own; linkmon exec takes the place of ssh. Where there are
more ranks than NICs, NICs get several. The page draws how many steps a second the program prints, see --rate.

Arguments before the program that begin with - are given to that mpirun. Exit code: that of mpirun; 2 when it cannot be
started.`,
		Example: "  linkmon mpirun -n 16 -- ./allreduce\n" +
			"  linkmon mpirun -n 4 --nics n000,n111,n222,n333 --launcher mpirun.mpich -- ./allreduce",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.readOnly {
				return errReadOnly
			}
			return m.mpirun(cmd.Context(), launcher, ranks, nics, args, unit)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.IntVarP(&ranks, "ranks", "n", 1, "how many ranks there are")
	f.StringSliceVar(&nics, "nics", nil,
		"the `NICs` to use, as n000,n111; as many as there are ranks, spread over all, unless given")
	f.StringVar(&launcher, "launcher", "mpirun", "the mpirun to start, of Open MPI or MPICH, as mpirun.mpich")
	speedFlag(f, &unit, "steps/s")
	command.Bound(f, "ranks", 1, command.MaxCount)
	return cmd
}

func (m *monitor) mpirun(ctx context.Context, launcher string, ranks int, nics, args []string, unit string) error {
	all, fabric, err := namespace.NICs(ctx, m.fabric)
	if err != nil {
		return err
	}
	if len(nics) == 0 {
		nics = spread(all, ranks)
	}
	for _, nic := range nics {
		if !slices.Contains(all, nic) {
			return document.Unknown("NIC", nic, all)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	of, err := launcherOf(ctx, launcher)
	if err != nil {
		return err
	}
	// All namespaces are there before and after, so none is inside another.
	open := make([]*namespace.Namespace, len(nics))
	defer func() {
		for _, n := range open {
			if n != nil {
				_ = n.Close()
			}
		}
	}()
	var g errgroup.Group
	g.SetLimit(8)
	for i, nic := range nics {
		g.Go(func() (err error) {
			open[i], err = namespace.Open(ctx, namespace.Options{Fabric: fabric, NIC: nic})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	env := append(os.Environ(), asAgent+"="+fabric)
	env = append(env, of.env(self)...)
	return runOn(open[0], slices.Concat([]string{launcher}, of.args(ranks, nics), args), env, programIn(args), unit)
}

// programIn is the program among arguments of an mpirun, whose own come before: the first that can
// be started.
func programIn(args []string) string {
	for _, a := range args {
		if _, err := exec.LookPath(a); err == nil && !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return args[0]
}

// spread are n NICs, or all, far from each other by number.
func spread(all []string, n int) (list []string) {
	n = min(n, len(all))
	for i := range n {
		list = append(list, all[i*len(all)/n])
	}
	return list
}

// mpi is how a launcher of MPI is told what to use. All ranks share this machine, which it does not
// know, so none is bound to a core.
type mpi struct {
	env  func(agent string) []string
	args func(ranks int, nics []string) []string
}

var openMPI = mpi{
	env: func(agent string) []string {
		return []string{
			"OMPI_MCA_plm_rsh_agent=" + agent, "OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_MCA_hwloc_base_binding_policy=none",
			"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_mpi_yield_when_idle=1",
			"OMPI_MCA_oob_tcp_if_include=" + namespace.Interface, "OMPI_MCA_btl_tcp_if_include=" + namespace.Interface,
			"OMPI_MCA_btl=self,tcp", "OMPI_MCA_pml=ob1",
			"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
			// of version 5
			"PRTE_MCA_plm_ssh_agent=" + agent, "PRTE_MCA_plm_ssh_no_tree_spawn=1",
			"PRTE_MCA_hwloc_default_binding_policy=none", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
			"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		}
	},
	args: func(ranks int, nics []string) []string {
		each := (ranks + len(nics) - 1) / len(nics)
		var hosts []string
		for _, nic := range nics {
			hosts = append(hosts, nic+":"+strconv.Itoa(each))
		}
		return []string{"--host", strings.Join(hosts, ","), "-n", strconv.Itoa(ranks)}
	},
}

var mpich = mpi{
	env: func(agent string) []string {
		return []string{
			"HYDRA_LAUNCHER=rsh", "HYDRA_LAUNCHER_EXEC=" + agent, "HYDRA_IFACE=" + namespace.Interface,
			"UCX_TLS=tcp,self", "UCX_NET_DEVICES=" + namespace.Interface, "FI_PROVIDER=tcp",
			"FI_TCP_IFACE=" + namespace.Interface,
		}
	},
	args: func(ranks int, nics []string) []string {
		return []string{"-hosts", strings.Join(nics, ","), "-n", strconv.Itoa(ranks)}
	},
}

// launcherOf asks a launcher of whom it is.
func launcherOf(ctx context.Context, launcher string) (mpi, error) {
	text, err := exec.CommandContext(ctx, launcher, "--version").CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return mpi{}, fmt.Errorf("there is no %s: install openmpi-bin or mpich, or name another with --launcher",
			launcher)
	case strings.Contains(string(text), "Open MPI") || strings.Contains(string(text), "OpenRTE"):
		return openMPI, nil
	case strings.Contains(string(text), "HYDRA"):
		return mpich, nil
	}
	return mpi{}, fmt.Errorf("%s is neither of Open MPI nor of MPICH: name one that is with --launcher", launcher)
}
