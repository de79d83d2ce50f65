package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
)

// completes is what the shell is offered for a flag.
func completes(t *testing.T, args ...string) []string {
	t.Helper()
	out, _, code := fabricd(t, append([]string{"__complete"}, args...)...)
	require.Equal(t, command.ExitOK, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[:len(lines)-1] // the last says how to go on
}

func TestCompletionOffersRoutingsThatFitTheTopology(t *testing.T) {
	t.Parallel()
	ring := completes(t, "up", "--topology", "ring:5", "--routing", "")
	require.Subset(t, ring, []string{"dimension-order", "lash", "updn", "none"})
	require.NotContains(t, ring, "adaptive-link")
	tree := completes(t, "explain", "--routing", "")
	require.Subset(t, tree, []string{"adaptive-link", "lash", "updn", "none"})
	require.NotContains(t, tree, "dimension-order")
	routes := completes(t, "routes", "--topology", "kary-ntree:2,2", "--routing", "")
	require.Subset(t, routes, []string{"deterministic-table", "lash"})
	require.NotContains(t, routes, "adaptive-link")
	require.Subset(t, completes(t, "verify", "--topology", "no such", "--routing", ""), []string{"adaptive-link", "dimension-order", "updn"})
}

func TestRoutesListHasTheOptionsOfEngines(t *testing.T) {
	t.Parallel()
	out, _, code := fabricd(t, "routes", "list")
	require.Equal(t, command.ExitOK, code)
	require.Contains(t, out, "updn-adaptive")
	require.Contains(t, out, "options: layers, root, tree, move\n")
	require.Regexp(t, `(?m)^  layers +a number from 1 to 16 +so many`, out)
}
