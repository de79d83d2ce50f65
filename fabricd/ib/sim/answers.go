package sim

import "encoding/binary"

// answer is what a program is told of the port that it is at.
func answer(kind uint32, node, port, keys *[64]byte) (data [dataSize]byte) {
	le := binary.LittleEndian
	switch kind {
	case orderPort:
		copy(data[:2], port[16:18])
		data[2] = port[32] & 15
	case orderVendor:
		le.PutUint32(data[0:], binary.BigEndian.Uint32(node[36:])&0xffffff)
		le.PutUint32(data[4:], uint32(binary.BigEndian.Uint16(node[30:])))
		le.PutUint32(data[8:], binary.BigEndian.Uint32(node[32:]))
		le.PutUint64(data[16:], 1) // of the firmware
	case orderGID:
		copy(data[:8], port[8:16])
		copy(data[8:16], node[20:28])
	case orderGUID:
		copy(data[:8], node[20:28])
	case orderNodeInfo:
		data = *node
	case orderPortInfo:
		data = *port
	case orderKeys:
		data = *keys
	}
	return data
}
