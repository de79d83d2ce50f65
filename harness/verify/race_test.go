//go:build race

package verify

// RaceEnabled tells tests that they take ten times as long.
const RaceEnabled = true
