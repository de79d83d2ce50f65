package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/registry"
)

func TestUpEndsByItselfAsWithCtrlC(t *testing.T) {
	ownRegistry(t)
	out, errs, code := fabricd(t, "up", "--listen", "off", "-t", "kary-ntree:2,2", "--traffic", "uniform:0.3", "--for", "500ms")
	require.Equal(t, command.ExitOK, code, errs)
	require.Regexp(t, `ledger: [1-9]\d* injected = \d+ delivered \+ 0 lost \+ 0 discarded \+ 0 in flight: balanced`, out)
	require.Empty(t, registry.Names())
}
