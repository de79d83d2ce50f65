//go:build !race

package manager_test

// raceEnabled tells tests that the machine is some ten times slower.
const raceEnabled = false
