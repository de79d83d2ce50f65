//go:build !race

package scenario_test

// raceEnabled tells tests that the machine is some ten times slower.
const raceEnabled = false
