package api

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

func TestAWaitIsOneEventHoweverOftenItEnds(t *testing.T) {
	var w tellWaits
	kinds := func(samples ...string) (list []string) {
		for _, s := range samples {
			w.next(s, func(e fabric.Event) { list = append(list, e.Kind) })
		}
		return list
	}
	require.Empty(t, kinds("", ""))
	require.Equal(t, []string{fabric.EventWaiting}, kinds(slices.Repeat([]string{"a", "", "b"}, 20)...))
	require.Empty(t, kinds(slices.Repeat([]string{""}, waitsCalm-1)...))
	require.Equal(t, []string{fabric.EventWaitingOver}, kinds("", "", ""))
	require.Equal(t, []string{fabric.EventWaiting}, kinds("a", "a"))
}
