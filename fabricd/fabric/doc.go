// Package fabric leads a fabric whose nodes run on hosts: it joins them by the links of a
// transport, and runs it: traffic, faults, accounts, quiescence, the event stream.
//
// # Roles
//
// [Fabric] is what callers hold. It makes the roles and wires them: each is a type of this package
// that owns its state and gets at construction what it needs of others. None of them knows Fabric.
// From below:
//
//   - site (site.go) is what all hosts have in common: lifetime, the clock and the goroutines; nodes,
//     and which host runs what; leading, the state, the ledger and the events.
//   - decisions (loop.go) owns the loop; faults, traffic, management and broker bring orders and news
//     to it.
//   - attendance (absence.go) looks after hosts, admissions makes their credentials, moves (move.go)
//     has switches go from one host to another.
//   - reader (state.go) is what status, the page and metrics ask; quiet (quiesce.go) waits and checks;
//     tracing (trace.go) follows single packets.
//   - observers (watch.go) take what nodes tell; limits and notices carry it on.
//
// # Decisions
//
// What becomes of links, switches and hosts is decided by a core, fabricd/leader: a function of
// (state, time, event) that returns effects. Here its events are brought and its effects are
// carried out, one after the other (decide.go): the transport cuts, hosts get orders (order.go),
// timers are set, events are published. Faults are ordered by [Fabric.Apply] (apply.go); whoever
// orders waits for hosts, and for links that come back, without holding up anybody else (action.go,
// repairs.go). What only adds to what is known, as that a port has changed, is noted at once by
// whoever has seen it.
//
// Brokers (broker.go) and hosts (absence.go) that fail bring events too; host.NodeRuntime says
// which silences are our own doing.
//
// # Hosts, and switches that move
//
// The nodes of this process are a host that is reached by calls. Other processes may run hosts of
// the fabric (fabricd/host is their side). To the leader each is a host (hoststate.go), which is
// ordered, asked and heard. A switch moves between its home, the host that it belongs to by the
// placement, and a host of its own (process.go, move.go): a process that joins and leaves while the
// fabric runs (join.go, leave.go; fabricd/member is its side), or one that an agent runs. All
// between is the same.
//
// # The loop
//
// The leader decides in one loop (loop.go): live a goroutine drives it, in virtual time whoever
// lets time go on. What may be done only there has the receiver loop, or takes one. It waits for
// nobody. What it has decided goes to queues (queue.go): each host has one, and so have the
// transport and admissions. It reaches each in the sequence of the decisions (order.go). A caller
// that has asked for a decision waits for what comes of it outside, and brings that as another
// event. Whoever looks at the fabric waits for hosts for a moment only; of a host that does not
// answer, the last that it told holds.
//
// # Accounts
//
// The leader has a ledger (fabricd/ledger, sharedledger.go). It tells the ledger what hosts there
// are and what becomes of them, which faults begin and end, and what hosts answer. Totals, the
// ledger, the losses of links and the cost of every fault are read from it, and its checkpoint is
// what the next leader goes on from. A report has the number of its incident. Whoever looks gets
// snapshots of the ledger and of the leader's state (shared.go).
package fabric
