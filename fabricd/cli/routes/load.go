package routes

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/harness/chart"
)

func routesLoad(u *routesFlags) *cobra.Command {
	var file string
	var with []string
	top := 5
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Show how loaded channels are: maximum, mean, histogram, the busiest",
		Long: `Shows over how many source/address pairs' paths each channel is: a source switch, and an address of a NIC of another. --plot draws how many
channels carry more than so much; --with adds the curves of other routings.`,
		Example: "  fabricd routes load --topology irregular:64,128,1 --routing lash --with updn --plot load.svg",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				if err := command.PlotFormat(file); err != nil {
					return err
				}
			}
			if err := command.CanWrite("--plot", file); err != nil {
				return err
			}
			list, err := u.compute(cmd, append([]string{u.routing}, with...)...)
			if err != nil {
				return err
			}
			if file != "" {
				if err := loadChart(list).Save(file); err != nil {
					return err
				}
			}
			for i, c := range list {
				l := c.LoadResult(top)
				switch {
				case u.json:
					err = command.JSON(cmd.OutOrStdout(), l)
				case i > 0:
					_, err = fmt.Fprintln(cmd.OutOrStdout())
					fallthrough
				default:
					if err == nil {
						err = printLoads(cmd.OutOrStdout(), l)
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "plot", "", "draw the loads to this file, .svg or .png")
	f.StringArrayVar(&with, "with", nil, "another routing to show too; may be repeated")
	f.IntVar(&top, "top", top, "list so many of the channels with the greatest load")
	command.Bound(f, "top", 0, command.MaxCount)
	_ = cmd.MarkFlagFilename("plot", command.PlotFormats...) // there is such a flag
	command.Complete(cmd, "with", command.RoutesNames)
	command.Renamed(cmd, "busiest", "top")
	return cmd
}

// barWidth is the length of the longest bar. Chosen by us.
const barWidth = 50

func printLoads(w io.Writer, l survey.LoadResult) error {
	fmt.Fprintf(w, "%s by %s: channel load max %s, mean %.1f source/address pairs over %s channels\n\n", l.Topology,
		l.Engine, number(l.Max), l.Mean, number(l.Channels))
	most := 1
	for _, b := range l.Histogram {
		most = max(most, b.Channels)
	}
	for _, b := range l.Histogram {
		label := fmt.Sprint(b.From)
		if b.To > b.From {
			label += fmt.Sprintf("-%d", b.To)
		}
		bar := (b.Channels*barWidth + most - 1) / most // what is not zero is seen
		fmt.Fprintf(w, "%13s  %-*s  %s\n", label, barWidth, strings.Repeat("█", bar), number(b.Channels))
	}
	if len(l.Busiest) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nthe busiest channels:")
	return command.Tabbed(w, func(tab func(...any)) {
		for _, c := range l.Busiest {
			tab("  "+c.Name, number(c.Load))
		}
	})
}

// loadChart draws how many channels carry more than a load.
func loadChart(list []computed) chart.Chart {
	c := chart.Chart{
		Title: "Load of channels: " + list[0].Routing.Graph.Spec, X: "source/address pairs over a channel",
		Y: "channels with more (%)", FromZero: true,
	}
	for i, made := range list {
		loads := slices.Clone(made.Loads)
		slices.Sort(loads)
		curve := chart.Curve{Name: made.Routing.Engine, Color: i, Style: i, Steps: true}
		curve.Points = []chart.Point{{X: 0, Low: math.Inf(-1), High: math.Inf(1)}}
		for at, n := range loads {
			last := len(curve.Points) - 1
			if curve.Points[last].X != float64(n) {
				curve.Points = append(curve.Points, chart.Point{X: float64(n), Low: math.Inf(-1), High: math.Inf(1)})
				curve.Points[last].Y = 100 * float64(len(loads)-at) / float64(len(loads))
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	return c
}
