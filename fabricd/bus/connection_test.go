package bus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"github.com/weft-fabric/weft/switch/wire"
)

// The client library throws away what it could not write and goes on after the gap; we do not.
func TestAWriteThatFailsEndsTheConnection(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	require.NoError(t, theirs.SetReadDeadline(time.Now().Add(connectTimeout)))
	w := new(connection)
	w.sock.Store(&ours)
	s := &shard{notify: func(e wire.Event) { t.Errorf("event: %v", e) }}
	err := &net.OpError{Op: "write", Err: os.ErrDeadlineExceeded}
	s.asyncError(w, nil, err)
	_, readErr := theirs.Read(make([]byte, 1))
	require.ErrorIs(t, readErr, io.EOF)
	require.ErrorIs(t, w.cause(), err)
}

func TestWhatTheBrokerSaysIsUnderstood(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][3]bool{ // unauthorized, too large, a denied subscription
		"nats: Authorization Violation":                                   {true, false, false},
		"nats: User Authentication Expired":                               {true, false, false},
		"nats: User Authentication Revoked":                               {true, false, false},
		"nats: Account Authentication Expired":                            {true, false, false},
		"nats: Maximum Payload Violation":                                 {false, true, false},
		"nats: maximum payload exceeded":                                  {false, true, false},
		"nats: Maximum Connections Exceeded":                              {},
		"EOF":                                                             {},
		`Permissions Violation for Publish to "a.b"`:                      {true, false, false},
		`Permissions Violation for Subscription to "a.b" using queue "q"`: {true, false, true},
	} {
		err := errors.New(said)
		if said[0] == 'P' {
			err = fmt.Errorf("%w: %s", nats.ErrPermissionViolation, said)
			require.Equal(t, "a.b", deniedSubject(err))
		}
		require.Equal(t, want, [3]bool{unauthorized(err), tooLarge(err), deniedSubscription(err)}, said)
	}
}
