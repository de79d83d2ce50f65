package bus

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// readFrom is a connection that is read only.
type readFrom struct {
	net.Conn
	io.Reader
}

func (r readFrom) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// What is a message is delivered, and all else passes, however the bytes are cut up on their way.
func TestDirectTakesMessagesOutOfTheStream(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*leastRead)
	stream :=
		"INFO {}\r\n+OK\r\nMSG a.b 1 3\r\nMSG\r\nPING\r\nMSG c 1 to.me 0\r\n\r\nHMSG d 1 12 15\r\nNATS/1.0\r\n\r\nMSG\r\n" +
			"MSG e 1 98304\r\n" + long + "\r\nMSG f 1 x\r\nPONG\r\nMSG g 1 2\r\n\r\n\r\n-ERR 'no'\r\n"
	for _, split := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.OneByteReader, iotest.DataErrReader,
	} {
		var got []string
		d := newDirect(&batcher{Conn: readFrom{Reader: split(strings.NewReader(stream))}}, func(subject, frame []byte) {
			got = append(got, string(subject)+" "+string(frame))
		})
		rest, err := io.ReadAll(d)
		require.NoError(t, err)
		require.Equal(t,
			"INFO {}\r\n+OK\r\nPING\r\nHMSG d 1 12 15\r\nNATS/1.0\r\n\r\nMSG\r\nMSG f 1 x\r\nPONG\r\n-ERR 'no'\r\n",
			string(rest))
		require.Equal(t, []string{"a.b MSG", "c ", "e " + long, "g \r\n"}, got)
	}
}

// Messages and what the library writes leave in their order, each whole.
func TestDirectPublishes(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	b := newDirect(newBatcher(near, 0), nil)
	require.NoError(t, b.publishTo("a.b", []byte("\r\n")))
	_, err := b.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	require.NoError(t, b.publishTo("c", nil))
	got := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(far)
		got <- all
	}()
	require.NoError(t, b.Close())
	require.Equal(t, "PUB a.b 2\r\n\r\n\r\nPING\r\nPUB c 0\r\n\r\n", string(<-got))
	require.ErrorIs(t, b.publishTo("a", nil), net.ErrClosed)
}
