// Package ledger accounts for every packet of a fabric whose nodes run on many hosts. It is a core:
// [Ledger.Step] is a function of (state, time, event). It holds ids and no pointers, and has no
// lock, no clock and no I/O.
//
// # What is known
//
// A host counts, from the start of its incarnation, what its nodes have injected, delivered,
// discarded and lost, and how many packets each end of a link has sent and received. When the
// leader asks, it answers with all of that ([Answer]). Counters are absolute, so an answer that is
// lost costs nothing, and one that is late or overtaken changes nothing. The packets of a link are
// counted per session: one incarnation at each end. What one side has sent and the other has not
// received is on the wire or lost; the epochs of the two ends tell which (link.OnWire). A node
// that moves to another host takes its packets along, and that hand-over is a session too. An end
// forgets the sessions that the leader no longer asks for, which are those with incarnations that
// are folded; what it told of them stays.
//
// # What is made up
//
// A host that is suspect or failed has done more than it has told. One rule covers it, whatever
// happened:
//
//	held = what came in - what went out, as last told
//	     + what its neighbours have sent to it since    (unless that is known to be lost)
//	     - what its neighbours have received from it since
//
// While it is suspect these packets are in flight. When it has failed they are written off: they
// count as lost inside, on the incident of its failure. If more left than came in, it has injected
// that many without telling. Between two hosts that are both unheard nobody knows what passed, so
// neighbours of that kind are added up: one's shortfall is covered by what the other holds.
//
// # When it is put right
//
// Nothing that is made up is stored. It follows from the counters whenever somebody reads, so any
// later answer puts it right: of the host itself, back as it was, or of a neighbour that had not
// been heard. Until every neighbour has said, after the failure, that its end is down, what a
// failed host held is in doubt and counts as in flight: the ledger never calls a packet lost that
// may have gone on. [Balance.Uncertain] names the hosts that readers wait for. An incarnation that
// is gone for good and cannot become more certain is folded: its sums stay, its sessions go.
//
// # Incidents
//
// A fault that the leader orders, and a host that does not answer, begin an [Incident]. A loss goes
// to the latest open incident that acts on its link or switch at the moment it becomes known, once;
// a loss of no incident is unattributed. What is lost = what incidents cost + what is unattributed,
// at every moment.
//
// # Checkpoint
//
// The state is one struct, [State]. [Ledger.Checkpoint] writes it and [Restore] reads it. The next
// leader then asks all hosts, and a checkpoint that is older costs only what nobody can tell any
// more.
package ledger
