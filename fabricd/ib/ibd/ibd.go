// Package ibd gives a live fabric its InfiniBand management: it drives package ib by the clock and
// by what happens in the fabric, lets programs in by package sim, and has switches forward by what
// a subnet manager writes.
//
// One goroutine, the loop, owns the subnet. Others post functions to it. Whatever takes time, as
// loading tables and cutting links, is done by goroutines of their own, which post what came of it.
package ibd

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ib"
	"github.com/weft-fabric/weft/fabricd/ib/sim"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Fabric is what management needs of a fabric.
type Fabric interface {
	Topology() *topology.Graph
	Events() *fabric.Hub
	Ports() fabric.Ports
	CutLinks() []string
	CrashedSwitches() []string
	TableVersion(id weft.SwitchID) uint64
	Load(ctx context.Context, p *tables.Patch) error
	Now() weft.Time
	Tempo() leader.Tempo
	Reconfigured(r fabric.Round) fault.Reconfiguration
	Costs() map[int]uint64
	Settle(ctx context.Context, version uint64) error
	Apply(ctx context.Context, specs ...fault.Spec) ([]fabric.Outcome, error)
	Switch(id weft.SwitchID) switching.Snapshot
	NIC(id weft.NICID) nic.Snapshot
	HoldNICsFor(d time.Duration)
	ResumeNICs()
}

// Config says what to manage. Fabric, Name and Note are required.
type Config struct {
	Fabric Fabric
	Name   string // of the sockets
	VLs    int    // data virtual lanes: the virtual channels of the switches
	// Forward: switches forward by what a manager writes, and NICs send by path records. Otherwise
	// they do as their routing says, and tables are kept for whoever reads them.
	Forward bool
	Own     *Own          // our own manager stands by; nil: there is none
	Hop     time.Duration // how long a datagram takes from node to node, by the clock of the fabric
	Bytes   int           // of a packet, for counters of octets
	Note    func(string)
}

// datagramBytes is how long a management datagram is on a link, with its headers.
const datagramBytes = 290

// Hop is how long a datagram takes over a link with these settings.
func Hop(l settings.Link) time.Duration {
	hop := l.Delay.Time()
	if l.Paced {
		hop += time.Duration(datagramBytes / cmp.Or(l.Rate, fabric.DefaultRate) * float64(time.Second))
	}
	return hop
}

// Driver runs the management of one fabric.
type Driver struct {
	cfg    Config
	server *sim.Server
	notes  notes
	inbox  chan func()   // bound: inboxSize; who posts waits
	over   chan struct{} // closed when the loop has ended

	// The following fields are owned by the loop.
	subnet    *ib.Subnet
	clients   map[int]*program
	queue     timers
	sequence  uint64
	inFlight  int
	counting  int               // nodes that are asked for counters
	lost      map[string]uint64 // datagrams, by why
	crashed   map[weft.SwitchID]bool
	tables    loader
	paths     inquirer
	phases    phases
	own       *own // nil: there is none
	watched   time.Time
	dead      map[weft.LinkID]bool
	cycle     string // as in Status
	looking   bool   // for a cycle
	lookAgain bool   // once that was found, or not: tables are others by now
	trapping  bool   // traps will be sent again
	held      bool   // NICs are held until they know paths
	heldAt    time.Time

	orders  chan fault.Spec // bound: orderSize
	running sync.WaitGroup
}

// Bounds, chosen by us.
const (
	inboxSize   = 1024
	orderSize   = 4096
	mostFlying  = 8192 // datagrams on their way; what comes beyond is lost
	tickEvery   = 50 * time.Millisecond
	repeatTraps = 500 * time.Millisecond
)

// HoldFor is how long NICs wait for a manager at most before they inject, after the driver has
// begun or has looked last. Chosen by us. Start a fabric whose switches forward by what a manager
// writes with NICs that are held so long: the driver lets them go.
const HoldFor = 10 * time.Second

// New makes the management of a fabric, and opens its sockets.
func New(cfg Config) (*Driver, error) {
	d := &Driver{
		cfg: cfg, inbox: make(chan func(), inboxSize), orders: make(chan fault.Spec, orderSize),
		over:   make(chan struct{}),
		subnet: ib.New(cfg.Fabric.Topology(), ib.Config{VLs: cfg.VLs}), clients: map[int]*program{},
		lost: map[string]uint64{}, crashed: map[weft.SwitchID]bool{},
	}
	d.notes = notes{note: cfg.Note, told: map[string]bool{}}
	d.tables.init()
	d.phases.now = newRound()
	if cfg.Own != nil {
		d.own = d.newOwn(*cfg.Own)
	}
	var err error
	d.server, err = sim.Listen(cfg.Name, d, d.notes.add)
	return d, err
}

// Run manages until ctx ends. It is called once.
func (d *Driver) Run(ctx context.Context) {
	d.running.Go(func() { d.server.Run(ctx) })
	d.running.Go(func() { d.follow(ctx) })
	d.running.Go(func() { d.carryOut(ctx) })
	defer d.running.Wait()
	defer close(d.over) // first: the others may wait for the loop
	d.look()
	if d.cfg.Forward {
		d.allDirty()
		d.hold()
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d.load(ctx)
		timer.Reset(d.wait())
		select {
		case <-ctx.Done():
			return
		case do := <-d.inbox:
			do()
		case <-timer.C:
		case <-tick.C:
			d.tick()
			d.ownTick(ctx)
			d.watch()
			d.askAgain()
			d.report(ctx)
		}
		d.due(time.Now())
	}
}

// post has the loop do something. It waits while the loop is busy, and reports false when it has
// ended.
func (d *Driver) post(do func()) bool {
	select {
	case d.inbox <- do:
		return true
	case <-d.over:
		return false
	}
}

// ask has the loop do something and waits until it has.
func (d *Driver) ask(do func()) error {
	done := make(chan struct{})
	if !d.post(func() { do(); close(done) }) {
		return errEnded
	}
	select {
	case <-done:
		return nil
	case <-d.over:
		return errEnded
	}
}

var errEnded = errors.New("the fabric has ended")

// timers is a heap of what is due, in order of time and then of when it was set.
type timers []timed

type timed struct {
	at  time.Time
	seq uint64
	do  func()
}

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].seq < t[j].seq
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *timers) Push(x any) { *t = append(*t, x.(timed)) }

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = timed{}
	*t = (*t)[:last]
	return x
}

// after has something done later.
func (d *Driver) after(wait time.Duration, do func()) {
	d.sequence++
	heap.Push(&d.queue, timed{time.Now().Add(wait), d.sequence, do})
}

// slowed is how long something takes here that takes so long by the clock of the fabric, which goes
// slower while the machine cannot keep up.
func (d *Driver) slowed(wait time.Duration) time.Duration {
	if factor := d.cfg.Fabric.Tempo().Factor; factor > 0 {
		return time.Duration(float64(wait) / factor)
	}
	return wait
}

func (d *Driver) wait() time.Duration {
	if len(d.queue) == 0 {
		return time.Hour
	}
	return max(0, time.Until(d.queue[0].at))
}

func (d *Driver) due(now time.Time) {
	for len(d.queue) > 0 && !d.queue[0].at.After(now) {
		heap.Pop(&d.queue).(timed).do()
	}
}

// follow has the loop look at the links whenever something happens to them.
func (d *Driver) follow(ctx context.Context) {
	events := d.cfg.Fabric.Events()
	for seq := events.Last(); ; {
		e, err := events.After(ctx, seq)
		if err != nil {
			return
		}
		seq = e.Seq
		if e.Missed == 0 && e.Kind == fabric.EventTables {
			continue
		}
		seq = max(seq, events.Last()) // one look is enough for all there are by now
		_ = d.ask(d.look)
	}
}

// look takes over which links are up, which let nothing through, and which switches have crashed.
func (d *Driver) look() {
	f := d.cfg.Fabric
	g := f.Topology()
	dead := map[weft.LinkID]bool{}
	for _, id := range f.Ports().Dead {
		dead[id] = true
	}
	cut := map[weft.LinkID]bool{}
	if names := f.CutLinks(); len(names) > 0 {
		at := make(map[string]weft.LinkID, len(g.Links))
		for _, l := range g.Links {
			at[l.Name] = l.ID
		}
		for _, name := range names {
			cut[at[name]] = true
		}
	}
	d.subnet.SetCut(cut)
	crashed := map[weft.SwitchID]bool{}
	for _, name := range f.CrashedSwitches() {
		if n, err := g.NodeByName(name); err == nil {
			crashed[weft.SwitchID(n.Index)] = true
		}
	}
	var effects []ib.Effect
	for id := range crashed {
		if !d.crashed[id] {
			effects = append(effects, d.subnet.SetCrashed(id)...)
		}
	}
	d.crashed = crashed
	for _, l := range g.Links {
		if d.dead != nil && d.dead[l.ID] != dead[l.ID] { // else it is the first look
			d.linkIs(l.ID, dead[l.ID])
		}
		effects = append(effects, d.subnet.SetLink(l.ID, !dead[l.ID])...)
	}
	d.dead = dead
	d.apply(effects, "")
}

// apply does what follows from a datagram or a change. who is whose datagram it was.
func (d *Driver) apply(list []ib.Effect, who string) {
	defer d.sendTraps(true)
	for _, e := range list {
		switch e.Kind {
		case ib.EffectTables:
			d.tables.dirty(e.Switch)
			d.paths.changed()
		case ib.EffectPaths:
			d.allSoon()
			d.paths.changed()
		case ib.EffectCut:
			d.order(fault.VerbCut, e.Link, who)
		case ib.EffectRestore:
			d.order(fault.VerbRestore, e.Link, who)
		}
	}
}

// order cuts or restores a link for a program that has disabled or enabled a port.
func (d *Driver) order(verb fault.Verb, id weft.LinkID, who string) {
	s := fault.Spec{Do: verb, A: d.cfg.Fabric.Topology().Links[id].Name, By: who}
	select {
	case d.orders <- s:
	default:
		d.notes.add(who, "too many ports are disabled and enabled at once: "+s.String()+" is not done")
	}
}

func (d *Driver) carryOut(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-d.orders:
			if _, err := d.cfg.Fabric.Apply(ctx, s); err != nil && ctx.Err() == nil {
				d.notes.add(s.By, s.String()+": "+err.Error())
			}
		}
	}
}

// sendTraps sends those that wait, fresh ones alone or all, and all again until managers have heard
// of them.
func (d *Driver) sendTraps(fresh bool) {
	list, more := d.subnet.Traps(fresh)
	if len(list) > 0 {
		d.trapSent()
	}
	d.sendAll(list)
	if more && !d.trapping {
		d.trapping = true
		d.after(repeatTraps, func() { d.trapping = false; d.sendTraps(false) })
	}
}

func (d *Driver) tick() {
	d.inquire()
	if d.held && time.Since(d.heldAt) > HoldFor/2 {
		d.hold()
	}
}

// hold has NICs inject nothing until they know paths.
func (d *Driver) hold() {
	d.held, d.heldAt = true, time.Now()
	d.cfg.Fabric.HoldNICsFor(HoldFor)
}
