package command

import (
	"context"
	"io"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// Where is how a running fabric is reached by a process of its own.
type Where struct {
	Fabric, URL string
	Credentials bus.Credentials
	Gone        func() bool  // whether the process of the fabric is; false where nobody knows
	Server      bus.Resolved // as it was named; none: it is as the registry says
}

// Reach finds a fabric, or the one that runs when it is not named, at the server that is named,
// else as the registry says, which has credentials for each role.
func Reach(ctx context.Context, fabric string, server bus.Settings, role func(registry.Entry) bus.Credentials,
	stderr io.Writer,
) (at Where, err error) {
	r, err := resolved(server, stderr)
	if err != nil {
		return at, err
	}
	e, err := registry.At(ctx, r, fabric)
	if err != nil {
		return at, err
	}
	return Where{Fabric: e.Name, URL: e.URL, Credentials: role(e), Gone: e.Gone, Server: r}, nil
}
