// Package manager is a subnet manager at work: it hears which links the switches of a running
// fabric take for dead, has package subnet/manage plan the tables that follow, and uploads what
// changed to the switches that it changes for.
//
//	heard -> coalesce -> plan -> write the job down -> upload, each switch acknowledges -> report -> settle
//
// One goroutine does all of this, one round after the other; beside it one hears events, one keeps
// the lease, and at most uploads of them wait for acknowledgements. What is heard during a round
// begins the next.
//
// # What is written down, and when
//
// The state is in a bucket of the fabric's broker (Store of fabricd/bus). Plans follow from what
// was dead by computing alone, so a job is no more than that: its version, what is dead, and
// whether older packets were known to be gone before. It is written down before the first switch
// hears of it, under a key that can be made once. So a version belongs to one job, whoever carries
// it out, and to carry it out twice does no harm: a switch that has the version says so, and one
// that has a later one refuses.
//
//	killed before it is written down   the next manager asks for the dead links and begins a round
//	between that and the last upload   it computes the same plan again, asks each switch for its version, and tells those that lack it
//	between two rounds                 it writes the second down, and goes on
//	after the last upload              it finds nothing left to do
//
// Of several managers one holds the lease, which it renews; another takes over when it has not
// changed for a while by its own clock. One that was stopped and goes on meanwhile cannot make a
// job, since the version is taken, and the fabric refuses what it asks, since its term is over
// (Fabric.Begin).
//
// # A switch that does not answer
//
// is waited for as long as [Config.Patience], named in the report, and told everything when it
// answers again. Until then its old tables count as in force.
package manager
