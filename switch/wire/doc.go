// Package wire carries frames over the directed links of a fabric: the frame format, the
// [Transport] that moves frames, and a transport within one process. Live drivers of switches and
// NICs are written to [Transport]; NATS is another one, in package bus.
//
// # Frames
//
// [AppendFrame] and [DecodeFrame] translate a [weft.Frame]. Frames are msgpack arrays and end with
// a checksum, which covers the name of the direction too ([LinkSum]). A frame has at most
// [MaxFrame] bytes. A transport may take less: [Transport.MaxFrame] says how many bytes it takes,
// [Batch] how many packets fit.
//
// # Loss
//
// A transport delivers the frames of a direction in order and delivers each of them, unless the
// direction is cut. It counts in [Stats] each frame that it does not deliver. What should not
// happen, such as a full inbox, is an [Event] too. Package wiretest checks that a transport keeps
// this contract.
//
// Everything else that travels, large messages and topologies, is compressed by [Compress].
package wire
