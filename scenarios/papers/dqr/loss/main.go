// Command loss counts what a cut link costs in a fat tree under load, with local re-routing, with
// up/down tables that a subnet manager computes anew (DDRC), and with both (hybrid): first in
// virtual time, where it is exact, and then live.
//
//	go run ./scenarios/papers/dqr/loss FOLDER [CUTS [LOAD]]
//
// It writes reconfigure-loss.md into the folder. At a load (0.4), of so many cuts (60) of links
// between switches of a 4-ary 3-tree, each is made in a new fabric for every method, one after the
// other: the same link, the same seed, and so the same packets.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// method is one of those that are compared.
type method struct {
	name, routing, manager string
	beside                 int // it is compared with that one; -1: with none
}

var methods = []method{
	{"DDRC: up/down tables, computed anew", "ftree", "ddrc", -1},
	{"local re-routing (DDLR)", "deterministic-link", "", -1},
	{"hybrid: DDLR until there are new tables", "hybrid", "ddrc", 1},
	{"local re-routing (ADLR)", "adaptive-link", "", -1},
	{"hybrid: ADLR until there are new tables", "hybrid-adaptive", "ddrc", 3},
}

func main() { experiment.Main(run) }

func run(ctx context.Context, args []string) error {
	cuts, load := 60, 0.4
	if len(args) >= 2 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 2 {
			return fmt.Errorf("%q cuts: give a number from 2 on", args[1])
		}
		cuts = n
	}
	if len(args) == 3 {
		x, err := strconv.ParseFloat(args[2], 64)
		if err != nil || !(x > 0 && x <= 1) {
			return fmt.Errorf("load %q: give a number above 0, up to 1", args[2])
		}
		load = x
	}
	if len(args) < 1 || len(args) > 3 {
		return errors.New("usage: loss FOLDER [CUTS [LOAD]]: give the folder that the table goes to")
	}
	g, err := topology.Parse(spec)
	if err != nil {
		return err
	}
	links := drawn(g, cuts)
	var results [2][][]cost // exact and live; per method, per cut
	for i, begin := range []starter{virtually, overBroker} {
		results[i] = make([][]cost, len(methods))
		for k, link := range links {
			for m := range methods {
				m = (m + k) % len(methods) // whoever is first meets another machine than whoever is last
				c, err := cutOne(ctx, begin, g, methods[m], load, link, uint64(k)+1)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", methods[m].routing, g.Links[link].Name, err)
				}
				results[i][m] = append(results[i][m], c)
			}
			fmt.Fprintf(os.Stderr, "%d of %d\n", k+1, len(links))
		}
	}
	return safefile.Write(filepath.Join(args[0], "reconfigure-loss.md"), []byte(report(load, results[0], results[1])))
}
