package bus

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// sink is the other side of a batcher's connection; it counts writes as they arrive.
func sink(t *testing.T, patience time.Duration) (b *batcher, other net.Conn) {
	t.Helper()
	here, other := net.Pipe()
	b = newBatcher(here, patience)
	t.Cleanup(func() {
		_ = other.Close()
		_ = b.Close()
	})
	return b, other
}

func TestABatcherKeepsWhatEachWriterWroteInOrder(t *testing.T) {
	b, other := sink(t, time.Second)
	const writers, each = 8, 500
	var writing sync.WaitGroup
	for w := range uint32(writers) {
		writing.Go(func() {
			for i := range uint32(each) {
				_, err := b.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), i))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [writers]uint32
	got := make([]byte, 8)
	for range writers * each {
		_, err := io.ReadFull(other, got)
		require.NoError(t, err)
		w, i := binary.BigEndian.Uint32(got), binary.BigEndian.Uint32(got[4:])
		require.Equal(t, next[w], i)
		next[w]++
	}
	writing.Wait()
}

func TestABatcherWritesTogetherWhatWaits(t *testing.T) {
	b, other := sink(t, time.Second)
	_, err := b.Write([]byte("first")) // on the pipe, which nobody reads, while the others come
	require.NoError(t, err)
	one := make([]byte, 1)
	_, err = io.ReadFull(other, one)
	require.NoError(t, err)
	for range 100 {
		_, err := b.Write([]byte("x"))
		require.NoError(t, err)
	}
	_, err = io.ReadFull(other, make([]byte, 4))
	require.NoError(t, err)
	n, err := other.Read(make([]byte, 1000))
	require.NoError(t, err)
	require.Equal(t, 100, n)
}

func TestABatcherClosesOnceAllHasLeft(t *testing.T) {
	b, other := sink(t, time.Second)
	want := bytes.Repeat([]byte("weft"), 10_000)
	_, err := b.Write(want)
	require.NoError(t, err)
	closed := make(chan error)
	go func() { closed <- b.Close() }()
	got, err := io.ReadAll(other)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, <-closed)
	_, err = b.Write(want)
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestABatcherGivesUpAConnectionThatTakesNothing(t *testing.T) {
	b, other := sink(t, 20*time.Millisecond)
	var err error
	for sent := 0; err == nil; sent += 1 << 16 { // also when it waits for room
		require.Less(t, sent, 4*maxBatched)
		_, err = b.Write(make([]byte, 1<<16))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = other.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF) // who reads sees it too
}

func TestABatcherClosesAConnectionThatHangs(t *testing.T) {
	testenv.Raced(t)
	b, _ := sink(t, 0)
	_, err := b.Write([]byte("nobody reads this"))
	require.NoError(t, err)
	_ = b.Close() // returns
	_, err = b.Write(nil)
	require.Error(t, err)
}

// As of a server that refuses a certificate: it says so, and closes a connection that we still
// write to.
func TestABatcherThatCannotWriteStillReads(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	here, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	there, err := listener.Accept()
	require.NoError(t, err)
	b := newBatcher(here, time.Minute)
	defer b.Close()
	_, err = there.Write([]byte("bad certificate"))
	require.NoError(t, err)
	require.NoError(t, there.Close())
	for err == nil {
		_, err = b.Write([]byte("x"))
	}
	said := make([]byte, len("bad certificate"))
	_, err = io.ReadFull(b, said)
	require.NoError(t, err)
	require.Equal(t, "bad certificate", string(said))
}
