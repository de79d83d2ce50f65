// Package bus connects a live fabric with NATS: the subject grammar, the [wire.Transport] over
// NATS, the embedded broker, credentials and the control plane. It is the only importer of nats.go
// in the project.
//
// # The story of one frame
//
//	wire.AppendFrame -> Sender.Send -> connection of the shard -> broker (cuts, permissions) -> demultiplexer of the shard
//	    -> inbox of the port -> wire.DecodeFrame -> Message.Release
//
// A directed link is one subject, and always publishes from one connection: order holds per
// publishing connection. A process has few connections, its shards; each has one demultiplexing
// goroutine that hands frames to the inboxes of the ports and never blocks. To a broker of the same
// process that is the one that reads: frames pass by nats.go on both ways, see direct.go. Nothing
// is dropped behind our back: whatever does not reach an inbox is counted in [wire.Stats] and named
// in a [wire.Event]. Hellos of links within the process share messages, see hellos.go.
//
// # Cuts
//
// A cut acts on the subject. The broker enforces it for every publisher when it is ours; the ends
// of the link enforce it too, and alone when the broker is somebody else's.
// [wire.Transport.Enforcement] says which is in force.
//
// # Processes that are hosts of a fabric
//
// Such a process gets credentials from [Broker.Admit], or from an [Issuer], that reach as far as
// its links. It opens a [NATS] transport and a [Server] with Node set, which answers what the
// fabric asks by [Call] and tells it things. A [Layout] says which shards it has: a host of its own
// ones, each heard by one wildcard; a switch that joins while the fabric runs that of its node
// ([Layout.Only]), and listens per direction. On a broker that is not ours, and does not trust our
// keys, there is no admission: who may publish and hear what there is the business of its owner.
//
// # Brokers that are not ours, and brokers that fail
//
// [Settings] name a server that exists already. A connection that is lost, for whatever reason, is
// replaced for ever: what is sent meanwhile is lost and an error; [wire.EventDisconnected] and
// [wire.EventReconnected] tell the shard, and so the links, that it is about. The broker may take
// smaller frames than ours: [wire.Transport.MaxFrame] and [wire.Batch] say how much fits. A
// direction whose receiver is in another process is handed over by [wire.Transport.Unlisten].
//
// # Limits
//
// Frames are bounded by [wire.MaxFrame]. A transport joins at most [MaxShards] connections. One
// broker serves one fabric.
package bus
