package wire

import (
	"sync"

	"github.com/weft-fabric/weft"
)

// Crowded reports whether a transport must drop a frame, so that the inbox keeps room for frames
// with packets. Those are as many as the credits allow. Of frames without packets, a receiver that
// gets no processor for long may be owed any number: a hello is due whether or not the one before
// has been heard. They take half of the inbox. A transport drops those beyond and counts them in
// [Stats].Full; the next hello makes up for them. link is the sum of the direction that the frame
// came on.
func Crowded(inbox chan<- Message, link LinkSum, frame []byte) bool {
	if len(inbox) < max(1, cap(inbox)/2) {
		return false
	}
	packets, err := packetsIn(link, frame)
	return err == nil && packets == 0
}

// packetsIn is how many packets a frame of a link has.
func packetsIn(sum LinkSum, frame []byte) (n int, err error) {
	f := frames.Get().(*weft.Frame)
	defer frames.Put(f)
	err = DecodeFrame(f, sum, frame)
	return len(f.Packets), err
}

// frames are for looking into frames, which happens rarely.
var frames = sync.Pool{New: func() any { return new(weft.Frame) }}
