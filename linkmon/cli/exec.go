package cli

import (
	"errors"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/nic/ip"
)

// execCommand runs a program on a NIC.
func (m *monitor) execCommand() *cobra.Command {
	var mtu int
	var shell bool
	var unit string
	cmd := &cobra.Command{
		Use:   "exec NIC -- PROGRAM [ARGUMENT ...]",
		Short: "Run a program whose packets go through the fabric, by a NIC",
		Long: `exec runs an unmodified program in a network of its own. The program has one interface, weft0, whose
packets the NIC sends and takes: from 10.64.0.0/10 and fd77:6566:74::/64, and /etc/hosts knows all NICs by name.
Programs on one NIC share its network, and all that is left there ends with the last of them.

It runs on Linux, where the NIC is, as the user that runs the fabric; that need not be root where users may make
namespaces.

Exit code: that of the program, or 128 and the number of the signal that ended it; 2 when it cannot be started, or
the fabric ends.`,
		Example: "  linkmon exec n000 -- iperf3 --server --one-off\n  linkmon exec n111 -- iperf3 --client n000\n" +
			"  linkmon exec n000 -- bash",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			nic, args := args[0], args[1:]
			if len(args) > 0 && args[0] == "--" { // flags end before the NIC already
				args = args[1:]
			}
			if len(args) == 0 {
				return errors.New("exec what? name a program after --")
			}
			if mtu != 0 {
				if err := ip.CheckMTU(mtu); err != nil {
					return err
				}
			}
			if shell { // as remote shells take it
				args = []string{"sh", "-c", strings.Join(args, " ")}
			}
			return m.exec(cmd, namespace.Options{Fabric: m.fabric, NIC: nic, MTU: mtu}, args, unit)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.IntVar(&mtu, "mtu", 0,
		"`bytes` of a packet, IP header included; 1500 unless given, or what the NIC's other programs have")
	f.BoolVar(&shell, "shell", false, "have sh run the arguments, as one line: for launchers that expect a remote shell")
	speedFlag(f, &unit, "")
	command.Bound(f, "mtu", 0, ip.MaxMTU)
	return cmd
}

func (m *monitor) exec(cmd *cobra.Command, o namespace.Options, args []string, unit string) error {
	if m.readOnly {
		return errReadOnly
	}
	n, err := namespace.Open(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer func() { _ = n.Close() }()
	return runOn(n, args, os.Environ(), args[0], unit)
}

// runOn runs a program with the input and output of this process, and returns its exit code. The
// page draws how fast the program of a name goes, by the unit; see withSpeed.
func runOn(n *namespace.Namespace, args, env []string, name, unit string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 16) // more at once are not passed on
	signal.Notify(signals, namespace.Signals...)
	defer signal.Stop(signals)
	return withSpeed(n, name, unit, func(out *os.File) error {
		code, err := n.Run(namespace.Command{
			Args: args, Env: env, Dir: dir, Files: [3]*os.File{os.Stdin, out, os.Stderr},
		}, signals)
		if err == nil && code != 0 {
			err = command.Exited(code)
		}
		return err
	})
}
