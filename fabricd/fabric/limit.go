package fabric

import (
	"sync"

	"github.com/weft-fabric/weft"
)

// A neighbour, or another process that can send on a link, can cause any number of events. Such
// events are limited, so that the ring keeps what matters and the output stays readable. None is
// lost from the count: the next event that is published has the number of those held back in its
// Count. It comes when its time has come, even if nothing more happens, and it is the latest one,
// so it shows the link as it is.

// limit says how many events of one source are published at once, and how often one is after these.
// Chosen by us.
type limit struct {
	burst int
	every weft.Time
}

var (
	faultLimit  = limit{16, weft.Second} // of a kind, all ports together; drivers limit those of one port
	changeLimit = limit{32, weft.Second} // of one end whose neighbour starts anew and anew
)

// limits hold back events.
type limits struct {
	events *Hub // gets those that are not held back

	mu      sync.Mutex
	sources map[eventSource]*limited // guarded by mu; bound: the link ends and switches of the fabric and a few kinds
}

// eventSource is what events are limited by.
type eventSource struct {
	kind string
	end  weft.End
}

// limited is what one source has used.
type limited struct {
	limit
	used    int       // of the burst
	since   weft.Time // when the last of it was given back
	waiting Event     // the latest that is held back
	count   uint64    // those held back
}

// admit returns e as it is to be published now, or reports that e is held back.
func (l *limits) admit(now weft.Time, from eventSource, most limit, e Event) (Event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sources[from]
	if s == nil {
		if l.sources == nil {
			l.sources = map[eventSource]*limited{}
		}
		s = &limited{limit: most, since: now}
		l.sources[from] = s
	}
	s.refill(now)
	s.count += max(1, e.Count)
	if s.used == s.burst {
		s.waiting = e
		return e, false
	}
	return s.take(e), true
}

func (s *limited) refill(now weft.Time) {
	back := min((now-s.since)/s.every, weft.Time(s.used))
	s.used -= int(back)
	s.since += back * s.every
	if s.used == 0 {
		s.since = now
	}
}

// take is e for itself and for those that were held back.
func (s *limited) take(e Event) Event {
	if e.Count = s.count; e.Count == 1 {
		e.Count = 0
	}
	s.count, s.waiting = 0, Event{}
	s.used++
	return e
}

// due returns the events whose time has come, and forgets sources that are quiet.
func (l *limits) due(now weft.Time) (events []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for from, s := range l.sources {
		s.refill(now)
		switch {
		case s.count > 0 && s.used < s.burst:
			events = append(events, s.take(s.waiting))
		case s.used == 0:
			delete(l.sources, from)
		}
	}
	return events
}

// publish publishes e now, or later if its source has used its share.
func (l *limits) publish(now weft.Time, from eventSource, most limit, e Event) {
	if e, ok := l.admit(now, from, most, e); ok {
		l.events.Publish(now, e)
	}
}

// publishDue publishes events that were held back and are due.
func (l *limits) publishDue(now weft.Time) {
	for _, e := range l.due(now) {
		l.events.Publish(now, e)
	}
}
