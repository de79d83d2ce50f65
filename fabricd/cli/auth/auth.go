// Package auth is the command fabricd auth: keys, certificates and server configurations of a
// fabric over many hosts.
package auth

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/cli/command"
)

// Command is fabricd auth.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Make the keys, certificates and server configurations of a fabric over many hosts, and rotate them",
		Long: `Makes a folder with all that a fabric over many hosts is protected by: an account of NATS of its own, credentials for each kind of process with
the subjects that it needs and no others, certificates, the configuration of a NATS server for each host, and tokens for the HTTP API.

Copy hosts/HOST to that host, start nats-server -c nats.conf in it, and give it to fabricd agent --auth; give leader to fabricd up --auth.
Keep the rest to yourself. Secrets are in files only, which their user alone can read.`,
	}
	cmd.AddCommand(authInitCommand(), authRotateCommand(), authRevokeCommand(), authTokenCommand())
	return cmd
}

// authInitCommand is fabricd init.
func authInitCommand() *cobra.Command {
	var o auth.Options
	var hosts []string
	var authority string
	cmd := &cobra.Command{
		Use:   "init --fabric NAME --dir FOLDER",
		Short: "Make the folder of keys of a fabric",
		Example: "  fabricd auth init --fabric lab --dir lab-keys --hosts a,b,c\n  fabricd auth init --fabric lab --dir " +
			"lab-keys --hosts a=10.0.0.1,b=10.0.0.2,c=10.0.0.3 --ca ca.pem,ca.key",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range hosts {
				h, err := auth.ParseHost(text)
				if err != nil {
					return err
				}
				o.Hosts = append(o.Hosts, h)
			}
			if authority != "" {
				var ok bool
				if o.CACert, o.CAKey, ok = strings.Cut(authority, ","); !ok {
					return fmt.Errorf("--ca %q: want the files of a certificate and its key, as ca.pem,ca.key", authority)
				}
			}
			d, tokens, err := auth.Init(o)
			if err != nil {
				return err
			}
			defer d.Close()
			told(cmd.OutOrStdout(), o, d, tokens)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Fabric, "fabric", "", "`name` of the fabric")
	f.StringVar(&o.Dir, "dir", "", "`folder` to make")
	f.StringSliceVar(&hosts, "hosts", nil,
		"hosts with a NATS server and an agent, as `a,b,c` or a=10.0.0.1,b=10.0.0.2; without, this machine alone")
	f.StringVar(&authority, "ca", "",
		"`cert,key` of an authority of your own that signs the certificates, two files in PEM; without, one is made")
	f.IntVar(&o.ClientPort, "port", 4222, "port on which the servers take clients")
	f.IntVar(&o.ClusterPort, "cluster-port", 6222, "port on which the servers take each other")
	command.Bound(f, "port", 1, 65535)
	command.Bound(f, "cluster-port", 1, 65535)
	_ = cmd.MarkFlagRequired("fabric") // there are such flags
	_ = cmd.MarkFlagRequired("dir")
	return cmd
}

// told prints what to do with what was made. The tokens are printed here and nowhere else.
func told(out io.Writer, o auth.Options, d *auth.Dir, tokens []auth.NewToken) {
	fmt.Fprintf(out, "Keys of fabric %s are in %s. Keep keys/ to yourself.\n\n", o.Fabric, o.Dir)
	fmt.Fprintf(out,
		"On each host, with its folder of hosts/:   nats-server -c nats.conf   and   fabricd agent --auth . --server %s\n",
		d.URL())
	fmt.Fprintf(out,
		"To lead it, with the folder leader/:       fabricd up --fabric %s --agents all --auth leader --server %s\n",
		o.Fabric, d.URL())
	fmt.Fprintf(out, "To look:                                   linkmon --auth users/viewer --fabric %s --server %s\n\n",
		o.Fabric, d.URL())
	fmt.Fprintln(out, "Tokens for the HTTP API, which nobody can read again:")
	for _, t := range tokens {
		fmt.Fprintf(out, "  %-8s %s\n", t.Name, t.Secret)
	}
}

// authRotateCommand is fabricd rotate.
func authRotateCommand() *cobra.Command {
	var o auth.RotateOptions
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate --dir FOLDER",
		Short: "Make new keys and credentials, give them to what runs, and revoke the old ones, without stopping the fabric",
		Long: `Makes new signing keys and credentials, gives them to the agents and to the leader that run, which gives them to the parts, and then has the
servers take the old ones no more. Connections are opened again: links lose their signal for a moment, and what was on them is lost and counted.
It can be repeated when it was interrupted: until its last step the old credentials hold, too. Certificates that are old are made anew.

Exit codes: 0 all is done; 2 nothing was revoked, or nothing was done.`,
		Example: "  fabricd auth rotate --dir lab-keys",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := auth.Open(dir)
			if err != nil {
				return err
			}
			defer d.Close()
			if !asJSON {
				o.Tell = func(s string) { fmt.Fprintln(cmd.OutOrStdout(), s) }
			}
			out, err := d.Rotate(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return command.JSON(cmd.OutOrStdout(), out)
			}
			rotated(cmd.OutOrStdout(), out)
			return nil
		},
	}
	f := cmd.Flags()
	rotateFlags(cmd, &dir, &o)
	f.BoolVar(&o.Force, "force", false,
		"revoke the old ones also when somebody who runs gets no new ones, and so loses its connections")
	f.BoolVarP(&asJSON, "json", "j", false, "print what came of it as JSON")
	return cmd
}

// rotateFlags are those of all commands that talk to the servers as their operator.
func rotateFlags(cmd *cobra.Command, dir *string, o *auth.RotateOptions) {
	f := cmd.Flags()
	f.StringVar(dir, "dir", "", "`folder` that fabricd auth init has made")
	f.StringVarP(&o.URL, "server", "s", "", "`URL` of a server; without, those of the hosts")
	f.DurationVar(&o.Wait, "wait", 2*time.Second, "`time` in which a server or process that is there answers")
	command.Bound(f, "wait", 100*time.Millisecond, time.Hour)
	_ = cmd.MarkFlagRequired("dir") // there is such a flag
}

// rotated prints what is left to do.
func rotated(out io.Writer, r auth.Rotated) {
	if len(r.Away) > 0 {
		fmt.Fprintf(out, "Away: %s. Their servers hear of it from the others when they are back.\n",
			strings.Join(r.Away, ", "))
	}
	if len(r.Copy) > 0 {
		fmt.Fprintf(out,
			"Nobody was there to take new credentials for: %s. Copy these folders before you start what uses them.\n",
			strings.Join(r.Copy, ", "))
	}
	if len(r.Certificates) > 0 {
		fmt.Fprintf(out,
			"New certificates: %s. Copy these folders and have the servers reload: nats-server --signal reload\n",
			strings.Join(r.Certificates, ", "))
	}
	fmt.Fprintln(out, "People and scripts need the new files of users/.")
}

// authRevokeCommand is fabricd revoke.
func authRevokeCommand() *cobra.Command {
	var o auth.RotateOptions
	var dir string
	cmd := &cobra.Command{
		Use:   "revoke --dir FOLDER USER|KEY",
		Short: "Have the servers let in no more who has the credentials of a user, given by name or by public key",
		Example: "  fabricd auth revoke --dir lab-keys operator\n  fabricd auth revoke --dir lab-keys agent-b\n" +
			"  fabricd auth revoke --dir lab-keys UDXB5XO2PL3TBQRX4NEUO4SLZCEUSEKFVNZ3G2XTAKCWFEEUGLL2V6UR",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := auth.Open(dir)
			if err != nil {
				return err
			}
			defer d.Close()
			keys, took, err := d.Revoke(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is let in no more by %s (keys: %s)\n", args[0], strings.Join(took, ", "),
				strings.Join(keys, ", "))
			return nil
		},
	}
	rotateFlags(cmd, &dir, &o)
	return cmd
}

// authTokenCommand is fabricd token.
func authTokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Make and take back tokens for the HTTP API"}
	var file, role string
	add := &cobra.Command{
		Use:     "add --file FILE NAME",
		Short:   "Make a token and print it, once",
		Example: "  fabricd auth token add --file leader/tokens.json --role view grafana",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := auth.ParseAccess(role)
			if err != nil {
				return fmt.Errorf("--role: %w", err)
			}
			t, err := auth.AddToken(file, args[0], a)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), t.Secret)
			return nil
		},
	}
	add.Flags().StringVar(&role, "role", auth.View.String(), "what its bearer may do: view or operate")
	command.Complete(add, "role", func() []string { return []string{auth.View.String(), auth.Operate.String()} })
	remove := &cobra.Command{
		Use:   "remove --file FILE NAME",
		Short: "Take a token back: it holds no more within a second",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return auth.RemoveToken(file, args[0]) },
	}
	for _, c := range []*cobra.Command{add, remove} {
		c.Flags().StringVar(&file, "file", "", "`file` of tokens, as fabricd up has it")
		_ = c.MarkFlagRequired("file") // there is such a flag
	}
	cmd.AddCommand(add, remove)
	return cmd
}
