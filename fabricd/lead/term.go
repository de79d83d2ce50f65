package lead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	remoteHost "github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/ib/ibd"
	"github.com/weft-fabric/weft/fabricd/manager"
	remoteManager "github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// term is a fabric that this process leads: it runs it, or leads its hosts on agents.
type term struct {
	*process
	broker *Broker
	// nil: another process here has the name, and linkmon finds the fabric at the server only
	claim    *registry.Claim
	placed   *placement.Placement // nil: all of it runs here
	lost     <-chan struct{}      // closed when another process leads; nil: none can
	began    time.Time            // the fabric, not this leader; zero: now
	progress func(stage fabric.Stage, done, total int)
}

// Why a leader leaves a fabric as it is, beside ErrLeft. Its hosts go on.
var (
	errOtherLeader = errors.New("another process leads the fabric")
	// errNoBroker is for brokers that are not ours and say no more.
	errNoBroker = fmt.Errorf("%w: start again with other credentials", reply.ErrNoAccess)
)

// run leads until ctx ends, and then ends the fabric; or until it is lost, and then leaves it as it
// is.
func (r term) run(ctx context.Context, o fabric.Options) (err error) {
	began := time.Now()
	o.Log = r.Log
	o.Processes = &fabric.ProcessOptions{
		Fabric: r.Name, Routing: r.Settings.Routing,
		Hosts: remoteHost.Hosts{Peers: r.broker.Peers, Authorizer: r.broker.Authorizer()},
	}
	over := sync.OnceFunc(func() { r.Progress("", 0, 0) })
	defer over()
	o.Progress = r.progress
	if r.managed() {
		o.Held = ibd.HoldFor
	}
	f, err := fabric.New(o)
	if err != nil {
		return err
	}
	r.broker.Leads(f)
	defer r.broker.Leads(nil)
	control, err := r.broker.Control(r.Name, r.Log)
	if err != nil {
		return err
	}
	defer func() { _ = control.Close() }()
	started := time.Now()
	server, err := api.NewServer(f, control, api.Info{Name: r.Name, Routing: r.Settings.Routing, Started: started})
	if err != nil {
		return err
	}
	// What a subnet manager has written down holds for one fabric, whoever leads it.
	instance := started
	if !r.began.IsZero() {
		instance = r.began
	}
	here := manager.Local{
		Fabric: f, Instance: instance.Format(time.RFC3339Nano), Routing: r.Settings.Routing,
		VCs: o.Switch.VCs,
	}
	if err := remoteManager.Serve(control, here); err != nil {
		return err
	}
	if r.Server.URL != "" {
		at := &jobList{at: r.Server}
		defer at.close()
		r.Page.jobs = at.list
	}
	page, err := r.Page.open(server, r.broker.Folder)
	if err != nil {
		return err
	}
	defer page.close()
	if err := f.Start(ctx); err != nil {
		return err
	}
	over()
	if r.For > 0 { // then it ends as when it is interrupted
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, r.For)
		defer stop()
	}
	left := false
	defer func() {
		if !left {
			f.Stop()
		}
	}()
	management, err := r.infiniband(f, o)
	if err != nil {
		return err
	}
	programs := r.programs(f)
	if programs != nil {
		defer func() { _ = programs.Close() }()
	}
	server.ReportsPrograms(r.reporter(programs))
	entry := registry.Entry{
		Listed: registry.Listed{
			Name: r.Name, PID: os.Getpid(), Started: started, URL: r.broker.URL(), Topology: r.Settings.Topology,
			Routing:  r.Settings.Routing,
			Firmware: r.Settings.Routing,
		},
		Operator: r.broker.Credentials(bus.RoleOperator), Viewer: r.broker.Credentials(bus.RoleViewer),
		Manager: r.broker.Credentials(bus.RoleManager),
	}
	entry.Page, entry.Token = page.address()
	if r.claim != nil {
		if err := r.claim.Publish(entry); err != nil {
			return err
		}
	}
	t := &Term{
		Fabric: f, Settings: r.Settings, Entry: entry, Page: page.shown(entry), OwnBroker: r.broker.Embedded != nil,
		Placement: r.placed, Took: time.Since(began),
	}
	if err := r.Up(t); err != nil {
		return err
	}
	page.warn(r.Note)
	r.up(t)
	serve, stopServing := context.WithCancel(context.Background())
	leading, end := context.WithCancel(ctx)
	defer end()
	var serving sync.WaitGroup
	serving.Go(func() { server.Run(serve, r.Sample) })
	serving.Go(func() { page.run(leading, r.Log) }) // who watches sees no more than the beginning of the end
	serving.Go(func() { r.follow(serve, f) })
	if management != nil {
		server.Managed(func() *api.Management {
			m := management.Status()
			return &api.Management{
				Managers: append([]string{}, m.Words...), Ports: m.Ports, Held: m.Held, Cycle: m.Cycle,
			}
		})
		serving.Go(func() { management.Run(serve) })
	}
	if r.Settings.Manager.Method != manage.None {
		to := bus.ClientConfig{
			Fabric: r.Name, URL: r.broker.URL(), Credentials: r.broker.Credentials(bus.RoleManager),
			Program: "manager",
		}
		serving.Go(func() {
			if err := remoteManager.Manage(leading, to, r.Settings.Manager.Method, r.Log, r.Note,
				func(manager.Note) {}); err != nil {
				r.Note("subnet manager: " + err.Error())
			}
		})
	} else if r.unmanaged != nil {
		r.notef("no subnet manager, the tables stay as they are: %v", r.unmanaged)
	}
	why := error(nil)
	select {
	case <-ctx.Done():
		if r.placed != nil && r.Detach {
			why = ErrLeft
		}
	case <-r.lost:
		why = errOtherLeader
	case <-control.Done():
		why = cmp.Or(control.Err(), errNoBroker)
	}
	if why != nil {
		end()
		if left = r.placed != nil; left { // else the fabric ends with us
			f.Detach()
		}
		stopServing()
		serving.Wait()
		return why
	}
	r.Draining()
	ledger, drained := drain(f, r.Drain)
	f.CloseReports() // nothing moves any more that they could count
	stopServing()
	serving.Wait()
	if err := control.End(); err != nil {
		r.Log.Warn("clients hear by themselves that the fabric has ended", "err", err)
	}
	r.Ended(Result{ledger, drained, f.Totals(), f.Faults()})
	return judged(ledger, drained)
}

// follow tells the events of the fabric until ctx ends and none is left.
func (r term) follow(ctx context.Context, f *fabric.Fabric) {
	for seq := uint64(0); ; {
		e, err := f.Events().After(ctx, seq)
		if err != nil {
			return
		}
		seq = e.Seq
		r.Event(e)
	}
}

// DrainTime is how long packets in flight are waited for at the end, by the clock of the fabric,
// unless told otherwise.
const DrainTime = 10 * time.Second

// drained is what drain needs of a fabric.
type drained interface {
	StopTraffic() error
	Ledger() fabric.Ledger
	Quiesce(ctx context.Context) (fabric.Ledger, error)
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

func drain(f drained, most time.Duration) (fabric.Ledger, error) {
	if err := f.StopTraffic(); err != nil {
		l := f.Ledger()
		l.Balanced, l.NotChecked = false, "the traffic goes on, so the ledger was not checked"
		return l, err
	}
	ctx, cancel := f.WithTimeout(context.Background(), most)
	defer cancel()
	return f.Quiesce(ctx)
}

// judged is how a fabric ends whose ledger was read after drained: nil only when that ledger was
// exact and balances. Packets that are left and do not move are in the ledger, as in flight, so
// they do not make it inexact; packets that still move do.
func judged(l fabric.Ledger, drained error) error {
	_, stuck := errors.AsType[*fabric.StuckError](drained)
	if !l.Balanced || drained != nil && !stuck {
		return ErrUnbalanced
	}
	return nil
}
