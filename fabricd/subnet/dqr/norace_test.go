//go:build !race

package dqr_test

const raceEnabled = false
