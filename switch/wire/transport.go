package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft"
)

// What transports and clients refuse.
var (
	// ErrClosed means that the transport, client or broker has been closed.
	ErrClosed = errors.New("closed")
	// ErrListening means that the direction has an inbox already.
	ErrListening = errors.New("already listening")
	// ErrDisconnected means that there is no connection to the broker just now; it comes back by
	// itself.
	ErrDisconnected = errors.New("disconnected from the broker")
	// ErrTooLarge means that the broker takes no frame of this size.
	ErrTooLarge = errors.New("larger than the broker takes")
	// ErrDirection means that the direction contradicts one given before: a sending port has one
	// link.
	ErrDirection = errors.New("another link at the same port")
)

// Direction names one direction of a link by its two ends, as node names and ports. The sending end
// alone identifies it.
type Direction struct {
	From, To         string
	FromPort, ToPort weft.PortID
}

// Reverse returns the other direction of the link.
func (d Direction) Reverse() Direction {
	return Direction{From: d.To, To: d.From, FromPort: d.ToPort, ToPort: d.FromPort}
}

// Source returns d without its receiving end. A sending port has one link, so that Source
// identifies the direction.
func (d Direction) Source() Direction { return Direction{From: d.From, FromPort: d.FromPort} }

// String prints d as "s0.00:p1>s1.10:p3".
func (d Direction) String() string {
	return d.From + ":" + d.FromPort.String() + ">" + d.To + ":" + d.ToPort.String()
}

// Validate gives an error that wraps ErrName when an end of d cannot be.
func (d Direction) Validate() error {
	for _, end := range []struct {
		node string
		port weft.PortID
	}{{d.From, d.FromPort}, {d.To, d.ToPort}} {
		if err := ValidateNode(end.node); err != nil {
			return fmt.Errorf("direction %v: %w", d, err)
		}
		if end.port >= weft.MaxPorts {
			return fmt.Errorf("wire: direction %v: port %d of %q, want 0 to %d: %w", d, end.port, end.node, weft.MaxPorts-1,
				ErrName)
		}
	}
	return nil
}

// Message is one frame as it arrived. The receiver owns it and calls Release when it is done with
// Data.
type Message struct {
	Data []byte // the encoded frame
	buf  *buffer
}

// NewMessage returns a message with a copy of a frame.
func NewMessage(frame []byte) Message {
	buf := buffers.Get().(*buffer)
	buf.data = append(buf.data[:0], frame...)
	return Message{Data: buf.data, buf: buf}
}

// Release gives the storage of m back; Data must not be used afterwards. Call it at most once.
func (m Message) Release() {
	if m.buf != nil {
		buffers.Put(m.buf)
	}
}

type buffer struct{ data []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Transport carries the frames of directed links: in order per direction, and every one of them,
// unless the direction is cut or Stats says otherwise. All methods may be called concurrently.
type Transport interface {
	// Listen delivers the frames of d into inbox, in order, until Close. The capacity of inbox must
	// cover what the credits allow in flight, since delivery never blocks; the caller owns inbox,
	// which is never closed. A direction has one inbox; several directions may share one.
	Listen(d Direction, inbox chan<- Message) error
	// Unlisten says that another process listens to d: when it returns, nothing more enters the
	// inbox of d, if it had one, and frames of d that arrive here all the same are counted as
	// Stats.Elsewhere and are no event. Listen takes d back.
	Unlisten(d Direction) error
	// Sender returns the sending end of d.
	Sender(d Direction) (Sender, error)
	// Ready returns when every Listen that has returned is in force for every publisher of this
	// broker.
	Ready(ctx context.Context) error
	// Cut makes frames published on these directions go nowhere. When it returns, no more of them
	// enter an inbox; what is in an inbox already stays. Cutting twice is cutting once. A direction
	// need not be listened to. Where both ends are in other processes these cut it, and our own
	// broker if there is one.
	Cut(d ...Direction) error
	// Restore undoes Cut, however often that was called.
	Restore(d ...Direction) error
	// Enforcement says who enforces cuts.
	Enforcement() Enforcement
	// Watch has f told of every Event from now on, in place of the function given before (a call of
	// that one under way may still go on); nil is nobody. Stats counts all the same. f is called by
	// several goroutines, concurrently, some of them inside Send: it must not block, nor call the
	// transport.
	Watch(f func(Event))
	// Shards is the number of connections that frames travel on, and so how many parts of the
	// fabric can be lost at once by a failure of one: 1 in memory.
	Shards() int
	// Shard is the connection, 0 to Shards()-1, that carries what a node sends and what is sent to
	// it: the Event.Shard of what happens to it. -1: the node is in a shard of another process.
	Shard(node string) int
	// MaxFrame is how many bytes a frame may have: the constant MaxFrame, or what the broker takes
	// if that is less. It may change when the connection comes back. See Batch.
	MaxFrame() int
	// Stats returns the counters since the start.
	Stats() Stats
	// Close ends the transport and waits for its goroutines; nothing is delivered once it has
	// returned. What is in flight is lost. Closing twice is closing once.
	Close() error
}

// Sender is the sending end of one direction. A full link is the business of credits: Send never
// waits for a receiver.
type Sender interface {
	// Send publishes one encoded frame and keeps no reference to it. A frame sent on a cut
	// direction is counted and gone, without an error. An error means that the frame was not sent
	// and is lost: it wraps ErrClosed after Close, ErrDisconnected while there is no broker, and
	// ErrTooLarge when the frame is above Transport.MaxFrame.
	Send(frame []byte) error
}

// HelloSender is a [Sender] of a [HelloGatherer]. SendHello sends a frame without packets as Send
// does, and in the same order, but it may wait for hellos of other links that can travel with it:
// until FlushHellos, or until something else is sent on the connection.
type HelloSender interface {
	Sender
	SendHello(frame []byte) error
}

// HelloGatherer is a [Transport] whose Senders are HelloSenders: it sends hellos of many links
// together. A cut direction has none among them, and what is cut later goes nowhere.
type HelloGatherer interface {
	Transport
	// FlushHellos sends the hellos that wait for company on a connection, of 0 to Shards()-1.
	FlushHellos(shard int)
}

// Enforcement says who enforces cuts.
type Enforcement uint8

// Who enforces cuts. The zero value is nobody.
const (
	EnforcedInProcess Enforcement = iota + 1 // the memory transport itself
	EnforcedAtEnds                           // this process, at both ends of its links; other subscribers still hear
	EnforcedByBroker                         // the broker, for every publisher; the ends too
)

// String prints who enforces cuts, as reports do.
func (e Enforcement) String() string {
	switch e {
	case EnforcedInProcess:
		return "in process"
	case EnforcedAtEnds:
		return "at the ends of the link"
	case EnforcedByBroker:
		return "by the broker"
	}
	return "by nobody"
}

// Stats counts frames, except where the name says otherwise.
type Stats struct {
	Sent      uint64 // accepted by Send, cut ones included
	SentBytes uint64
	Delivered uint64 // put into an inbox
	Cut       uint64 // ended at a cut that we enforced; what the broker cut is not seen by anybody
	Unknown   uint64 // arrived, but nobody listens here
	Elsewhere uint64 // arrived, but another process listens, as Unlisten said
	Full      uint64 // arrived and found the inbox full
	Errors    uint64 // Send refused
	Dropped   uint64 // slow-consumer reports: each stands for at least one frame lost in the client library, a bug

	CutsAtBroker int // mappings in force at the broker; one may stand for a whole node
	CutsAtEnds   int // directions cut which only the ends enforce, although there is a broker of ours: too many cuts
}

// Add adds the frame counters of one link.
func (s *Stats) Add(o Stats) {
	s.Sent += o.Sent
	s.SentBytes += o.SentBytes
	s.Delivered += o.Delivered
	s.Cut += o.Cut
	s.Unknown += o.Unknown
	s.Elsewhere += o.Elsewhere
	s.Full += o.Full
	s.Errors += o.Errors
}
