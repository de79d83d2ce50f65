package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/document/plain"
)

// Checked is what validate --json prints.
type Checked struct {
	Valid    bool   `json:"valid"`
	File     string `json:"file"`
	Switches int    `json:"switches,omitempty"`
	NICs     int    `json:"nics,omitempty"`
	Links    int    `json:"links,omitempty"`
	Error    string `json:"error,omitempty"`
}

// ValidateCommand checks one file and says what it holds; one that does not pass is an error, exit
// code 2.
func ValidateCommand(use, short string, check func(stderr io.Writer, name string) (Checked, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: YAMLFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := check(cmd.ErrOrStderr(), args[0])
			c.File, c.Valid = args[0], err == nil
			if asJSON {
				if err != nil {
					c.Error = plain.Error(err.Error())
				}
				if jsonErr := JSON(cmd.OutOrStdout(), c); jsonErr != nil {
					return jsonErr
				}
			}
			if err == nil && !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is valid: %d switches, %d NICs, %d links\n", c.File, c.Switches, c.NICs, c.Links)
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print the verdict as one JSON object")
	return cmd
}
