//go:build !linux

package namespace

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// Server is of Linux.
type Server struct{}

// Serve has nothing to serve here.
func Serve(Config) (*Server, error) { return nil, nil }

// Close does nothing.
func (*Server) Close() error { return nil }

// Report has nothing to report.
func (*Server) Report() report.Report { return report.Report{} }

// Signals are of Linux.
var Signals []os.Signal

// Namespace is of Linux.
type Namespace struct{}

// Open tells that there are none here.
func Open(context.Context, Options) (*Namespace, error) {
	return nil, fmt.Errorf("%w: %s has no network namespaces: run it on Linux; tests in Go can Dial and Listen on "+
		"any system, see package harness", ErrUnable, runtime.GOOS)
}

// NICs tells that there are none here.
func NICs(ctx context.Context, fabric string) ([]string, string, error) {
	_, err := Open(ctx, Options{Fabric: fabric})
	return nil, "", err
}

// Connections tells that there are none here.
func Connections(ctx context.Context, fabric string) ([]Connection, error) {
	_, err := Open(ctx, Options{Fabric: fabric})
	return nil, err
}

// Run is of Linux.
func (*Namespace) Run(Command, <-chan os.Signal) (int, error) { return 0, ErrUnable }

// Tell is of Linux.
func (*Namespace) Tell(string, string, float64) error { return ErrUnable }

// Close does nothing.
func (*Namespace) Close() error { return nil }

// Main does nothing here.
func Main() {}
