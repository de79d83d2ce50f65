//go:build race

package dqr_test

const raceEnabled = true
