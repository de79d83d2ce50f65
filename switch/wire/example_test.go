package wire_test

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

// Two ends of a link within one process.
func Example() {
	links := wire.NewMemory()
	defer links.Close()
	d := wire.Direction{From: "s0", FromPort: 1, To: "s1", ToPort: 0}
	inbox := make(chan wire.Message, 16)
	if err := links.Listen(d, inbox); err != nil {
		panic(err)
	}
	to, err := links.Sender(d)
	if err != nil {
		panic(err)
	}
	sent := weft.Frame{From: 1, VCs: 1, Packets: []weft.Header{{Src: 3, Dst: 4, Size: 256}}}
	if err := to.Send(wire.AppendFrame(nil, d.Sum(), &sent)); err != nil {
		panic(err)
	}
	m := <-inbox
	defer m.Release()
	var got weft.Frame
	if err := wire.DecodeFrame(&got, d.Sum(), m.Data); err != nil {
		panic(err)
	}
	fmt.Println("from NIC", int(got.Packets[0].Src), "to NIC", int(got.Packets[0].Dst))
	// Output: from NIC 3 to NIC 4
}
