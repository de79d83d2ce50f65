package opensm

// Simulate is for tests of other packages' use of what the real OpenSM makes.
var Simulate = simulate
