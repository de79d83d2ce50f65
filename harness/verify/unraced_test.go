package verify

import "testing"

// Unraced skips a test under the race detector, which takes minutes to tell that what one worker
// explores has no races. What workers share, TestClaims and the tests of runs show it.
func Unraced(t *testing.T) {
	t.Helper()
	if RaceEnabled {
		t.Skip("takes minutes under the race detector, and has nothing to race: make whole does it without")
	}
}
