package up

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// writtenFlags name a fabric on agents that is written down at a server.
type writtenFlags struct {
	fabric string
	server bus.Settings
}

func (w *writtenFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.fabric, "fabric", "weft", "name of the fabric")
	w.server.Flags(f)
	command.Renamed(cmd, "name", "fabric")
}

// written is what is written down of a fabric on agents. Whoever opens it closes the store.
type written struct {
	at    bus.Resolved
	store cluster.StateStore
	want  cluster.Desired
	graph *topology.Graph
}

// open opens the fabric that the flags name.
func (w *writtenFlags) open(ctx context.Context, stderr io.Writer) (_ *written, err error) {
	if err := bus.ValidateFabric(w.fabric); err != nil {
		return nil, err
	}
	f := &written{}
	if f.at, err = command.Resolve(w.server, stderr); err != nil {
		return nil, err
	}
	none := fmt.Errorf("no fabric %s is written down at this server: fabrics on agents only are; others begin and end "+
		"with their fabricd up", w.fabric)
	f.store, err = cluster.OpenStore(ctx, w.fabric, f.at, true)
	if errors.Is(err, reply.ErrNoKey) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	var there bool
	if f.want, there, err = f.store.Desired(ctx); err == nil && !there {
		err = none
	}
	if err == nil {
		f.graph, err = f.want.Graph()
	}
	if err != nil {
		f.store.Store.Close()
		return nil, err
	}
	return f, nil
}
