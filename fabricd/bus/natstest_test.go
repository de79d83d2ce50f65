package bus_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
)

// greeting is what the server says to who connects, "" when nobody answers.
func greeting(t *testing.T, s *natstest.Server, patience time.Duration) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "nats://"))
	if err != nil {
		return ""
	}
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	text := make([]byte, 4096)
	n, _ := conn.Read(text)
	return string(text[:n])
}

func TestAServerOutsideLivesAsTheTestSays(t *testing.T) {
	t.Parallel()
	for _, release := range natstest.Releases {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			s := natstest.Start(t, release, "max_payload: 12345")
			const soon = 10 * time.Second
			require.Contains(t, greeting(t, s, soon), `"max_payload":12345`)
			s.Kill()
			require.Empty(t, greeting(t, s, soon))
			s.Kill()
			url := s.URL
			s.Start()
			require.Equal(t, url, s.URL)
			require.Contains(t, greeting(t, s, soon), "INFO")
			s.Pause()
			require.Empty(t, greeting(t, s, 50*time.Millisecond))
			s.Resume()
			require.Contains(t, greeting(t, s, soon), "INFO")
			s.Reload("max_payload: 777")
			require.Contains(t, greeting(t, s, soon), `"max_payload":777`)
			s.Stop()
			require.Empty(t, greeting(t, s, soon))
			s.Start()
			s.Pause() // a paused one ends with the test too
		})
	}
}
