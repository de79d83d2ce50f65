// Package explain answers what a firmware would do with one packet at one switch, and by which
// rule.
//
// A [Question] names the topology, the firmware, the switch, how the packet came, its header, which
// links of the switch are dead and what the firmware remembers there; the [Answer] is the
// firmware's decision in the names of the topology. The firmware itself is asked, at a switch that
// stands still ([switching.Still]): there is no second account of any rule.
//
// [Explainer.Lines] does so for JSON lines, one question in, one answer out. A line that cannot be
// answered gets an answer that says why, and the next is read. docs/howto/firmware.md lists what
// may stand in a line.
package explain
