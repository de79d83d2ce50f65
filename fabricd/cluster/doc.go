// Package cluster runs one fabric on several hosts. On each host an agent offers room; fabricd
// finds the agents, places the fabric on them, writes down what it wants and leads. What carries
// all of it is NATS: agents are micro services, the state is a key-value bucket of JetStream, who
// leads holds a lease there, see package lease.
//
//	RunAgent        one host: it takes specs of hosts and runs them
//	Find            which agents are there, of which version, and what room they have
//	Campaign        waits until this process leads
//	StateStore      the desired fabric, its placement and its state in the bucket
//	Hosts           the leader's side of agents: it hands specs out and ends them
package cluster
