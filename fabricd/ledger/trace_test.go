package ledger

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// moment is one line of a trace, which the soak of fabricd/fabric records with -weft.ledger-trace.
type moment struct {
	Now    weft.Time
	Began  []FaultBegan
	Ended  []int
	Answer *Answer
	Today  struct { // by the accounts of the fabric itself
		Injected   uint64   `json:"injected"`
		Delivered  uint64   `json:"delivered"`
		Discarded  uint64   `json:"discarded"`
		InFlight   uint64   `json:"in_flight"`
		LostWire   uint64   `json:"lost_wire"`
		LostQueued uint64   `json:"lost_queued"`
		LostCrash  uint64   `json:"lost_crash"`
		Waiting    InFlight `json:"waiting"`
	}
	Costs map[int]Losses // likewise, per incident
	Quiet bool
}

// Recorded soaks, replayed: at every quiescent point the sums, and what each fault has cost, are
// what the fabric said, also when another leader goes on from a checkpoint in between.
func TestRecordedSoaksAddUpToTheSame(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("testdata/*.trace.gz")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, name := range list {
		file, err := os.Open(name)
		require.NoError(t, err)
		packed, err := gzip.NewReader(file)
		require.NoError(t, err)
		in := json.NewDecoder(packed)
		var links []Link
		require.NoError(t, in.Decode(&links))
		l := New(links)
		quiet, lost := 0, uint64(0)
		for moments := 0; ; moments++ {
			var m moment
			if err := in.Decode(&m); err == io.EOF {
				break
			}
			require.NoError(t, err)
			for _, b := range m.Began {
				l.Step(m.Now, b)
			}
			for _, id := range m.Ended {
				l.Step(m.Now, FaultEnded{id})
			}
			require.Empty(t, l.Step(m.Now, m.Answer))
			if moments%10 == 0 {
				data, err := l.Checkpoint(maxIncidents)
				require.NoError(t, err)
				l, err = Restore(data, links)
				require.NoError(t, err)
			}
			if !m.Quiet {
				continue
			}
			quiet++
			s := l.Balance()
			require.True(t, s.Balanced)
			w := m.Today.Waiting
			require.Equal(t, []uint64{
				m.Today.Injected, m.Today.Delivered, m.Today.Discarded, m.Today.InFlight, m.Today.LostWire,
				m.Today.LostQueued, m.Today.LostCrash, w.Queues, w.Switches, w.Wires,
			},
				[]uint64{
					s.Injected, s.Delivered, s.Discarded, s.InFlight, s.LostWire, s.LostQueued, s.LostCrash, s.Waiting.Queues,
					s.Waiting.Switches, s.Waiting.Wires,
				})
			for _, in := range l.Incidents(0) {
				require.Equal(t, m.Costs[in.ID], in.Lost, "%s %s", in.Kind, in.Target)
			}
			lost = s.Lost
		}
		require.NoError(t, file.Close())
		require.Greater(t, quiet, 2)
		require.Greater(t, lost, uint64(50))
	}
}
