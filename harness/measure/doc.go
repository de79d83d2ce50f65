// Package measure runs one network in virtual time and measures it as papers on interconnection
// networks do: traffic until the network is steady, faults under load, steady again, then a window
// of some thousand cycles in which packets are counted.
//
// [Run] is a pure function of its [Config], the seed in it included. It builds the network, and
// drives the very cores that forward live with package virtual; there is no fabric around them, so
// no events, reports or names, and nothing that a hop would have to pay for. Any number of runs may
// go on at once, each in a goroutine of its own.
//
// Switches and NICs have the settings of a fabric, parts of [settings.Settings]. Time is counted in
// cycles, as the papers count it; see [Config.Cycle]. So links have cycles and bytes per cycle, and
// no [settings.Link], whose delay is in whole nanoseconds. A saturated network, one that is
// disconnected, one that never gets steady and one that deadlocks are results and not errors.
//
// # Steady
//
// Time is cut into batches, of 500 cycles unless [Warmup] says otherwise. The network is steady at
// the end of a batch when over the last four batches
//   - the packets delivered in each batch differ from their mean by at most 5%;
//   - so does their mean latency from leaving the send queue;
//   - the number of packets inside the network is what it was at the first, within 5%;
//   - so does their mean latency from generation, unless the send queues grew in each of them: above saturation that latency
//     grows as long as the run.
//
// Few packets differ by chance: four standard errors of a count as large as the smallest batch's
// are allowed where they are more than 5%.
//
// # Deadlock
//
// Every thousand cycles, and at the end of every batch, the wait-for graph of all switches is
// searched ([switching.FindDeadlock]). Packets that can only wait for each other count as
// deadlocked when no timer of a register can free them: see [Result.Deadlocked].
package measure
