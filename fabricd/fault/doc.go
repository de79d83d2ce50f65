// Package fault is what can go wrong in a fabric: how a fault is ordered, what it does over time,
// and what it cost.
//
// A [Spec] orders one fault or repair, as linkmon's flags, a scenario's timeline and the HTTP
// interface all write it:
//
//	{do: cut, a: s0.00, b: s1.00, direction: to, silent: true, for: 10s}
//	{do: flap, a: s0.00-s1.00, flap: {period: 1s, duty: 30%, jitter: 50ms, count: 5}}
//	{do: impair, a: s0.00-s1.00, impair: {loss: 10%, delay: 5ms, jitter: 1ms, rate: 100kB/s}}
//	{do: crash, a: s1.03, for: 5s}
//	{do: heal}
//
// A share is written as a percentage, never as 0.1, a time and a rate with their units: of a bare
// number nobody can say what it means a year later.
//
// A [Report] is what a fault cost, and [MeasureDegradation] finds how far throughput fell and when
// that was made good.
//
// Nothing here acts, waits or looks at a clock: whoever runs the fabric applies the faults and
// fills the reports.
package fault
