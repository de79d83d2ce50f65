// Package shrink reduces a scenario that fails to a smallest one that still does: fewer faults,
// simpler ones, less traffic, a shorter run.
//
// A scenario is live, so a failure need not come every time: a candidate counts as failing when one
// of so many runs does, on an expectation that the original failed on.
package shrink
