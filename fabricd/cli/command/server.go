package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// ErrNoServer says what a cluster needs.
var ErrNoServer = errors.New("hosts meet at a NATS server: name it with --server (NATS_URL), as nats://h1:4222")

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
		return r, ErrNoServer
	}
	return r, nil
}

// ThisVersion is what this program is to others of a cluster.
func ThisVersion() bus.Build {
	return bus.Build{Protocol: bus.Protocol, Revision: Version()}
}
