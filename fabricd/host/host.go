package host

import "context"

// Host is what runs nodes, whichever process they are in: a [Local] is reached by calls, a client
// of package remote reaches one over NATS.
type Host interface {
	// Order has the host do something, and returns when that is done.
	Order(ctx context.Context, o Order) (OrderAnswer, error)
	// Counters asks for what the host has added up.
	Counters(ctx context.Context, r CountersRequest) (Counters, error)
	// Read reads all nodes.
	Read(ctx context.Context, r ReadRequest) (Readings, error)
	// Nodes asks for all about some nodes.
	Nodes(ctx context.Context, r NodeRequest) (Nodes, error)
	// Load has switches forward by other tables.
	Load(ctx context.Context, o LoadOrder) (LoadAnswer, error)
	// End ends the host, and returns its last sum with everything in it.
	End(ctx context.Context, o EndOrder) (Counters, error)
}

var _ Host = (*Local)(nil)
