package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Renamed lets a flag of cmd be given by its old name too, until 0.2.0: the flag of that name is in
// no help and no completion, sets the flag of the new name, and warns once on stderr. Where both
// are given, the later wins, as of a flag that is given twice; of a list, both count. It panics
// when there is no flag of the new name: that is a bug.
func Renamed(cmd *cobra.Command, old, name string) {
	to := cmd.Flags().Lookup(name)
	if to == nil {
		panic(fmt.Sprintf("renamed flag --%s: there is no --%s", old, name))
	}
	f := cmd.Flags().VarPF(&renamed{Value: to.Value, cmd: cmd, old: old, name: name}, old, "", to.Usage)
	f.NoOptDefVal, f.DefValue, f.Hidden = to.NoOptDefVal, to.DefValue, true
}

// renamed is the value of a flag by its old name.
type renamed struct {
	pflag.Value
	cmd       *cobra.Command
	old, name string
	warned    bool
}

// Set implements pflag.Value.
func (r *renamed) Set(text string) error {
	if !r.warned {
		r.warned = true
		fmt.Fprintf(r.cmd.ErrOrStderr(), "%s: --%s is now --%s; 0.2.0 removes the old name\n", r.cmd.Root().Name(), r.old,
			r.name)
	}
	return r.cmd.Flags().Set(r.name, text)
}
