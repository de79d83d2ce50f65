package lead

import (
	"context"
	"errors"
	"sync"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/jobs"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// jobList tells the page of the jobs at a server, to which it connects when it is asked first.
type jobList struct {
	at bus.Resolved

	mu   sync.Mutex // also while it asks: the page asks every few seconds
	open *bus.Jobs  // guarded by mu
}

// list returns the jobs; none where the server keeps none, or does not let us.
func (l *jobList) list(ctx context.Context) ([]api.Job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []api.Job{}
	if l.open == nil {
		j, err := bus.OpenJobs(ctx, bus.JobsConfig{
			URL: l.at.URL, Credentials: l.at.Credentials, Program: "page", Existing: true,
		})
		switch {
		case errors.Is(err, reply.ErrNoKey), errors.Is(err, bus.ErrNoStore):
			return all, nil
		case err != nil:
			return nil, err
		}
		l.open = j
	}
	orders, err := jobs.List(ctx, l.open)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		p, err := jobs.Look(ctx, l.open, o)
		if err != nil {
			return nil, err
		}
		v := api.Job{
			ID: o.ID, Command: o.Command(), State: string(o.State), What: p.What, Pieces: p.Pieces,
			Done: min(p.Done, p.Pieces), GivenUp: len(p.Aside), Hosts: []api.Worker{},
		}
		for _, h := range p.Hosts {
			v.Hosts = append(v.Hosts, api.Worker{Name: h.Name, Done: h.Pieces, Rate: h.Rate})
		}
		all = append(all, v)
	}
	return all, nil
}

func (l *jobList) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		l.open.Close()
	}
}
