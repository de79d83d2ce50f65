package nic

// A NIC that is made anew in a running fabric has forgotten how far its flows had come, and those
// it receives do not know that it has. So the upper bits of a packet's number say in which
// incarnation of its source it was sent.
const numberBits = 40

// MaxIncarnation is the most that Config.Incarnation may be.
const MaxIncarnation = 1<<(64-numberBits) - 1

// firstNumber is that of a flow in an incarnation.
func firstNumber(incarnation uint32) uint64 { return uint64(incarnation) << numberBits }

// incarnationOf is that of the source of a packet with this number.
func incarnationOf(seq uint64) uint32 { return uint32(seq >> numberBits) }
