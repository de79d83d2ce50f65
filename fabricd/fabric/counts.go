package fabric

import "github.com/weft-fabric/weft/fabricd/ledger"

// FaultCount is the number and the cost of all faults of one kind since the start.
type FaultCount struct {
	Begun uint64
	Open  int    // last, or are still counted
	Lost  uint64 // packets, as far as hosts have told
}

// FaultCounts counts the faults by kind, including those whose reports are no longer kept. It asks
// no host.
func (f *Fabric) FaultCounts() map[string]FaultCount {
	counts := map[string]FaultCount{}
	f.ledger.read(func(l *ledger.Ledger) {
		for _, k := range l.State().Forgotten {
			counts[k.Kind] = FaultCount{Begun: k.Begun, Lost: k.Lost}
		}
		for _, in := range l.Incidents(0) {
			c := counts[in.Kind]
			c.Begun, c.Lost = c.Begun+1, c.Lost+in.Lost.Sum()
			if in.Open {
				c.Open++
			}
			counts[in.Kind] = c
		}
	})
	return counts
}
