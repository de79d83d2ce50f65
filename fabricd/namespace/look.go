//go:build linux

package namespace

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// now is the time of the fabric.
func (s *Server) now() weft.Time {
	if s.cfg.Now != nil {
		return s.cfg.Now()
	}
	return s.elapsed()
}

// elapsed is by the clock of the machine.
func (s *Server) elapsed() weft.Time { return weft.Time(time.Since(s.began)) * weft.Nanosecond }

// tell notes what a client tells, after what it told before.
func (s *Server) tell(before *rate, nic string, t told) *rate {
	now := s.now()
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.rates.tell(before, nic, t, now, s.elapsed())
}

func (s *Server) finish(r *rate) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if r != nil {
		r.Ended = true
	}
}

// lookEvery is how often it is looked which processes have the connections. Chosen by us: it takes
// some milliseconds.
const lookEvery = time.Second

// look looks which processes have the connections of all namespaces, until the server is closed.
func (s *Server) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.lookNow()
		case <-s.over:
			return
		}
	}
}

func (s *Server) lookNow() {
	list := s.made()
	if len(list) == 0 {
		return
	}
	of := make([]network, 0, len(list))
	for _, p := range list {
		of = append(of, p.net)
	}
	found := processes(of)
	for _, p := range list {
		p.seen(found[p.net])
	}
}

// made are the places that there are now, by NIC.
func (s *Server) made() (list []*place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.places {
		select {
		case <-p.closed:
		case <-p.done:
			list = append(list, p)
		default:
		}
	}
	slices.SortFunc(list, func(a, b *place) int { return int(a.id) - int(b.id) })
	return list
}

// Report is what programs do now.
func (s *Server) Report() report.Report {
	r := report.Report{NICs: []report.NIC{}}
	for _, p := range s.made() {
		if p.port != nil {
			r.NICs = append(r.NICs, report.NIC{NIC: p.name, Traffic: p.port.Traffic()})
		}
	}
	all := s.connections()
	for _, ended := range []bool{false, true} { // the latest that have ended come last
		for _, c := range slices.Backward(all) {
			if c.Ended == ended {
				r.Connections = append(r.Connections, c)
			}
		}
	}
	r.Omitted = max(0, len(all)-report.MaxConnections)
	r.Connections = r.Connections[:len(all)-r.Omitted]
	s.ending.Lock()
	defer s.ending.Unlock()
	r.Rates = s.rates.all(s.elapsed())
	return r
}
