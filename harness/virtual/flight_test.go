package virtual

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// When all links come up there are more frames than ever after: those on no wire must not stay.
func TestFramesThatNobodyNeedsGo(t *testing.T) {
	e := New(Config{})
	w := e.workers[0]
	to := &Node{worker: w, ports: make([]port, 1)}
	w.add(to)
	for range 100 {
		w.send(sending{to: to, at: weft.Second, on: w.take()})
	}
	w.flush()
	for _, s := range w.sent[:100] {
		require.Nil(t, s.on)
	}
	for line := &to.ports[0].line; !line.Empty(); {
		w.recycle(line.Pop())
	}
	require.LessOrEqual(t, len(w.spare), len(w.nodes)+1)
	require.Zero(t, to.ports[0].line, "it holds the last frame")
}
