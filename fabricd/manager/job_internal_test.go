package manager

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Until 0.2.0 managers of either version take over from each other: a job has the old name too.
func TestAJobSaysUnderBothNamesThatTheOneBeforeWasAcknowledged(t *testing.T) {
	t.Parallel()
	var s Memory
	for key, value := range map[string]string{"new": `{"acknowledged":true}`, "old": `{"told":true}`} {
		require.NoError(t, s.Put(context.Background(), key, []byte(value)))
		var j job
		_, found, err := read(context.Background(), &s, key, &j)
		require.NoError(t, err)
		require.True(t, found && j.Acknowledged, key)
		require.Contains(t, string(encode(j)), `"acknowledged":true,"told":true,`)
		require.Contains(t, string(encode(job{})), `"acknowledged":false,"told":false,`)
	}
}
