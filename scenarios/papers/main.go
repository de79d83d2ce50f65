// Command papers measures what `fabricd sweep` does not: cost, losses live, and Weft beside
// BookSim2 and OpenSM.
//
//	go run ./scenarios/papers NAME [FLAGS] ARGUMENTS
//
// Without a name it lists what there is.
package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/chart"
)

func main() { command.Main(papers()) }

// papers is the command with all experiments.
func papers() *cobra.Command {
	root := &cobra.Command{Use: "papers", Short: "Measure cost and losses, and Weft beside BookSim2 and OpenSM"}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(booksimCompare(), booksimSpeed(), claims(), cost(), costHosts(), costLive(), dqrLoss(), dqrOpenSM(),
		ibCuts(),
		layeredCost(), layeredOpenSM(), runs())
	return root
}

// experiment is a command whose arguments are as many as args says.
func experiment(use, short, long string, args cobra.PositionalArgs,
	do func(ctx context.Context, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return do(cmd.Context(), args)
		},
	}
}

// childFlag is for a command that runs itself for one topology.
func childFlag(cmd *cobra.Command, child *bool) {
	cmd.Flags().BoolVar(child, "child", false, "measure one topology and write its row to stdout")
	_ = cmd.Flags().MarkHidden("child") // cannot fail: it is there
}

// number reads argument i of so many things, at least least; without it, it is usual.
func number(args []string, i, usual, least int, things string) (int, error) {
	if i >= len(args) {
		return usual, nil
	}
	n, err := strconv.Atoi(args[i])
	if err != nil || n < least {
		return 0, fmt.Errorf("%q %s: give a number from %d on", args[i], things, least)
	}
	return n, nil
}

// median is the value in the middle of a list, the upper one of two. The list is not empty.
func median[T cmp.Ordered](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func of[R, T any](list []R, f func(r R) T) (values []T) {
	for _, r := range list {
		values = append(values, f(r))
	}
	return values
}

// decimal is x with so many digits after the point.
func decimal(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// drawnLinks are so many links between switches, or all, none twice.
func drawnLinks(g *topology.Graph, n int) (list []weft.LinkID) {
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			list = append(list, l.ID)
		}
	}
	r := rand.New(rand.NewPCG(1, 0))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

// sleep is over when the time is, or ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resident is the memory of a process that is in use, in megabytes; 0 where that is not told.
func resident(pid int) float64 {
	said, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, pages float64
	if err == nil {
		_, err = fmt.Sscan(string(said), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// loadAverage says how busy the machine is, where the system does.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	average, _, _ := strings.Cut(string(data), " ")
	return average
}

func writeCSV(path string, rows [][]string) error {
	return safefile.WriteTo(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// save writes a chart as SVG and as PNG.
func save(c chart.Chart, path string) error {
	for _, end := range []string{".svg", ".png"} {
		if err := c.Save(path + end); err != nil {
			return err
		}
	}
	return nil
}
