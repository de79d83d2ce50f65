package main

import (
	"errors"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/verify"
)

// comparison asks of a set of faults whether up/down tables made anew connect all pairs, and whether anything can.
func comparison(*topology.Graph) (func(verify.Dead) (updown, physical bool), error) {
	return nil, errors.New("--compare needs the tables of the control plane, which this build does not have")
}

// writeCounterexample writes a counterexample as a scenario that replays it.
func writeCounterexample(string, verify.Config, *verify.Counterexample) error {
	return errors.New("--scenario: this build cannot write counterexamples as scenarios")
}
