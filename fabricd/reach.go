package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// where is how a running fabric is reached by a process of its own.
type where struct {
	fabric, url string
	credentials bus.Credentials
	gone        func() bool  // whether the process of the fabric is; nil: nobody knows
	server      bus.Resolved // as it was named; none: it is as the registry says
}

// reach finds a fabric at the server that is named, else as the registry says, which has
// credentials for each role.
func reach(fabric string, server bus.Settings, role func(registry.Entry) bus.Credentials, stderr io.Writer) (at where, err error) {
	r, err := server.Resolve(os.Getenv)
	if err != nil {
		return at, err
	}
	for _, note := range r.Notes {
		fmt.Fprintln(stderr, "fabricd: "+note)
	}
	if r.URL != "" {
		if fabric == "" {
			return at, errors.New("which fabric of the server? name it with --fabric")
		}
		return where{fabric: fabric, url: r.URL, credentials: r.Credentials, server: r}, bus.ValidateFabric(fabric)
	}
	e, err := registry.Find(fabric)
	if err != nil {
		return at, err
	}
	return where{fabric: e.Name, url: e.URL, credentials: role(e), gone: e.Gone}, nil
}
