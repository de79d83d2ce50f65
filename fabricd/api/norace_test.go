//go:build !race

package api

// raceEnabled tells tests that the machine is some ten times slower.
const raceEnabled = false
