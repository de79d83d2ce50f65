package command

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// A command that follows something prints until it is interrupted. Where nobody reads, the first
// interrupt ends it.
func TestAnInterruptFreesACommandThatNobodyReads(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	unread, stdout := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	printed := make(chan struct{})
	cmd := &cobra.Command{Use: "follow", RunE: func(cmd *cobra.Command, _ []string) error {
		close(printed)
		for cmd.Context().Err() == nil {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), "an event"); err != nil {
				return err
			}
		}
		return nil
	}}
	cmd.SetArgs(nil)
	cmd.SetOut(stdout)
	cmd.SetErr(io.Discard)
	code := make(chan int, 1)
	go func() { code <- Run(ctx, cmd) }()
	<-printed
	interrupt()
	require.Equal(t, ExitUnusable, <-code)
	require.NoError(t, unread.Close()) // and the goroutine that writes ends
}

// What is read is written whole and in order, also after the interrupt.
func TestAnInterruptLosesNothingThatIsRead(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	out := newLeavable(ctx, w)
	go func() {
		fmt.Fprint(out, "before ")
		interrupt()
		fmt.Fprint(out, "and after")
		_ = w.Close()
	}()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "before and after", string(text))
}
