package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A firmware that claims nothing is not tested for what it tolerates, so that is written down here.
func TestEveryFirmwareButTheBaselinesBearsDeadLinks(t *testing.T) {
	for _, e := range All() {
		if e.Name == "updown" || e.On == Grids { // where ways around what is dead are computed, knowing it
			require.Zero(t, e.Tolerance, e.Name)
			continue
		}
		require.True(t, e.Tolerance.Links, "%s: set Tolerance in its entry", e.Name)
		require.Positive(t, e.Tolerance.Most(4), e.Name)
	}
}

func TestWhatAFirmwareBearsIsSaidInNumbersAndWords(t *testing.T) {
	for _, c := range []struct {
		tolerance Tolerance
		most      int
		words     string
	}{
		{Tolerance{}, 0, "no fault"},
		{Tolerance{One: true}, 0, "no fault"},
		{Tolerance{Links: true}, 3, "up to k-1 dead links"},
		{Tolerance{Switches: true}, 3, "up to k-1 dead switches above the leaves"},
		{Tolerance{Links: true, Switches: true}, 3, "up to k-1 dead links and switches above the leaves"},
		{Tolerance{Links: true, One: true}, 1, "one dead link"},
		{Tolerance{Switches: true, One: true}, 1, "one dead switch above the leaves"},
		{Tolerance{Links: true, Switches: true, One: true}, 1, "one dead link or switch above the leaves"},
	} {
		require.Equal(t, c.most, c.tolerance.Most(4), c.words)
		require.Equal(t, c.words, c.tolerance.String())
	}
	require.Zero(t, Tolerance{Links: true, One: true}.Most(1), "one up port leaves no other way")
}
