package fabric_test

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

var traceTo = flag.String("weft.ledger-trace", "", "the file that the soak writes its orders, answers and faults to, for fabricd/ledger to replay")

// shadow keeps a fabric's accounts once more, by package ledger, from samples of what the fabric says.
type shadow struct {
	t       testing.TB
	f       *fabric.Fabric
	l       *ledger.Ledger
	seq     uint64
	ids     map[int]int // the incident of each report
	over    map[int]bool
	trace   *json.Encoder // nil: nobody wants one
	close   func()
	moments int
	differs uint64 // packets that are on another fault than by today's accounting
}

// moment is one line of a trace.
type moment struct {
	Now    weft.Time
	Began  []ledger.FaultBegan
	Ended  []int // incidents
	Answer *ledger.Answer
	Today  fabric.Ledger         // by today's accounting
	Costs  map[int]ledger.Losses // likewise, per incident
	Quiet  bool                  // nothing moves: all is equal
}

func newShadow(t testing.TB, f *fabric.Fabric) *shadow {
	t.Helper()
	s := &shadow{t: t, f: f, l: f.LedgerOf(), ids: map[int]int{}, over: map[int]bool{}, close: func() {}}
	if *traceTo == "" {
		return s
	}
	file, err := os.Create(*traceTo)
	require.NoError(t, err)
	packed := gzip.NewWriter(file)
	s.trace = json.NewEncoder(packed)
	require.NoError(t, s.trace.Encode(f.Topology().Links))
	s.close = func() {
		require.NoError(t, packed.Close())
		require.NoError(t, file.Close())
	}
	return s
}

// look has the ledger take what the fabric says now.
func (s *shadow) look(quiet bool) {
	now := s.f.Sample()
	m := moment{Now: now.Now, Answer: &now.Answer, Today: now.Today, Costs: map[int]ledger.Losses{}, Quiet: quiet}
	s.seq++
	m.Answer.Seq = s.seq
	for _, r := range now.Faults {
		id, known := s.ids[r.Report.ID]
		if !known {
			b := ledger.FaultBegan{Kind: r.Report.Kind, Target: r.Report.Target, Links: r.Links, Switches: r.Switches}
			m.Began = append(m.Began, b)
			s.l.Step(now.Now, b)
			id = s.l.Last()
			s.ids[r.Report.ID] = id
		}
		if r.Report.RestoredAt > 0 && !s.over[id] {
			s.over[id] = true
			m.Ended = append(m.Ended, id)
			s.l.Step(now.Now, ledger.FaultEnded{Incident: id})
		}
		m.Costs[id] = ledger.Losses{Wire: r.Report.LostWire, Queued: r.Report.LostQueued, Crash: r.Report.LostCrash}
	}
	require.Empty(s.t, s.l.Step(now.Now, m.Answer))
	if s.moments++; s.trace != nil {
		require.NoError(s.t, s.trace.Encode(m))
	}
	if quiet {
		s.equal(&m)
	}
}

// equal compares the two at a quiet point.
func (s *shadow) equal(m *moment) {
	a, b := m.Today, s.l.Sums()
	require.Equal(s.t, []uint64{a.Injected, a.Delivered, a.Discarded, a.LostWire, a.LostQueued, a.LostCrash, a.InFlight, a.Waiting.Switches},
		[]uint64{b.Injected, b.Delivered, b.Discarded, b.LostWire, b.LostQueued, b.LostCrash, b.InFlight, b.Waiting.Switches})
	require.True(s.t, a.Balanced && b.Balanced)
	for _, k := range s.l.LostOn() {
		on := a.LostOn[s.f.Topology().Links[k.Link].Name]
		require.Equal(s.t, on, fabric.LinkLoss{Wire: k.Wire[0] + k.Wire[1], Queued: k.Queued})
	}
	lost := s.l.State().Unattributed.Sum()
	s.differs = lost
	for _, in := range s.l.Incidents(0) {
		lost += in.Lost.Sum()
		if is, was := in.Lost.Sum(), m.Costs[in.ID].Sum(); is > was {
			s.differs += is - was
		}
	}
	for _, k := range s.l.State().Forgotten {
		lost += k.Lost
	}
	require.Equal(s.t, b.Lost, lost)
	s.t.Logf("ledger: equal after %d looks; of %d packets lost %d are on another fault, for looks are at other moments than orders", s.moments, b.Lost, s.differs)
}
