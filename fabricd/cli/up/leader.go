package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	remoteHost "github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/manager"
	remoteManager "github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// leader is a fabric that this process leads: it runs it, or leads its hosts on agents.
type leader struct {
	upFlags
	link           *command.Links
	claim          *registry.Claim // nil: another process here has the name, and linkmon finds the fabric at the server only
	log            *slog.Logger
	stdout, stderr io.Writer
	placed         *placedLine            // nil: all of it runs here
	lost           <-chan struct{}        // closed when another process leads; nil: none can
	began          time.Time              // the fabric, not this leader; zero: now
	up             *command.StartProgress // shows how far the fabric has come up
}

// Why a leader leaves a fabric as it is. Its hosts go on.
var (
	errOtherLeader = errors.New("another process leads the fabric")
	errLeft        = errors.New("the fabric is left to the next that leads it")
	// errNoBroker is for brokers that are not ours and say no more.
	errNoBroker = fmt.Errorf("%w: start again with other credentials", reply.ErrNoAccess)
)

// run leads until ctx ends, and then ends the fabric; or until it is lost, and then leaves it as it
// is.
func (r leader) run(ctx context.Context, o fabric.Options) (err error) {
	began := time.Now()
	o.Log = r.log
	o.Processes = &fabric.ProcessOptions{
		Fabric: r.fabric, Routing: r.settings.Routing,
		Hosts: remoteHost.Hosts{Peers: r.link.Peers, Authorizer: r.link.Authorizer()},
	}
	defer r.up.End()
	o.Progress = r.up.OnProgress
	f, err := fabric.New(o)
	if err != nil {
		return err
	}
	r.link.Leads(f)
	defer r.link.Leads(nil)
	control, err := r.link.Control(r.fabric, r.log)
	if err != nil {
		return err
	}
	defer func() { _ = control.Close() }()
	started := time.Now()
	server, err := api.NewServer(f, control, api.Info{Name: r.fabric, Routing: r.settings.Routing, Started: started})
	if err != nil {
		return err
	}
	// What a subnet manager has written down holds for one fabric, whoever leads it.
	instance := started
	if !r.began.IsZero() {
		instance = r.began
	}
	here := manager.Local{Fabric: f, Instance: instance.Format(time.RFC3339Nano), Routing: r.settings.Routing, VCs: o.Switch.VCs}
	if err := remoteManager.Serve(control, here); err != nil {
		return err
	}
	page, err := r.page(server, r.link.Folder, r.stderr)
	if err != nil {
		return err
	}
	defer page.close()
	if err := f.Start(ctx); err != nil {
		return err
	}
	r.up.End()
	if r.lasts > 0 { // then it ends as when it is interrupted
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, r.lasts)
		defer stop()
	}
	left := false
	defer func() {
		if !left {
			f.Stop()
		}
	}()
	entry := registry.Entry{
		Name: r.fabric, PID: os.Getpid(), Started: started, URL: r.link.URL(), Topology: r.settings.Topology,
		Routing: r.settings.Routing, Firmware: r.settings.Routing,
		Operator: r.link.Credentials(bus.RoleOperator), Viewer: r.link.Credentials(bus.RoleViewer),
		Manager: r.link.Credentials(bus.RoleManager),
	}
	entry.Page, entry.Token = page.address()
	if r.claim != nil {
		if err := r.claim.Publish(entry); err != nil {
			return err
		}
	}

	if err := r.write(); err != nil {
		return err
	}
	out := upOutput{json: r.asJSON, stdout: r.stdout, line: command.NewLine(r.stdout), deadlock: f.Deadlock}
	out.banner(r.upFlags, f, r.link, r.placed, page.shown(entry), time.Since(began))
	page.warn(r.stderr)
	serve, stopServing := context.WithCancel(context.Background())
	over, end := context.WithCancel(ctx) // the end of leading
	defer end()
	var serving sync.WaitGroup
	serving.Go(func() { server.Run(serve, out.sample) })
	serving.Go(func() { page.run(over, r.log) }) // who watches sees no more than the beginning of the end
	serving.Go(func() { out.follow(serve, f) })
	if r.settings.Manager.Method != manage.None {
		to := bus.ClientConfig{Fabric: r.fabric, URL: r.link.URL(), Credentials: r.link.Credentials(bus.RoleManager), Program: "manager"}
		serving.Go(func() {
			if err := command.Managed(over, to, r.settings.Manager.Method, r.log, r.stderr, func(manager.Note) {}); err != nil {
				fmt.Fprintln(r.stderr, "fabricd: subnet manager: "+err.Error())
			}
		})
	} else if r.unmanaged != nil {
		fmt.Fprintf(r.stderr, "fabricd: no subnet manager, the tables stay as they are: %v\n", r.unmanaged)
	}
	why := error(nil)
	select {
	case <-ctx.Done():
		if r.placed != nil && r.detach {
			why = errLeft
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
	out.draining()
	ledger, drained := drain(f, r.drain)
	f.CloseReports() // nothing moves any more that they could count
	stopServing()
	serving.Wait()
	if err := control.End(); err != nil {
		r.log.Warn("clients hear by themselves that the fabric has ended", "err", err)
	}
	out.end(ledger, drained, f.Totals(), f.Faults())
	return judged(ledger, drained)
}

// DrainTime is how long up waits for the packets in flight after Ctrl-C, unless told otherwise.
const DrainTime = 10 * time.Second

// drained is what drain needs of a fabric.
type drained interface {
	StopTraffic() error
	Ledger() fabric.Ledger
	Quiesce(ctx context.Context) (fabric.Ledger, error)
}

func drain(f drained, most time.Duration) (fabric.Ledger, error) {
	if err := f.StopTraffic(); err != nil {
		l := f.Ledger()
		l.Balanced, l.NotChecked = false, "the traffic goes on, so the ledger was not checked"
		return l, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	return f.Quiesce(ctx)
}
