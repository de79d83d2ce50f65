package fault

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed are reports as a table has to cope with: long names, large and small figures.
func listed() []Report {
	return []Report{
		{
			ID: 9, Kind: "impair", What: "impair s0.01-s1.01, rate 100 kB/s (now loss 10%, delay 5ms, rate 100 kB/s)",
			At: 23.560, RestoredAt: 76.238,
			LostWire: 662, Rerouted: 46863, Discarded: 26624, Shared: FabricWide(),
			Degradation: Degradation{Found: true, Depth: 53.4, MadeGoodAfter: new(19.72)},
		},
		{
			ID: 10, Kind: "crash", What: "crash s1.03", At: 164.9, Detected: []Detection{{End: "s0.03"}},
			SeenAfter: 0.000034, LostCrash: 3, Degradation: Degradation{Found: true, Depth: 7},
		},
		{
			ID: 11, Kind: "cut", What: "cut s0.00-s1.00", At: 171, RestoredAt: 171.25, Detected: []Detection{{End: "s0.00"}},
			SeenAfter: 0.1459,
		},
	}
}

func TestATableOfFaults(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteTable(&b, 0, listed()))
	assert.Equal(t, `ID  FROM    FOR    SEEN    LOST  REROUTED  DISCARDED  DIP        WHAT
9*  23.6s   52.7s  no      662   46863     26624      53% 19.7s  impair s0.01-s1.01, rate 100 kB/s (now loss 10%, delay 5ms, rate 100 kB/s)
10  164.9s  lasts  0.03ms  3     0         0          7%         crash s1.03
11  171.0s  250ms  146ms   0     0         0          no         cut s0.00-s1.00
`, b.String())

	b.Reset()
	require.NoError(t, WriteTable(&b, 80, nil))
	assert.Equal(t, "no fault yet\n", b.String())
	assert.Error(t, WriteTable(failing{}, 0, listed()))
}

func TestATableFitsATerminal(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteTable(&b, 80, listed()))
	assert.Equal(t, `ID FROM   FOR   SEEN   LOST REROUTED DISCARDED DIP       WHAT
9* 23.6s  52.7s no     662  46863    26624     53% 19.7s impair s0.01-s1.01, ra…
10 164.9s lasts 0.03ms 3    0        0         7%        crash s1.03
11 171.0s 250ms 146ms  0    0        0         no        cut s0.00-s1.00
`, b.String())
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 80+1, "with its newline")
	}

	b.Reset()
	require.NoError(t, WriteTable(&b, 10, listed()))
	assert.Contains(t, b.String(), " impair s0.01-s1.0…\n", "what it is can be told even in a line that is too short")

	b.Reset()
	require.NoError(t, WriteTable(&b, 80, listed()[1:]))
	assert.Contains(t, b.String(), "ID  FROM    FOR", "what fits is not moved together")
}

func TestManyEndsAreSummedUp(t *testing.T) {
	r := Report{
		ID: 1, Kind: "broker", What: "connection 0 to the broker is lost",
		Note: "the broker at nats://127.0.0.1:4222 is gone", SeenAfter: 0.14813,
	}
	for range maxEnds + 3 {
		r.Detected = append(r.Detected, Detection{End: "s0.00", How: ByBroker})
	}
	var b strings.Builder
	_, err := r.WriteTo(&b)
	require.NoError(t, err)
	assert.Equal(t, maxEnds, strings.Count(b.String(), "by broker"))
	assert.Contains(t, b.String(), "\n                 by 3 more, the last after 148.13 ms\n")
	assert.Contains(t, b.String(), "\n  the broker at nats://127.0.0.1:4222 is gone\n")

	r.Detected = r.Detected[:maxEnds+1]
	b.Reset()
	_, err = r.WriteTo(&b)
	require.NoError(t, err)
	assert.Equal(t, maxEnds+1, strings.Count(b.String(), "by broker"), "one more takes no more room than to say so")
}
