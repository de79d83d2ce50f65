package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLatencyIsToldInUnitsThatFit(t *testing.T) {
	require.Equal(t, "p50 12 us, p99 2.5 ms, max 14.50 s", Latency{P50: 12, P99: 2500, Max: 14_495_515}.String())
}
