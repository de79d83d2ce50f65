package manager

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/switch/tables"
)

// Local is a fabric of this process, without a broker between. It is live.
type Local struct {
	Fabric   *fabric.Fabric
	Instance string // see Spec
	Routing  string
	VCs      int
	// MostHeld is how long NICs are held for a manager that asks for nothing more; 0 means 30 s.
	// That is more than the next manager needs to take over and to wait for the last packet. After
	// it the fabric goes on with the tables that there are: these may be able to deadlock together,
	// but it carries nothing at all while its NICs are held. Who manages next empties it again if
	// it must.
	MostHeld time.Duration
}

// mostHeld is MostHeld unless given.
const mostHeld = 30 * time.Second

func (l Local) mostHeld() time.Duration { return cmp.Or(l.MostHeld, mostHeld) }

// Spec implements [Fabric].
func (l Local) Spec(context.Context) (Spec, error) {
	var topology bytes.Buffer
	if err := l.Fabric.Topology().WriteYAML(&topology); err != nil {
		return Spec{}, err
	}
	return Spec{Instance: l.Instance, Topology: topology.String(), Routing: l.Routing, VCs: l.VCs}, nil
}

// Begin implements [Fabric]. Of managers over a broker package remote knows.
func (l Local) Begin(context.Context) error { return nil }

// Watch implements [Fabric].
func (l Local) Watch(ctx context.Context, heard func()) error {
	l.Fabric.OnPorts(heard)
	heard() // what happened before
	<-ctx.Done()
	return ctx.Err()
}

// Ports implements [Fabric].
func (l Local) Ports(context.Context) (fabric.Ports, error) { return l.Fabric.Ports(), nil }

// Versions implements [Fabric].
func (l Local) Versions(context.Context) ([]uint64, error) { return l.Fabric.TableVersions(), nil }

// Load implements [Fabric].
func (l Local) Load(ctx context.Context, p *tables.Patch) (weft.Time, error) {
	l.Fabric.HoldLonger(l.mostHeld()) // who holds them is alive
	err := l.Fabric.Load(ctx, p)
	return l.Fabric.Now(), err
}

// Hold implements [Fabric].
func (l Local) Hold(ctx context.Context) error {
	l.Fabric.HoldNICsFor(l.mostHeld())
	_, err := l.Fabric.Drained(ctx)
	return err
}

// Resume implements [Fabric].
func (l Local) Resume(context.Context) error { l.Fabric.ResumeNICs(); return nil }

// Report implements [Fabric].
func (l Local) Report(_ context.Context, r fabric.Round) (fault.Reconfiguration, error) {
	return l.Fabric.Reconfigured(r), nil
}

// Settle implements [Fabric].
func (l Local) Settle(ctx context.Context, version uint64) error {
	return l.Fabric.Settle(ctx, version)
}

var _ Fabric = Local{}
