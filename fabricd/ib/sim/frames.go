// Package sim has the sockets by which unmodified programs of InfiniBand come to an emulated
// fabric: those that Debian's libumad2sim.so connects to, whose protocol is ibsim's. A program
// sends orders to one socket of all and datagrams to one of its own; both are datagram sockets with
// abstract names of this machine, NAME:ctl and NAME:out0, NAME:out1, ... Only programs of the same
// user and of root are heard.
package sim

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/ib"
)

// Sizes of what is on the sockets, in bytes, and where fields are.
const (
	orderSize  = 80
	orderData  = 16
	dataSize   = 64
	magic      = 0xdeadbeef
	packetSize = 288
	packetMAD  = 32
	headSize   = 24  // of a management datagram
	timedOut   = 110 // the status of a request that nobody has answered: Linux's ETIMEDOUT
)

// Kinds of orders.
const (
	orderError = iota
	orderConnect
	orderDisconnect
	orderPort
	orderVendor
	orderGID
	orderGUID
	orderNodeInfo
	orderPortInfo
	orderSetManager
	orderKeys
)

// order is what a program asks of the fabric. Numbers are in the byte order of this machine's
// processor, which is little endian wherever these programs run.
type order struct {
	client, kind uint32
	length       uint32
	data         [dataSize]byte
}

var errFrame = errors.New("not of the protocol")

func parseOrder(b []byte) (o order, err error) {
	le := binary.LittleEndian
	if len(b) != orderSize || le.Uint32(b) != magic {
		return o, fmt.Errorf("an order of %d bytes: %w", len(b), errFrame)
	}
	o.client, o.kind, o.length = le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	copy(o.data[:], b[orderData:])
	return o, nil
}

func (o *order) bytes() []byte {
	le, b := binary.LittleEndian, make([]byte, orderSize)
	le.PutUint32(b, magic)
	le.PutUint32(b[4:], o.client)
	le.PutUint32(b[8:], o.kind)
	le.PutUint32(b[12:], o.length)
	copy(b[orderData:], o.data[:])
	return b
}

// connect is what a program says when it connects.
type connect struct {
	id      uint32 // of its process; the answer has its number here
	manager bool
	node    string // where it wants to be; "": anywhere
}

func (o *order) connect() connect {
	le := binary.LittleEndian
	name, _, _ := strings.Cut(string(o.data[12:44]), "\x00")
	return connect{le.Uint32(o.data[:]), le.Uint32(o.data[8:]) != 0, name}
}

func (o *order) setConnected(number int, node string) {
	binary.LittleEndian.PutUint32(o.data[:], uint32(number))
	clear(o.data[12:44])
	copy(o.data[12:43], node)
}

// parsePacket reads a datagram as a program sends it. Its LIDs and queue pairs are in network
// order.
func parsePacket(b []byte) (d ib.Datagram, err error) {
	if len(b) != packetSize {
		return d, fmt.Errorf("a datagram of %d bytes: %w", len(b), errFrame)
	}
	d.To = int(binary.BigEndian.Uint16(b))
	d.From = int(binary.BigEndian.Uint16(b[4:]))
	d.ToQP, d.FromQP = binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	n := binary.BigEndian.Uint64(b[24:])
	if n < headSize || n > uint64(len(d.MAD)) {
		return d, fmt.Errorf("a datagram of %d bytes of management: %w", n, errFrame)
	}
	d.Size = int(n)
	copy(d.MAD[:], b[packetMAD:])
	if d.MAD[0] != 1 {
		return d, fmt.Errorf("management of version %d: %w", d.MAD[0], errFrame)
	}
	return d, nil
}

func packetBytes(d *ib.Datagram) []byte {
	b := make([]byte, packetSize)
	binary.BigEndian.PutUint16(b, uint16(d.To))
	binary.BigEndian.PutUint16(b[4:], uint16(d.From))
	binary.BigEndian.PutUint32(b[8:], d.ToQP)
	binary.BigEndian.PutUint32(b[12:], d.FromQP)
	if d.Unanswered {
		binary.BigEndian.PutUint32(b[16:], timedOut)
	}
	binary.BigEndian.PutUint64(b[24:], uint64(cmp.Or(d.Size, len(d.MAD))))
	copy(b[packetMAD:], d.MAD[:])
	return b
}
