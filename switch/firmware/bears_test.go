package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A firmware that claims nothing is not tested for what it bears, so that is written down here.
func TestEveryFirmwareButTheBaselinesBearsDeadLinks(t *testing.T) {
	for _, e := range Entries() {
		if e.Name == "updown" || e.On == Grids { // where ways around what is dead are computed, knowing it
			require.Zero(t, e.Bears, e.Name)
			continue
		}
		require.True(t, e.Bears.Links, "%s: set Bears in its entry", e.Name)
		require.Positive(t, e.Bears.Most(4), e.Name)
	}
}

func TestWhatAFirmwareBearsIsSaidInNumbersAndWords(t *testing.T) {
	for _, c := range []struct {
		bears Bears
		most  int
		words string
	}{
		{Bears{}, 0, "no fault"},
		{Bears{One: true}, 0, "no fault"},
		{Bears{Links: true}, 3, "up to k-1 dead links"},
		{Bears{Switches: true}, 3, "up to k-1 dead switches above the leaves"},
		{Bears{Links: true, Switches: true}, 3, "up to k-1 dead links and switches above the leaves"},
		{Bears{Links: true, One: true}, 1, "one dead link"},
		{Bears{Switches: true, One: true}, 1, "one dead switch above the leaves"},
		{Bears{Links: true, Switches: true, One: true}, 1, "one dead link or switch above the leaves"},
	} {
		require.Equal(t, c.most, c.bears.Most(4), c.words)
		require.Equal(t, c.words, c.bears.String())
	}
	require.Zero(t, Bears{Links: true, One: true}.Most(1), "one up port leaves no other way")
}
