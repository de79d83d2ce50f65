package host

import "context"

// Host runs nodes, in whichever process: calls reach a [Local], and a client of package remote
// reaches one over NATS.
type Host interface {
	// Order makes the host do something, and returns when it is done.
	Order(ctx context.Context, o Order) (OrderAnswer, error)
	// Counters asks for the host's counters.
	Counters(ctx context.Context, r CountersRequest) (Counters, error)
	// Read reads all nodes.
	Read(ctx context.Context, r ReadRequest) (Readings, error)
	// Nodes asks for everything about some nodes.
	Nodes(ctx context.Context, r NodeRequest) (Nodes, error)
	// Load makes switches forward by other tables.
	Load(ctx context.Context, o LoadOrder) (LoadAnswer, error)
	// End ends the host, and returns its last counters, complete.
	End(ctx context.Context, o EndOrder) (Counters, error)
}

var _ Host = (*Local)(nil)
