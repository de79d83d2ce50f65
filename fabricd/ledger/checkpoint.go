package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
)

// version is that of checkpoints: raise it when [State] changes in a way that older readers, or
// older checkpoints, would be read wrongly. A counter more needs no new version: in older
// checkpoints it is 0.
const version = 1

// errVersion means that a checkpoint is of a version that this ledger does not read.
var errVersion = errors.New("checkpoint of another version")

// Checkpoint writes the state as msgpack, with so many incidents that are closed, the latest; of
// others only what they come to. The same state is the same bytes.
func (l *Ledger) Checkpoint(closed int) ([]byte, error) {
	l = l.trimmed(closed)
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.UseCompactInts(true)
	if err := errors.Join(enc.EncodeUint(version), enc.Encode(&l.state)); err != nil {
		return nil, fmt.Errorf("ledger: write the checkpoint: %w", err)
	}
	return b.Bytes(), nil
}

// CheckpointIncidents are the numbers of the incidents in a checkpoint with so many closed ones.
func (l *Ledger) CheckpointIncidents(closed int) (ids []int) {
	for _, in := range l.trimmed(closed).state.Incidents {
		ids = append(ids, in.ID)
	}
	return ids
}

// trimmed is the ledger as a checkpoint has it.
func (l *Ledger) trimmed(closed int) *Ledger {
	l = &Ledger{state: l.state}
	l.state.Incidents, l.state.Forgotten = slices.Clone(l.state.Incidents), slices.Clone(l.state.Forgotten)
	for i := range l.state.Incidents {
		if !l.state.Incidents[i].Open {
			closed--
		}
	}
	l.forget(-closed)
	return l
}

// Restore returns the ledger of a checkpoint, for a fabric with these links. The next event is
// [LeaderChanged], unless the same leader goes on. The error says what is wrong with the data, or
// of which version it is.
func Restore(data []byte, links []Link) (*Ledger, error) {
	dec := msgpack.NewDecoder(bytes.NewReader(data))
	v, err := dec.DecodeUint64()
	if err != nil {
		return nil, fmt.Errorf("ledger: read the checkpoint: %w", err)
	}
	if v != version {
		return nil,
			fmt.Errorf("ledger: %w: it is version %d, and this fabricd reads version %d: run the fabricd that wrote it",
				errVersion, v, version)
	}
	l := New(links)
	if err := dec.Decode(&l.state); err != nil {
		return nil, fmt.Errorf("ledger: read the checkpoint: %w", err)
	}
	if err := l.valid(); err != nil {
		return nil, fmt.Errorf("ledger: the checkpoint does not fit the fabric: %w", err)
	}
	return l, nil
}

// valid checks what the ledger relies on: lists are in order, and name what there is.
func (l *Ledger) valid() error {
	s := &l.state
	fits := New(l.links)
	switch {
	case len(s.Switches) != len(fits.state.Switches) || len(s.NICs) != len(fits.state.NICs):
		return errors.New("it has other nodes")
	case !ascending(s.Hosts, func(a, b Host) int { return cmp.Compare(a.Incarnation, b.Incarnation) }):
		return errors.New("incarnations are not in order")
	case !ascending(s.Sessions, func(a, b Session) int { return a.compare(&b) }):
		return errors.New("sessions are not in order")
	case len(s.Incidents) > maxIncidents,
		!ascending(s.Incidents, func(a, b Incident) int { return cmp.Compare(a.ID, b.ID) }):
		return errors.New("incidents are not in order, or too many")
	case !ascending(s.Retired, func(a, b RetiredCounters) int { return cmp.Compare(a.Host, b.Host) }):
		return errors.New("retired counters are not in order")
	case !ascending(s.Pending, Pending.compare):
		return errors.New("losses of no incident are not in order")
	}
	for i := range s.Retired {
		if p := &s.Retired[i]; !l.sorted(&p.Counted) || !ascending(p.LinkTotals, LinkTotal.Compare) {
			return fmt.Errorf("losses of the past of host %d are not in order, or of what is not there", p.Host)
		}
	}
	for i := range s.Hosts {
		if !l.sorted(&s.Hosts[i].Counted) {
			return fmt.Errorf("losses of incarnation %d are not in order, or of what is not there", s.Hosts[i].Incarnation)
		}
	}
	for i := range s.Sessions {
		k := &s.Sessions[i]
		if n := k.Channel.Node; n.Kind == 0 && int(k.Channel.Link) >= len(l.links) || n.Kind != 0 && !l.knows(n) {
			return fmt.Errorf("a session is on %v, link %d, which is not there", n, k.Channel.Link)
		}
		if _, ok := l.positions(k); !ok {
			return fmt.Errorf("a session is between incarnations %d and %d, of which one is not there",
				k.Sides[0].Incarnation, k.Sides[1].Incarnation)
		}
	}
	return nil
}
