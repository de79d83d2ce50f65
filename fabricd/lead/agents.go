package lead

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/lease"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// onAgents is a fabric on agents for which this process leads or stands by.
type onAgents struct {
	*process
	store   cluster.StateStore
	hosts   *bus.Client
	keys    Keys // renewed while it stands by, too
	me      cluster.Leader
	since   uint64    // revision of the store at which another leader was seen first, or this one led; 0: it never was
	created time.Time // the fabric
}

// onAgents says whether the fabric is to run on agents, or does already: nil if not. The caller
// closes it.
func (p *process) onAgents(ctx context.Context) (*onAgents, error) {
	at := p.Server
	if at.URL == "" {
		if p.OnAgents {
			return nil, bus.ErrNoServer
		}
		return nil, nil
	}
	if there, err := writtenDown(ctx, p.Name, at); err != nil || !there && !p.OnAgents {
		return nil, err
	}
	c := &onAgents{process: p}
	var err error
	if c.me, err = cluster.ThisLeader(); err != nil {
		return nil, err
	}
	if c.store, err = cluster.OpenStore(ctx, p.Name, at, false); err != nil {
		return nil, err
	}
	if c.hosts,
		err = bus.Dial(bus.ClientConfig{
		Leads: true, URL: at.URL, Credentials: at.Credentials, Program: "up",
		Build: p.Build,
	}); err != nil {
		c.store.Store.Close()
		return nil, err
	}
	if err := c.keys.Open(at, p.Name, p.Log); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// lookTime bounds how long up looks whether a fabric is written down at a server that may keep
// nothing, or nothing for us.
const lookTime = 5 * time.Second

func writtenDown(ctx context.Context, name string, at bus.Resolved) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	store, err := cluster.OpenStore(ctx, name, at, true)
	if errors.Is(err, bus.ErrNoStore) || errors.Is(err, reply.ErrNoKey) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer store.Store.Close()
	_, there, err := store.Desired(ctx)
	return there, err
}

func (c *onAgents) close() {
	c.keys.Close()
	_ = c.hosts.Close() // it all goes with the process
	c.store.Store.Close()
}

// run leads whenever nobody else does, until ctx ends.
func (c *onAgents) run(ctx context.Context) error {
	if err := c.agrees(ctx); err != nil {
		return err
	}
	for {
		lead, err := cluster.Campaign(ctx, cluster.CampaignConfig{Store: c.store.Store, Me: c.me, Standby: c.standsBy})
		if ctx.Err() != nil {
			return nil // it only stood by
		}
		if err != nil {
			return err
		}
		err = c.lead(ctx, lead)
		if !errors.Is(err, errOtherLeader) && !errors.Is(err, lease.ErrLost) {
			return err
		}
		c.since = cmp.Or(c.since, lead.Term)
		c.notef("%v: the fabric goes on, and this process stands by", err)
	}
}

func (c *onAgents) standsBy(l cluster.Leader, at uint64) {
	c.since = cmp.Or(c.since, at)
	c.Standby(l)
}

// lead leads until ctx ends, and ends the fabric then; or until another leads.
func (c *onAgents) lead(ctx context.Context, lead *lease.Lease) (err error) {
	lost := make(chan struct{})
	lose := sync.OnceFunc(func() { close(lost) })
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer func() {
		end() // gives the lead back
		running.Wait()
	}()
	running.Go(func() {
		if err := lead.Keep(background); err != nil {
			c.Log.Warn("lead", "err", err)
			lose()
		}
	})
	o, where, fresh, err := c.settle(ctx, lead.Term)
	if err != nil || where == nil {
		return err
	}
	var state fabric.State
	checkpointer, kept, err := c.store.TakeOver(ctx, lead.Term, &state, &state.Tables,
		func(err error) { c.Note(err.Error()) })
	if err != nil {
		return err
	}
	keeping, stopKeeping := context.WithCancel(background)
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := checkpointer.Run(keeping); err != nil {
			c.Log.Warn("state", "err", err)
			lose()
		}
	})
	defer func() {
		stopKeeping()
		writing.Wait()
	}()
	if kept {
		o.Adopt = &state
	}
	hosts := c.hostsOn(o.Topology, where, lead.Term)
	if !kept && !fresh {
		// Who wrote it down was killed before it was up: of the hosts that were made by then nobody
		// knows enough to lead them.
		if err := c.clear(ctx, hosts, where); err != nil {
			return err
		}
		fresh = true
	}
	o.Replaced = lose
	o.Term, o.Checkpoint, o.Host = lead.Term, func(s fabric.State) <-chan struct{} {
		return checkpointer.Write(s,
			s.Tables)
	}, c.counting(hosts.Host, len(where.Hosts))
	var names []string
	for _, p := range where.Hosts {
		names = append(names, p.Agent)
		o.Hosts = append(o.Hosts, fabric.HostOptions{Name: p.Agent, Switches: p.Switches, NICs: p.NICs})
	}
	err = c.leadHosts(ctx, o, where, lost)
	over, err := outcome(err, fresh, ctx.Err() != nil)
	if !over {
		return err
	}
	stopKeeping()
	writing.Wait()
	after := context.WithoutCancel(ctx)
	if lost := c.store.Claim(after, lead.Term); errors.Is(lost, lease.ErrLost) { // this process was stopped meanwhile
		return lost
	}
	_, dropped := hosts.Drop(after, names, "the fabric is over")
	if dropped != nil {
		c.Note(dropped.Error())
	}
	return errors.Join(err, c.store.End(after))
}

// outcome reports whether the fabric is over when its leader has ended with err, and the error that
// says how it ended. One that was there before this leader goes on, unless this leader has drained
// it: with a ledger that does not balance that is over, and failed.
func outcome(err error, fresh, interrupted bool) (over bool, _ error) {
	switch {
	case errors.Is(err, errOtherLeader), errors.Is(err, ErrLeft), errors.Is(err, reply.ErrNoAccess):
		return false, err
	case err == nil, errors.Is(err, ErrUnbalanced), fresh:
		return true, err
	case interrupted:
		return false, ErrLeft // before it led
	}
	return false, err
}

// leadHosts opens what a leader needs, and leads.
func (c *onAgents) leadHosts(ctx context.Context, o fabric.Options, where *placement.Placement,
	lost <-chan struct{},
) error {
	places, err := fabric.Placements(o.Topology, o.Hosts, 1)
	if err != nil {
		return err
	}
	layout, err := remote.LeaderLayout(o.Topology, places)
	if err != nil {
		return err
	}
	name, err := c.takeName(ctx, true)
	if err != nil {
		return err
	}
	defer name.close()
	b, err := BrokerConfig{Name: c.Name, Server: c.Server, Log: c.Log, Layout: layout, Keys: &c.keys}.Open(c.Note)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	o.Transport = b.Transport
	claim, err := registry.Take(c.Name)
	switch {
	case errors.Is(err, registry.ErrRunning):
		c.notef("%v: linkmon finds this one with --server", err)
		claim = nil
	case err != nil:
		return err
	default:
		defer func() { _ = claim.Release() }()
	}
	return term{
		process: c.process, broker: b, claim: claim, placed: where, lost: lost, began: c.created, progress: c.linksUp,
	}.run(ctx, o)
}

// settle finds the fabric that is written down, or places a new one and writes it down. No
// placement and no error: it was ended meanwhile.
func (c *onAgents) settle(ctx context.Context, term uint64) (o fabric.Options, where *placement.Placement, fresh bool,
	err error,
) {
	want, there, err := c.store.Desired(ctx)
	switch {
	case err != nil:
		return o, nil, false, err
	case there:
		o, where, err = c.found(ctx, want)
		return o, where, false, err
	}
	if ended, err := c.ended(ctx); ended || err != nil {
		return o, nil, false, err
	}
	if o, err = c.options(ctx); err != nil {
		return o, nil, true, err
	}
	where, err = c.place(ctx, o.Topology, term)
	return o, where, true, err
}

// found is the fabric as it was written down.
func (c *onAgents) found(ctx context.Context, want cluster.Desired) (o fabric.Options, where *placement.Placement,
	err error,
) {
	s, err := c.fits(want)
	if err != nil {
		return o, nil, err
	}
	c.Settings, c.created = s, want.Created
	if err := subnet.Keep(s.Routing, want.File); err != nil {
		return o, nil, fmt.Errorf("firmware %s as it is written down: %w", s.Routing, err)
	}
	g, err := want.Graph()
	if err != nil {
		return o, nil, err
	}
	if o, err = c.optionsOn(ctx, g); err != nil {
		return o, nil, err
	}
	where, err = c.store.Placement(ctx, g)
	return o, where, err
}

// place finds agents, places a new fabric on them and writes it down.
func (c *onAgents) place(ctx context.Context, g *topology.Graph, term uint64) (*placement.Placement, error) {
	found, err := cluster.Find(ctx, c.hosts, c.Build, c.Agents)
	if err != nil {
		return nil, err
	}
	old := cluster.Hosts{Agents: c.hosts, Fabric: c.Name, Term: term}
	if stale := old.Stale(found); len(stale) > 0 { // of a fabric of this name that nobody knows of any more
		if _, err := old.Drop(ctx, stale, "a new fabric of this name begins"); err != nil {
			return nil, err
		}
		if found, err = cluster.Find(ctx, c.hosts, c.Build, c.Agents); err != nil {
			return nil, err
		}
	}
	var offers []placement.Agent
	for _, s := range found {
		r := s.Room.Minus(s.Used)
		offers = append(offers, placement.Agent{Name: s.Name, Ports: r.Ports, Switches: r.Switches, Cores: r.Cores})
	}
	where, err := placement.Place(g, offers)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := g.WriteYAML(&text); err != nil {
		return nil, err
	}
	packed, err := wire.Compress([]byte(text.String()))
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(c.Settings)
	if err != nil {
		return nil, err
	}
	want := cluster.Desired{
		Version: c.Build, Created: time.Now().UTC(), Topology: packed, Spec: g.Spec,
		Settings: settings,
	}
	if _, want.File, err = subnet.Pin(c.Settings.Routing); err != nil {
		return nil, err
	}
	c.created = want.Created
	if err := c.store.Begin(ctx, want, where); err != nil {
		return nil, err
	}
	if n := c.store.Store.Copies(); n == 1 && len(where.Hosts) > 1 {
		c.Note("one server alone keeps the state of this fabric: it goes on without that server, but nobody can lead it " +
			"anew; a cluster of three keeps it on three")
	}
	return where, nil
}

// hostsOn is how hosts come onto agents and from them.
func (c *onAgents) hostsOn(g *topology.Graph, where *placement.Placement, term uint64) cluster.Hosts {
	h := cluster.Hosts{Agents: c.hosts, Fabric: c.Name, Term: term, Graph: g, Needs: map[string]cluster.Room{}}
	for _, p := range where.Hosts {
		h.Needs[p.Agent] = cluster.Room{Ports: p.Ports, Switches: len(p.Switches)}
	}
	return h
}

// counting counts the hosts that are hosted, each once.
func (c *onAgents) counting(take func(context.Context, string, host.Spec) error, total int) func(context.Context,
	string, host.Spec) error {
	c.Progress(fabric.StageHosts, 0, total)
	var mu sync.Mutex
	done := map[string]bool{}
	return func(ctx context.Context, name string, spec host.Spec) error {
		err := take(ctx, name, spec)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !done[name] {
			done[name] = true
			c.Progress(fabric.StageHosts, len(done), total)
		}
		return err
	}
}

// linksUp tells how far the fabric has come up once its hosts have been counted.
func (c *onAgents) linksUp(stage fabric.Stage, done, total int) {
	if stage == fabric.StageUp {
		c.Progress(stage, done, total)
	}
}
