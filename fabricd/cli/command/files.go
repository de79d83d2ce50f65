package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// LoadTopology makes the graph of a spec or a file, and prints what of the file is left out.
func LoadTopology(stderr io.Writer, spec string) (*topology.Graph, error) {
	g, err := topology.Parse(spec)
	if err == nil {
		Warn(stderr, g.Warnings)
	}
	return g, err
}

// Warn prints warnings: what of a topology file is left out, what of another has its old name.
func Warn(stderr io.Writer, list []string) {
	for _, text := range list {
		fmt.Fprintf(stderr, "warning: %s\n", text)
	}
}

// WriteOutput has a file written, or standard output if it has no name. It appears whole or not at
// all.
func WriteOutput(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(cmd.OutOrStdout())
	}
	return safefile.WriteTo(name, write)
}

// PlotFormats are the formats of plots, by the ends of file names.
var PlotFormats = []string{"svg", "png"}

// PlotFormat checks that a file is of a format that can be drawn.
func PlotFormat(path string) error {
	if format := strings.TrimPrefix(filepath.Ext(path), "."); !slices.Contains(PlotFormats, format) {
		return fmt.Errorf("--plot %s: %w", path, document.Unknown("format", format, PlotFormats))
	}
	return nil
}

// CanWrite reports what keeps a file from being written, without touching it.
func CanWrite(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s %s: is a folder, expected a file", flag, path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s %s: there is no folder %s: make it first", flag, path, filepath.Dir(path))
	}
	return nil
}
