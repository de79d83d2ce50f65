//go:build !race

package testenv

// Race says that the race detector is on, under which code is some ten times slower.
const Race = false
