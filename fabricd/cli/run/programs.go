package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/scenario"
)

// nics are the namespaces of NICs for the programs of a scenario.
type nics struct {
	server *namespace.Server
	spaces map[string]*namespace.Namespace // by NIC
}

// nicsOf returns what opens NICs of a fabric of that name.
func nicsOf(name string) func(context.Context, *fabric.Fabric, []string) (scenario.NICs, error) {
	return func(ctx context.Context, f *fabric.Fabric, names []string) (scenario.NICs, error) {
		server, err := namespace.Serve(namespace.Config{
			Fabric: name, Host: namespace.Local, Names: f.Topology().NICNames(), NIC: f.LocalNIC, Now: f.Now,
			Where: func(weft.NICID) string { return namespace.Local },
		})
		if err != nil {
			return nil, err
		}
		n := &nics{server: server, spaces: map[string]*namespace.Namespace{}}
		for _, nic := range names {
			if n.spaces[nic], err = namespace.Open(ctx, namespace.Options{Fabric: name, NIC: nic}); err != nil {
				delete(n.spaces, nic)
				return nil, errors.Join(err, n.Close())
			}
		}
		return n, nil
	}
}

// Run implements [scenario.NICs].
func (n *nics) Run(p *scenario.Program, output *os.File, signals <-chan os.Signal) (code int, err error) {
	dir, err := filepath.Abs(p.Dir) // the first process of a namespace is in another folder
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }() // it is only read
	return n.spaces[p.NIC].Run(namespace.Command{
		Args: p.Command, Env: os.Environ(), Dir: dir, Files: [3]*os.File{null, output, output},
	}, signals)
}

// Close implements [scenario.NICs].
func (n *nics) Close() error {
	var errs []error
	for _, s := range n.spaces {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, n.server.Close())...)
}
