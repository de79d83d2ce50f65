// Package fabric builds a live fabric out of its parts, a driver for every switch and NIC of a topology joined by the links
// of a transport, and runs it: traffic, faults, the ledger, quiescence, the event stream.
//
// # Faults
//
// Faults are ordered by [Fabric.Apply]: all orders are resolved first (apply.go), then acted on together (act.go). Each has a
// record (record.go) that becomes its report. Observers tell the monitor what ends find out, under the locks of cores; one
// goroutine samples throughput and closes records whose time has come (samples.go). A packet lost belongs to the latest record
// that owns its link, so that no loss is counted twice. What nobody ordered gets a record too: brokers (broker.go), parts
// (lose.go), and silences that nothing explains (silence.go); part.Machine says which silences are our own doing.
//
// # Parts, and switches that are processes
//
// Other processes may run parts of the fabric (fabricd/part is their side), which this one leads: to it a part is an outpost (outpost.go), that
// is ordered, asked and heard. A process that takes a single switch over while the fabric runs (fabricd/member is its side) is led as a part
// of that switch alone: it joins and leaves (join.go, leave.go), and all between is the same. The fabric never waits long for a part, and not
// at all for one that has not answered; of such a one the last that it said holds.
//
// What a part has counted is the sum of what its incarnations have (past.go). What a switch has counted is that of the fabric's own emulation
// and of the processes that were the switch (remote.go). A process that dies takes its counters along. Then they are made up from those of its
// neighbours, who have lost signal by then: it has received what they had sent to it, it has sent what they received, and what is between died
// with it. So the ledger balances; which rule had discarded a packet in its last tenth of a second nobody can tell. Neighbours that have not
// been heard since correct that when they are, or have died too.
package fabric
