// Package wiretest checks transports: the contract that every [wire.Transport] keeps, and the few
// lines that tests of links share. Only tests import it.
package wiretest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

const patience = 20 * time.Second // for what must happen; only a failing test waits that long

// Hop is the i-th direction of a line of switches.
func Hop(i int) wire.Direction {
	return wire.Direction{From: fmt.Sprintf("s%d", i), To: fmt.Sprintf("s%d", i+1), FromPort: 1, ToPort: 0}
}

// Listen gives a direction an inbox for so many frames.
func Listen(tb testing.TB, t wire.Transport, d wire.Direction, capacity int) chan wire.Message {
	tb.Helper()
	inbox := make(chan wire.Message, capacity)
	require.NoError(tb, t.Listen(d, inbox))
	return inbox
}

// Sender is the sending end of a direction.
func Sender(tb testing.TB, t wire.Transport, d wire.Direction) wire.Sender {
	tb.Helper()
	s, err := t.Sender(d)
	require.NoError(tb, err)
	return s
}

// Ready waits until the transport hears all that it listens to.
func Ready(tb testing.TB, t wire.Transport) {
	tb.Helper()
	require.NoError(tb, t.Ready(context.Background()))
}

// Next returns the next frame of an inbox as text.
func Next(tb testing.TB, inbox <-chan wire.Message) string {
	tb.Helper()
	select {
	case m := <-inbox:
		defer m.Release()
		return string(m.Data)
	case <-time.After(patience):
		tb.Fatal("no frame arrives")
		return ""
	}
}

// Header is that of a packet in the middle of a run: small ids, a long clock.
func Header() weft.Header {
	return weft.Header{
		Src: 40, Dst: 613, Seq: 70_000, Injected: 12 * weft.Second, Size: 256, VC: 1, Generation: 2, Hops: 3,
		Fields: weft.NewFields(),
	}
}

// Frame is one of such packets between ports of two VCs.
func Frame(packets int) weft.Frame {
	f := weft.Frame{From: 3, To: 2, VCs: 2}
	f.Sent[0], f.Sent[1], f.Limit[0], f.Limit[1] = 70_000, 120, 80_000, 65
	for range packets {
		f.Packets = append(f.Packets, Header())
	}
	return f
}
