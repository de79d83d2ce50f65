//go:build !race

package fabric_test

// raceEnabled tells tests that the machine is some ten times slower.
const raceEnabled = false

// shortQueue is room for 64 packets in a send queue, in bytes.
const shortQueue = 16 << 10
