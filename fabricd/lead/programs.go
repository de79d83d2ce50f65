package lead

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	remoteHost "github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// programs lets programs of this machine have the NICs of a fabric that runs in this process. Where
// that cannot be it is noted, and the fabric runs all the same.
func (r term) programs(f *fabric.Fabric) *namespace.Server {
	if r.placed != nil || r.claim == nil {
		return nil
	}
	s, err := namespace.Serve(namespace.Config{
		Fabric: r.Name, Host: namespace.Local, Names: f.Topology().NICNames(), NIC: f.LocalNIC, Now: f.Now,
		Where: func(weft.NICID) string { return namespace.Local },
	})
	if err != nil {
		r.Note(err.Error())
	}
	return s
}

// reporter asks what programs do: those of this process, or on agents.
func (r term) reporter(here *namespace.Server) func(context.Context) ([]report.Report, []string) {
	if r.placed == nil {
		return func(context.Context) (list []report.Report, _ []string) {
			if here != nil {
				list = append(list, here.Report())
			}
			return list, nil
		}
	}
	a := &asked{peers: r.broker.Peers}
	for _, h := range r.placed.Hosts {
		a.hosts = append(a.hosts, h.Agent)
	}
	return a.ask
}

// Chosen by us: what a person takes for now, and longer than a host takes to answer.
const (
	askedLately = 500 * time.Millisecond
	askTime     = 2 * time.Second
)

// asked asks all hosts what programs do: at once, and for all who want to know lately.
type asked struct {
	peers  *bus.Client
	hosts  []string
	flight singleflight.Group

	mu   sync.Mutex
	at   time.Time // of last; guarded by mu
	last answers   // guarded by mu
}

type answers struct {
	reports []report.Report
	silent  []string
}

func (a *asked) ask(context.Context) ([]report.Report, []string) {
	a.mu.Lock()
	at, last := a.at, a.last
	a.mu.Unlock()
	if time.Since(at) < askedLately {
		return last.reports, last.silent
	}
	got, _, _ := a.flight.Do("", func() (any, error) {
		now := a.askAll()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.at, a.last = time.Now(), now
		return now, nil
	})
	now := got.(answers)
	return now.reports, now.silent
}

func (a *asked) askAll() (got answers) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	reports, failed := make([]report.Report, len(a.hosts)), make([]error, len(a.hosts))
	var asking sync.WaitGroup
	for i, name := range a.hosts {
		asking.Go(func() { reports[i], failed[i] = remoteHost.NewClient(a.peers, name).Programs(ctx) })
	}
	asking.Wait()
	for i, name := range a.hosts {
		if failed[i] != nil {
			got.silent = append(got.silent, name)
		} else {
			got.reports = append(got.reports, reports[i])
		}
	}
	slices.Sort(got.silent)
	return got
}
