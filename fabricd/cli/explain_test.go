package cli_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestExplainEndsWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	stdin, ask := io.Pipe()
	ctx, interrupt := context.WithTimeout(t.Context(), rig.Patience)
	defer interrupt()
	cmd, errs, done := cli.Command(), new(rig.Output), make(chan int, 1)
	cmd.SetIn(stdin)
	cmd.SetOut(io.Discard)
	cmd.SetErr(errs)
	cmd.SetArgs([]string{"explain"})
	go func() { done <- command.Run(ctx, cmd) }()
	_, err := io.WriteString(ask, "{}\n") // it is read, so explain is under way
	require.NoError(t, err)
	interrupt()
	require.Equal(t, command.ExitUnusable, rig.Next(t, done, "it does not wait for standard input"))
	require.Equal(t, "fabricd: interrupted, not all questions are answered\n", errs.String())
	require.NoError(t, ask.Close()) // ends the reader
}
