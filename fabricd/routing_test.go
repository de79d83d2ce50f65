package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli"
)

// completes is what the shell is offered for a flag.
func completes(t *testing.T, args ...string) []string {
	t.Helper()
	out, _, code := fabricd(t, append([]string{"__complete"}, args...)...)
	require.Equal(t, cli.ExitOK, code)
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

func TestCompletionOffersTheOptionsThatAreNotThereYet(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"updn:layers=", "updn:root=", "updn:tree=", "updn:seed=", "updn:in-port="}, optionWords("updn:"))
	require.Equal(t, []string{"updn:tree=dfs,layers=2,root=", "updn:tree=dfs,layers=2,seed=", "updn:tree=dfs,layers=2,in-port="}, optionWords("updn:tree=dfs,layers=2,s"))
	require.Empty(t, optionWords("adaptive-link:"))
	require.Empty(t, optionWords("nothing:"))
}

func TestRoutesListHasTheOptionsOfEngines(t *testing.T) {
	t.Parallel()
	out, _, code := fabricd(t, "routes", "list")
	require.Equal(t, cli.ExitOK, code)
	require.Contains(t, out, "updn-adaptive")
	require.Contains(t, out, "options: layers, root, tree, move\n")
	require.Regexp(t, `(?m)^  layers +a number from 1 to 16 +so many`, out)
}
