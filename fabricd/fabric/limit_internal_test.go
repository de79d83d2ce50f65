package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestEventsOfOneSourceAreLimitedAndCountedAndTheLatestIsTold(t *testing.T) {
	t.Parallel()
	var l limits
	most := limit{3, weft.Second}
	a, b := eventSource{kind: "a"}, eventSource{end: weft.End{Port: 1}}
	var published []Event
	at := func(now weft.Time, from eventSource, detail string) {
		if e, ok := l.admit(now, from, most, Event{Detail: detail}); ok {
			published = append(published, e)
		}
	}
	for range 1000 {
		at(0, a, "one of many")
	}
	at(0, a, "the latest")
	require.Len(t, published, 3)
	at(0, b, "another source")
	require.Equal(t, Event{Detail: "another source"}, published[3])
	require.Empty(t, l.due(weft.Second-1))
	require.Equal(t, []Event{{Detail: "the latest", Count: 998}}, l.due(weft.Second))
	require.Empty(t, l.due(weft.Second))

	// Drivers count for themselves.
	published = nil
	if e, ok := l.admit(100*weft.Second, a, most, Event{Count: 7}); ok {
		published = append(published, e)
	}
	require.Equal(t, []Event{{Count: 7}}, published)

	require.Empty(t, l.due(200*weft.Second))
	require.Empty(t, l.sources, "quiet sources are forgotten")
}
