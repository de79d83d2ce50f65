// Package capture writes the frames of a running fabric to a file that Wireshark reads: pcapng, one
// interface per direction of a link, and in it one record per packet.
//
// # What is in a record
//
// Link type 147 (LINKTYPE_USER0). Numbers are big-endian; the first byte is the version of the
// layout, 4. The first four bytes are those of every record:
//
//	0  u8   version, 4
//	1  u8   kind: 1 a packet, 2 a mark
//	2  u8   flags: bit 0 the packet is traced
//	3  u8   state of the direction when it was captured, see [LinkState]
//
// A packet goes on with its header and what its frame says of the link:
//
//	 4  u8   virtual channel
//	 5  u8   ports in the source route, n
//	 6  u16  generation
//	 8  u32  source NIC
//	12  u32  destination NIC
//	16  u64  sequence number in its flow
//	24  i64  when it was generated, picoseconds since the fabric started
//	32  u32  size in bytes, which is also the record's original length unless the record itself is longer
//	36  u16  switches crossed
//	38  u16  of these, hops that it was sent another way
//	40  i16  port field, -1 none, -2 down
//	42  u16  its position in the frame, from 0
//	44  u16  packets in the frame
//	46  u64  misroute vector
//	54  u32  epoch of the sender
//	58  u32  epoch of the receiver as the sender knows it
//	62  u64  packets that the sender had sent before it in this virtual channel and epoch
//	70  u64  credit limit that the frame gives for this virtual channel of the other direction
//	78  u16  path: which address of the destination it is sent to; version 1 has none
//	80  u16  layers that it may move between, bit i for virtual channel i; version 1 has none
//	82  u8   sub-headers, m; versions 1 and 2 have none
//	83  n    ports of the source route, a byte each, the next first
//	    8m   sub-headers, each a u64 as [weft.SubHeader] has its bits, that of the sub-path that the packet is on first
//	    u8   length of the source's name, and that name
//	    u8   length of the destination's name, and that name
//	         to the end of the record what the packet carries, a packet of IP; before version 4 nothing
//
// A mark is something that happened there, and goes on with a text:
//
//	4  u16  length of the text, and the text
//
// Marks, and packets that others were lost before, have a comment too, which Wireshark shows in its
// packet list.
package capture
