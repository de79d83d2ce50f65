// Command opensm measures LASH beside that of OpenSM, the subnet manager of InfiniBand, on the same
// topology files:
//
//	go run ./scenarios/papers/layered/opensm beside FOLDER [GRAPHS]
//
// It writes opensm.md and opensm.csv into the folder: layers and times of so many random graphs
// (10) with 64 switches and with 128, and twice as many links. And it makes the files that tests
// keep, of tables of OpenSM's that have a cycle:
//
//	go run ./scenarios/papers/layered/opensm keep TOPOLOGY FILE
//
// writes FILE.net and FILE.lfts.gz: the topology, and the tables of OpenSM's engine updn with the
// first switch as root. Both need the packages opensm, ibsim-utils and libumad2sim0.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

func main() { experiment.Main(run) }

var errUsage = errors.New("usage: opensm beside FOLDER [GRAPHS] | opensm keep TOPOLOGY FILE")

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == "keep":
		return keep(ctx, args[1], args[2])
	case len(args) < 2 || len(args) > 3 || args[0] != "beside":
		return errUsage
	}
	graphs := 10
	if len(args) == 3 {
		n, err := strconv.Atoi(args[2])
		if err != nil || n < 1 {
			return fmt.Errorf("%q graphs: give a number from 1 on", args[2])
		}
		graphs = n
	}
	return beside(ctx, args[1], []int{64, 128}, graphs)
}

// keep writes a topology, and what OpenSM's Up*/Down* makes of it.
func keep(ctx context.Context, spec, name string) error {
	g, err := topology.Parse(spec)
	if err != nil {
		return err
	}
	return simulated(ctx, g, func(sim *peer.Sim, folder string) error { return kept(ctx, sim, folder, g, name) })
}

// simulated has ibsim simulate a graph, with a folder of its own, while do runs.
func simulated(ctx context.Context, g *topology.Graph, do func(sim *peer.Sim, folder string) error) error {
	folder, err := os.MkdirTemp("", "opensm")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	sim, err := peer.Start(ctx, folder, g)
	if err != nil {
		return err
	}
	defer sim.Stop()
	return do(sim, folder)
}

func kept(ctx context.Context, sim *peer.Sim, folder string, g *topology.Graph, name string) error {
	roots := filepath.Join(folder, "roots")
	if err := os.WriteFile(roots, fmt.Appendln(nil, g.Identity(weft.SwitchID(0).Node()).GUID), 0o600); err != nil {
		return err
	}
	result, err := sim.Route(ctx, "updn", "-a", roots)
	if err != nil {
		return err
	}
	if err := safefile.WriteTo(name+".net", g.WriteIBNet); err != nil {
		return err
	}
	return safefile.WriteTo(name+".lfts.gz", func(w io.Writer) error {
		dump, err := os.ReadFile(result.File("opensm-lfts.dump"))
		if err != nil {
			return err
		}
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(dump)
		}
		if err == nil {
			err = z.Close()
		}
		return err
	})
}
