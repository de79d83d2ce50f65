//go:build race

package fabric_test

// raceEnabled tells tests that the machine is some ten times slower.
const raceEnabled = true

// shortQueue is room for 32 packets in a send queue, in bytes: what waits when traffic ends has to
// be carried all the same.
const shortQueue = 8 << 10
