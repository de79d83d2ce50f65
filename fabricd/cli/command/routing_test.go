package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompletionOffersTheOptionsThatAreNotThereYet(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"updn:layers=", "updn:root=", "updn:tree=", "updn:seed=", "updn:in-port="},
		optionWords("updn:"))
	require.Equal(t, []string{
		"updn:tree=dfs,layers=2,root=", "updn:tree=dfs,layers=2,seed=",
		"updn:tree=dfs,layers=2,in-port=",
	}, optionWords("updn:tree=dfs,layers=2,s"))
	require.Empty(t, optionWords("adaptive-link:"))
	require.Empty(t, optionWords("nothing:"))
}
