package hosttest

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/member"
)

// Process is a host that is a process of its own: launched with [rig.Launch], where TestMain has
// [rig.Be] call RunProcess.
type Process struct {
	Spec           host.Spec // or else
	Fabric, Switch string    // whose switch it is
	URL            string    // of the broker
	Credentials    bus.Credentials
}

// RunProcess is such a process. One that is a switch says "attached", and "left".
func RunProcess(ctx context.Context, p Process) error {
	if p.Switch == "" {
		return remote.Run(ctx, p.Config())
	}
	err := member.Run(ctx, member.Config{
		Fabric: p.Fabric, URL: p.URL, Switch: p.Switch, Credentials: p.Credentials,
		Attached: func(host.Spec) { fmt.Println("attached") },
	})
	if err == nil {
		fmt.Println("left")
	}
	return err
}

// Config is that of the host. One that is a switch which was moved ends when its leader asks no
// more.
func (p Process) Config() remote.Config {
	c := remote.Config{Spec: p.Spec, URL: p.URL, Credentials: p.Credentials}
	if p.Spec.Placement.Shared {
		c.Alone = remote.GoneAfter
	}
	return c
}
