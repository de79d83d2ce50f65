package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Fabric is a fabric that runs. Live, its methods are safe for any goroutine unless they say
// otherwise; in virtual time they are for one goroutine, and time goes on only within those that
// wait.
//
// It owns nothing: it makes the roles of which it consists, starts them and stops them. Their
// exported methods are its own.
type Fabric struct {
	*site
	*decisions
	*faults
	*traffic
	*reader
	*quiet
	*management
	*tracing
	*admissions
	*moves
	attendance *attendance
	broker     *broker
	observers  *observers
	notices    *notices
	limits     *limits // of events that peers cause
}

// New builds a fabric that Start brings to life.
func New(o Options) (*Fabric, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	f := compose(newSite(&o))
	if f.live != nil {
		o.Transport.Watch(f.broker.transportEvents.Add)
	}
	if err := f.build(); err != nil {
		return nil, err
	}
	return f, nil
}

// compose makes the roles of a fabric, each of those that it needs.
func compose(si *site) *Fabric {
	f := &Fabric{
		site: si, decisions: newDecisions(si), tracing: &tracing{site: si}, admissions: &admissions{site: si},
		notices: newNotices(si), limits: &limits{events: si.events},
	}
	d := f.decisions
	f.faults, f.traffic, f.reader = &faults{d}, &traffic{d}, newReader(si, f.notices)
	f.quiet, f.management = &quiet{si, f.reader, f.faults}, &management{d, f.reader}
	f.attendance = &attendance{decisions: d, admissions: f.admissions}
	f.moves = &moves{d, f.attendance, f.admissions}
	f.broker = &broker{d, host.NewTransportEvents()}
	f.observers = &observers{si, f.notices, f.limits, &f.traces}
	return f
}

// build makes the hosts, and the nodes of the one in this process.
func (f *Fabric) build() error {
	o := f.opts
	shards := 0
	if o.Transport != nil {
		shards = o.Transport.Shards()
	}
	places, err := Placements(f.graph, o.Hosts, shards)
	if err != nil {
		return err
	}
	if len(o.Hosts) > 0 {
		f.placements = places
	}
	own := places[:len(places)-len(o.Hosts)]
	if o.Adopt != nil && len(own) > 0 {
		return fmt.Errorf("fabric: another leader's fabric can be adopted only if all nodes are on hosts: %d switches and "+
			"%d NICs are on none, "+
			"and the leader's own process would run them with epochs that the one before has used",
			len(own[0].SwitchIDs()), len(own[0].NICIDs()))
	}
	f.local = newHostState(f.site, localHostID, "", slices.Concat(own, []host.Placement{{}})[0])
	if err := f.divide(places[len(own):]); err != nil {
		return err
	}
	f.lead(ledger.New(linksOf(f.graph)))
	panicked := o.Panicked
	if panicked == nil {
		panicked = f.panicked
	}
	var factor func(float64)
	if f.live != nil {
		factor = f.live.SetFactor
	}
	host, err := host.NewLocal(host.LocalConfig{
		Spec: host.Spec{
			Placement: f.local.placement, Placements: places, Switch: o.Switch, NIC: o.NIC, Link: o.Link,
			Liveness: o.Liveness, Inbox: o.inboxSize(), Seed: o.Seed,
		},
		Graph: f.graph, Firmware: o.Firmware, Runtime: f.runtime, Latency: f.latency, Panicked: panicked,
		Factor: factor,
		Watch:  func(n weft.Node) switchd.Observer { return f.observers.at(n) },
		Progress: func(made bool, done, total int) {
			stage := StageOpen
			if made {
				stage = StageNodes
			}
			f.opts.reportProgress(stage, done, total)
		},
	})
	if err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	f.local.host, f.local.counted, f.local.local = host, ownCounters{f.local, host}, host
	if o.Adopt == nil {
		f.beginLocal(ownNumber)
	}
	return nil
}

// Start runs every driver, brings all links up and starts the traffic. It returns when the fabric
// carries it; if that fails nothing is left running.
func (f *Fabric) Start(ctx context.Context) error {
	if err := f.runtime.Start(ctx); err != nil {
		return err
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	if err := f.observers.hear(); err != nil {
		f.Stop()
		return err
	}
	begin := f.attendance.startHosts
	if s := f.opts.Adopt; s != nil {
		begin = func(ctx context.Context) error { return f.adopt(ctx, s) }
	}
	if err := begin(ctx); err != nil {
		f.Stop()
		return err
	}
	var wanted []*link
	var signalled *action
	own := slices.DeleteFunc(slices.Clone(f.links), func(l *link) bool {
		h := f.home(l.A.Node)
		return h == f.home(l.B.Node) && h.late() // it has been told of its own
	})
	f.inLoop(func(l loop) {
		signalled = l.decide(leader.Sync{Links: idsOf(own)})
		l.read(func(s *leader.State) {
			// The links of a switch on its way come up when it has come, which may take long.
			wanted = slices.DeleteFunc(slices.Clone(l.links), func(l *link) bool {
				return !s.Usable(l.ID) || s.EndMoves(l.ID)
			})
		})
	})
	_ = signalled.dispatched.wait() // a host that does not answer is told again when it does
	for _, h := range f.remote {
		f.running.Go(func() { f.attendance.attendHost(f.ctx, h) })
		f.running.Go(func() { f.attendance.watchHost(f.ctx, h) })
	}
	for _, h := range f.owned() { // of the leader before
		if err := f.attendance.attendOwner(h, h.owner.Load()); err != nil {
			return err
		}
	}
	if err := f.waitLinks(ctx, wanted); err != nil {
		f.Stop()
		return fmt.Errorf("fabric: links do not come up: %w", err)
	}
	f.started.Store(true)
	f.attendFaults()
	f.startCheckpoints()
	if f.live != nil && f.opts.Link.Paced {
		f.attendTempo()
	}
	f.repairs.set(f.runtime.Task(0, f.attendRepairs))
	if f.live != nil {
		f.running.Go(func() { f.broker.carry(f.ctx) })
	}
	if f.opts.NIC.Notices.Time() > 0 {
		f.notices.wake.set(f.runtime.Task(0, f.notices.carry))
	}
	if f.opts.Adopt != nil {
		f.inLoop(func(l loop) {
			f.resumeMoves(l)
			l.finishSoon(l.decide(leader.Resume{}).attended())
			l.checkpointSoon()
		})
		return nil
	}
	if factor := cmp.Or(f.opts.TimeFactor, 1); f.live != nil && f.opts.Link.Paced {
		if err := f.SetTimeFactor(factor, f.opts.FixedTime); err != nil {
			f.Stop()
			return err
		}
	}
	if f.opts.Held > 0 {
		f.HoldNICsFor(f.opts.Held)
	}
	if err := f.SetTraffic(f.opts.Traffic); err != nil {
		f.Stop()
		return err
	}
	return nil
}

// Stop ends all drivers and returns when none of their goroutines is left. The counters can still
// be read.
func (f *Fabric) Stop() {
	f.inLoop(func(l loop) {
		l.life.Lock()
		defer l.life.Unlock()
		l.stopped = true // no timer of a fault begins from here on
	})
	if f.stop != nil {
		f.stop()
	}
	f.runtime.Stop()
	f.running.Wait()
	f.attendance.endHosts()
}

// ErrUnknown is wrapped by errors about a name that the fabric does not have.
var ErrUnknown = errors.New("no such object in this fabric")
