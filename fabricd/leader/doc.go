// Package leader decides what becomes of a fabric: which links and switches are down, what each
// host is ordered to do, and what the report of a fault says. It is a core: [State.Step] is a
// function of (state, time, event) that returns effects. The state is over ids. It has no lock, no
// clock, no goroutine and no I/O.
//
// # Events and effects
//
// An [Event] is what somebody asks for ([Apply], [SetTraffic]), what has been observed
// ([PortChanged], [HostSuspect], [BrokerLost]) or that a time has come ([TimerDue], [Tick]). An
// [Effect] is what the caller has to do: it does so in the sequence of the list. Until that is done
// it steps the state only by events that have been observed. Frames stop before any end is told:
// [Cut] comes before the [Orders] that take carrier away.
//
// # Actions
//
// What changes links and switches is an action ([Begun]). Its effects are returned at once. When
// hosts have acted the caller says so ([Acted]), and the faults that it began are published; when
// what it repaired is back ([Finished]), the repairs are. Between these the caller waits, and the
// state does not.
//
// # Incidents
//
// Whatever goes wrong is an [Incident], with the number that the ledger gives it. It becomes the
// report of the fault. While it is open the ends of its links that find out are noted in it; what
// it has cost the ledger knows.
//
// # The ledger
//
// The state has the ledger (fabricd/ledger). Answers of hosts step the ledger alone. Whoever steps
// the state has had the hosts of this process answer just before ([Counted]), so that a fault is
// not charged with what was lost before.
package leader
