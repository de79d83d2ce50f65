//go:build race

package layered_test

const raceEnabled = true
