package command

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Resolve finds the server that hosts meet at.
func Resolve(server bus.Settings, stderr io.Writer) (bus.Resolved, error) {
	r, err := resolved(server, stderr)
	if err == nil && r.URL == "" {
		err = bus.ErrNoServer
	}
	return r, err
}

// resolved is the server that is named, if any, and prints what there is to note of it.
func resolved(server bus.Settings, stderr io.Writer) (bus.Resolved, error) {
	r, err := server.Resolve(os.Getenv)
	for _, note := range r.Notes {
		fmt.Fprintln(stderr, "fabricd: "+note)
	}
	return r, err
}

// Logger logs to stderr what happens, if that is wanted.
func Logger(verbose bool, stderr io.Writer) *slog.Logger {
	if !verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// ThisVersion is what this program is to others of a cluster.
func ThisVersion() bus.Build {
	return bus.Build{Protocol: bus.Protocol, Revision: Revision()}
}
