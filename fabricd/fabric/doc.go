// Package fabric builds a live fabric out of its parts, a driver for every switch and NIC of a topology joined by the links
// of a transport, and runs it: traffic, faults, the ledger, quiescence, the event stream.
//
// # Faults
//
// Faults are ordered by [Fabric.Apply]: all orders are resolved first (apply.go), then acted on together (act.go). Each has a
// record (record.go) that becomes its report. Observers tell the monitor what ends find out, under the locks of cores; one
// goroutine samples throughput and closes records whose time has come (samples.go). What a fault has cost the ledger knows. What
// nobody ordered gets a record too: brokers (broker.go), parts
// (lose.go), and silences that nothing explains (silence.go); host.Machine says which silences are our own doing.
//
// # Parts, and switches that are processes
//
// Other processes may run parts of the fabric (fabricd/host is their side), which this one leads: to it a part is an outpost (outpost.go), that
// is ordered, asked and heard. A process that takes a single switch over while the fabric runs (fabricd/member is its side) is led as a part
// of that switch alone: it joins and leaves (join.go, leave.go), and all between is the same. The fabric never waits long for a part, and not
// at all for one that has not answered; of such a one the last that it said holds.
//
// # Accounts
//
// The leader has a ledger (fabricd/ledger, accounts.go). It tells the ledger what hosts there are and what becomes of them, which faults
// begin and end, and what hosts answer. Totals, the ledger, the losses of links and the cost of every fault are read from it, and its
// checkpoint is what the next leader goes on from. A report has the number of its incident.
package fabric
