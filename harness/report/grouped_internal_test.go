package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLongNumbersAreGrouped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"999": "999", "1234567": "1,234,567", "3064 packets/s before": "3,064 packets/s before",
		"at 0.12345 s, s1000": "at 0.12345 s, s1000",
		"12345.678 s":         "12,345.678 s", "99999999999999999999": "99999999999999999999",
	} {
		require.Equal(t, want, grouped(text))
	}
}
