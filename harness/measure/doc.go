// Package measure runs one network in virtual time and measures it as papers on interconnection networks do: traffic until the
// network is steady, faults under load, steady again, then a window of some thousand cycles in which packets are counted.
//
// [Run] is a pure function of its [Config], the seed in it included. It builds the network, and drives the very cores that forward
// live with package virtual; there is no fabric around them, so no events, reports or names, and nothing that a hop would have
// to pay for. Any number of runs may go on at once, each in a goroutine of its own.
//
// Time is counted in cycles, as the papers count it; see [Config.Cycle]. A saturated network, one that is disconnected, one
// that never gets steady and one that deadlocks are results and not errors.
package measure
