package command

import (
	"fmt"
	"io"
	"os"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Resolve finds the server that hosts meet at.
func Resolve(server bus.Settings, stderr io.Writer) (bus.Resolved, error) {
	r, err := server.Resolve(os.Getenv)
	if err != nil {
		return r, err
	}
	for _, note := range r.Notes {
		fmt.Fprintln(stderr, "fabricd: "+note)
	}
	if r.URL == "" {
		return r, bus.ErrNoServer
	}
	return r, nil
}

// ThisVersion is what this program is to others of a cluster.
func ThisVersion() bus.Build {
	return bus.Build{Protocol: bus.Protocol, Revision: Revision()}
}
