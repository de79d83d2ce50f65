package bus

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// A broker that finds a token too long says so and closes the connection, and what it says may be
// lost: nats.go then takes it for one that wants another certificate.
func TestATokenThatIsTooLongIsNamedWhateverIsHeardOfIt(t *testing.T) {
	t.Parallel()
	long, short := Credentials{JWT: strings.Repeat("x", 4097)}, Credentials{JWT: strings.Repeat("x", 4096)}
	for _, closes := range []error{io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		err := fmt.Errorf("%w: connection closed by remote after TLS handshake: %w", nats.ErrTLS, closes)
		require.ErrorContains(t, cannotConnect("tls://h", long, err),
			"may be too long for it, 4097 bytes: raise its max_control_line")
		require.ErrorContains(t, cannotConnect("tls://h", short, err), "do not agree on TLS")
	}
	err := fmt.Errorf("%w: unknown authority", nats.ErrTLS)
	require.ErrorContains(t, cannotConnect("tls://h", long, err), "do not agree on TLS")
}
