package ibd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of each program the first note alone is told, and of a million programs no more than the bound.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	var told []string
	n := notes{note: func(text string) { told = append(told, text) }, told: map[string]bool{}}
	for range 3 {
		n.add("process 7", "nonsense")
	}
	require.Equal(t, []string{"process 7: nonsense"}, told)
	for i := range 2 * mostNotes {
		n.add(fmt.Sprint(i), "nonsense")
	}
	require.Len(t, told, mostNotes)
	require.Contains(t, told[mostNotes-1], "not told any more")
}
