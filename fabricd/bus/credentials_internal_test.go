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
	for _, closes := range []error{io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		err := fmt.Errorf("%w: connection closed by remote after TLS handshake: %w", nats.ErrTLS, closes)
		require.ErrorContains(t, cannotConnect("tls://h", Credentials{JWT: strings.Repeat("x", 60_000)}, err), "raise its max_control_line")
		require.ErrorContains(t, cannotConnect("tls://h", Credentials{JWT: strings.Repeat("x", 1000)}, err), "do not agree on TLS")
	}
}
