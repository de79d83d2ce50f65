package command

import (
	"context"
	"errors"
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

// ValidateCommand checks files and says what each holds. It checks all of them; one that does not
// pass is an error, exit code 2.
func ValidateCommand(
	use, short string, check func(ctx context.Context, stderr io.Writer, name string) (Checked, error),
) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1), ValidArgsFunction: YAMLFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong []error
			for _, name := range args {
				c, err := check(cmd.Context(), cmd.ErrOrStderr(), name)
				c.File, c.Valid = name, err == nil
				if err != nil {
					c.Error = plain.Error(err.Error())
					wrong = append(wrong, err)
				}
				switch {
				case asJSON:
					if err := JSON(cmd.OutOrStdout(), c); err != nil {
						return err
					}
				case err == nil:
					fmt.Fprintf(cmd.OutOrStdout(), "%s is valid: %d switches, %d NICs, %d links\n",
						name, c.Switches, c.NICs, c.Links)
				}
			}
			return errors.Join(wrong...)
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print each verdict as one JSON object")
	return cmd
}
