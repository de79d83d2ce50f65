package up

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/lease"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// openStore opens what is written down of a fabric. Existing: do not begin to.
func openStore(ctx context.Context, name string, at bus.Resolved, existing bool) (cluster.StateStore, error) {
	s, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: name, URL: at.URL, Credentials: at.Credentials, Existing: existing})
	switch {
	case errors.Is(err, reply.ErrDenied):
		err = fmt.Errorf("a fabric on agents is written down at the broker: %w", err)
	case errors.Is(err, bus.ErrNoStore):
		err = fmt.Errorf("%w: a fabric on agents is written down there: %s", err, bus.NoStoreHelp)
	}
	return cluster.StateStore{Store: s}, err
}

// thisLeader is this process as a leader.
func thisLeader() (l cluster.Leader, err error) {
	l = cluster.Leader{ID: rand.Text(), PID: os.Getpid(), Since: time.Now().UTC()}
	if l.Host, err = os.Hostname(); err != nil {
		err = fmt.Errorf("name of this host: %w", err)
	}
	return l, err
}

// clusterUp is a fabric on agents for which this process leads or stands by.
type clusterUp struct {
	upFlags
	at             bus.Resolved
	store          cluster.StateStore
	hosts          *bus.Client
	keys           command.Keys // renewed while it stands by, too
	me             cluster.Leader
	log            *slog.Logger
	stdout, stderr io.Writer
	since          uint64    // revision of the store at which another leader was seen first, or this one led; 0: it never was
	created        time.Time // the fabric
}

// cluster says whether the fabric is to run on agents, or does already: nil if not. The caller
// closes it.
func (u upFlags) cluster(ctx context.Context, log *slog.Logger, stdout, stderr io.Writer) (*clusterUp, error) {
	at, err := u.server.Resolve(os.Getenv)
	if err != nil {
		return nil, err
	}
	if at.URL == "" {
		if u.agents != "" {
			return nil, command.ErrNoServer
		}
		return nil, nil
	}
	if there, err := writtenDown(ctx, u.fabric, at); err != nil || !there && u.agents == "" {
		return nil, err
	}
	c := &clusterUp{upFlags: u, at: at, log: log, stdout: stdout, stderr: stderr}
	if c.me, err = thisLeader(); err != nil {
		return nil, err
	}
	if c.store, err = openStore(ctx, u.fabric, at, false); err != nil {
		return nil, err
	}
	if c.hosts, err = bus.Dial(bus.ClientConfig{Leads: true, URL: at.URL, Credentials: at.Credentials, Program: "up", Build: command.ThisVersion()}); err != nil {
		c.store.Store.Close()
		return nil, err
	}
	if err := c.keys.Open(at, u.fabric, log); err != nil {
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
	store, err := openStore(ctx, name, at, true)
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

func (c *clusterUp) close() {
	c.keys.Close()
	_ = c.hosts.Close() // it all goes with the process
	c.store.Store.Close()
}

// run leads whenever nobody else does, until ctx ends.
func (c *clusterUp) run(ctx context.Context) error {
	if err := c.agrees(ctx); err != nil {
		return err
	}
	for {
		lead, err := cluster.Campaign(ctx, cluster.CampaignConfig{Store: c.store.Store, Me: c.me, Standby: c.standby})
		if ctx.Err() != nil {
			return nil // it only stood by
		}
		if err != nil {
			return err
		}
		err = c.lead(ctx, lead)
		if errors.Is(err, errLeft) {
			fmt.Fprintf(c.stdout, "fabric %s goes on: lead it again with fabricd up --fabric %s, end it with fabricd down --fabric %s\n", c.fabric, c.fabric, c.fabric)
			return nil
		}
		if !errors.Is(err, errOtherLeader) && !errors.Is(err, lease.ErrLost) {
			return err
		}
		c.since = cmp.Or(c.since, lead.Term)
		fmt.Fprintf(c.stderr, "fabricd: %v: the fabric goes on, and this process stands by\n", err)
	}
}

func (c *clusterUp) standby(l cluster.Leader, at uint64) {
	c.since = cmp.Or(c.since, at)
	if c.asJSON {
		_ = command.JSON(c.stdout, Line{Standby: &standbyLine{c.fabric, l}}) // a closed pipe ends the process by signal
		return
	}
	fmt.Fprintf(c.stdout, "standing by: %v leads fabric %s; this one takes over when that ends\n", l, c.fabric)
}

// lead leads until ctx ends, and ends the fabric then; or until another leads.
func (c *clusterUp) lead(ctx context.Context, lead *lease.Lease) (err error) {
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
			c.log.Warn("lead", "err", err)
			lose()
		}
	})
	o, where, fresh, err := c.settle(ctx, lead.Term)
	if err != nil || where == nil {
		return err
	}
	var state fabric.State
	checkpointer, kept, err := c.store.TakeOver(ctx, lead.Term, &state, &state.Tables,
		func(err error) { fmt.Fprintln(c.stderr, "fabricd: "+err.Error()) })
	if err != nil {
		return err
	}
	keeping, stopKeeping := context.WithCancel(background)
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := checkpointer.Run(keeping); err != nil {
			c.log.Warn("state", "err", err)
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
	up := command.NewClusterProgress(c.stderr)
	o.Replaced = lose
	o.Term, o.Checkpoint, o.Host = lead.Term, func(s fabric.State) <-chan struct{} {
		return checkpointer.Write(s,
			s.Tables)
	}, counting(hosts.Host, up.Bar, len(where.Hosts))
	var names []string
	for _, p := range where.Hosts {
		names = append(names, p.Agent)
		o.Hosts = append(o.Hosts, fabric.HostOptions{Name: p.Agent, Switches: p.Switches, NICs: p.NICs})
	}
	err = c.leadHosts(ctx, o, where, lost, up)
	up.End()
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
		fmt.Fprintln(c.stderr, "fabricd: "+dropped.Error())
	}
	return errors.Join(err, c.store.End(after))
}

// outcome reports whether the fabric is over when its leader has ended with err, and the error that
// says how it ended. One that was there before this leader goes on, unless this leader has drained
// it: with a ledger that does not balance that is over, and failed.
func outcome(err error, fresh, interrupted bool) (over bool, _ error) {
	switch {
	case errors.Is(err, errOtherLeader), errors.Is(err, errLeft), errors.Is(err, reply.ErrNoAccess):
		return false, err
	case err == nil, errors.Is(err, command.ErrFailed), fresh:
		return true, err
	case interrupted:
		return false, errLeft // before it led
	}
	return false, err
}

// leadHosts opens what a leader needs, and leads.
func (c *clusterUp) leadHosts(ctx context.Context, o fabric.Options, where *placement.Placement, lost <-chan struct{}, up *command.StartProgress) error {
	places, err := fabric.Placements(o.Topology, o.Hosts, 1)
	if err != nil {
		return err
	}
	layout, err := remote.LeaderLayout(o.Topology, places)
	if err != nil {
		return err
	}
	name, err := takeName(ctx, c.fabric, c.at, true, c.log, c.stderr)
	if err != nil {
		return err
	}
	defer name.close()
	link, err := command.BrokerConfig{Name: c.fabric, Server: c.server, Log: c.log, Layout: layout, Keys: &c.keys}.Open(c.stderr)
	if err != nil {
		return err
	}
	defer func() { _ = link.Close() }()
	o.Transport = link.Transport
	claim, err := registry.Take(c.fabric)
	switch {
	case errors.Is(err, registry.ErrRunning):
		fmt.Fprintf(c.stderr, "fabricd: %v: linkmon finds this one with --server\n", err)
		claim = nil
	case err != nil:
		return err
	default:
		defer func() { _ = claim.Release() }()
	}
	return leader{
		upFlags: c.upFlags, link: link, claim: claim, log: c.log, stdout: c.stdout, stderr: c.stderr, placed: linesOf(where), lost: lost, began: c.created, up: up,
	}.run(ctx, o)
}

// settle finds the fabric that is written down, or places a new one and writes it down. No
// placement and no error: it was ended meanwhile.
func (c *clusterUp) settle(ctx context.Context, term uint64) (o fabric.Options, where *placement.Placement, fresh bool, err error) {
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
	if o, err = c.options(ctx, c.stderr); err != nil {
		return o, nil, true, err
	}
	where, err = c.place(ctx, o.Topology, term)
	return o, where, true, err
}

// found is the fabric as it was written down.
func (c *clusterUp) found(ctx context.Context, want cluster.Desired) (o fabric.Options, where *placement.Placement, err error) {
	s, err := c.fits(want)
	if err != nil {
		return o, nil, err
	}
	c.settings, c.created = s, want.Created
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
func (c *clusterUp) place(ctx context.Context, g *topology.Graph, term uint64) (*placement.Placement, error) {
	names, err := agentNames(c.agents)
	if err != nil {
		return nil, err
	}
	found, err := cluster.Find(ctx, c.hosts, command.ThisVersion(), names)
	if err != nil {
		return nil, err
	}
	old := cluster.Hosts{Agents: c.hosts, Fabric: c.fabric, Term: term}
	if stale := old.Stale(found); len(stale) > 0 { // of a fabric of this name that nobody knows of any more
		if _, err := old.Drop(ctx, stale, "a new fabric of this name begins"); err != nil {
			return nil, err
		}
		if found, err = cluster.Find(ctx, c.hosts, command.ThisVersion(), names); err != nil {
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
	packed, err := deflate.Compress([]byte(text.String()))
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(c.settings)
	if err != nil {
		return nil, err
	}
	want := cluster.Desired{Version: command.ThisVersion(), Created: time.Now().UTC(), Topology: packed, Spec: g.Spec, Settings: settings}
	c.created = want.Created
	if err := c.store.Begin(ctx, want, where); err != nil {
		return nil, err
	}
	if n := c.store.Store.Copies(); n == 1 && len(where.Hosts) > 1 {
		fmt.Fprintln(c.stderr, "fabricd: one server alone keeps the state of this fabric: it goes on without that server, but nobody can lead it anew; a cluster of three keeps it on three")
	}
	return where, nil
}

// hostsOn is how hosts come onto agents and from them.
func (c *clusterUp) hostsOn(g *topology.Graph, where *placement.Placement, term uint64) cluster.Hosts {
	h := cluster.Hosts{Agents: c.hosts, Fabric: c.fabric, Term: term, Graph: g, Needs: map[string]cluster.Room{}}
	for _, p := range where.Hosts {
		h.Needs[p.Agent] = cluster.Room{Ports: p.Ports, Switches: len(p.Switches)}
	}
	return h
}

// counting tells a bar of each host that is hosted for the first time.
func counting(take func(context.Context, string, host.Spec) error, bar *command.Progress, total int) func(context.Context, string, host.Spec) error {
	var mu sync.Mutex
	done := map[string]bool{}
	return func(ctx context.Context, name string, c host.Spec) error {
		err := take(ctx, name, c)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !done[name] {
			done[name] = true
			bar.Told(uint64(len(done)), uint64(total))
		}
		return err
	}
}

func linesOf(p *placement.Placement) *placedLine {
	l := &placedLine{Links: p.Cost.Links, Crossing: p.Cost.Crossing, Traffic: p.Cost.Traffic, PerPath: p.Cost.PerPath}
	for _, q := range p.Hosts {
		l.Agents = append(l.Agents, placedAgent{q.Agent, len(q.Switches), len(q.NICs), q.Ports})
	}
	return l
}
