package bus

import (
	"sync"

	"github.com/weft-fabric/weft"
)

// crowded reports whether an inbox takes frames with packets only. Those are as many as the credits
// allow. Of frames without packets, a receiver that gets no processor for long may be owed any number: a
// hello is due whether or not the one before has been heard. They take half of the inbox. What is beyond
// is lost, as [Stats].Full counts; the next hello makes up for it.
func crowded(inbox chan<- Message) bool { return len(inbox) >= max(1, cap(inbox)/2) }

// packetsIn is how many packets a frame of a link has.
func packetsIn(sum LinkSum, frame []byte) (n int, err error) {
	f := frames.Get().(*weft.Frame)
	defer frames.Put(f)
	err = DecodeFrame(f, sum, frame)
	return len(f.Packets), err
}

// frames are for looking into frames, which happens rarely.
var frames = sync.Pool{New: func() any { return new(weft.Frame) }}
