package reroute

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
)

// printResult prints what came of faults.
func printResult(w io.Writer, r result) error {
	if many, ok := r.(*reroute.ManyResult); ok {
		return printMany(w, many)
	}
	return printGiven(w, r.(*reroute.GivenResult))
}

func headLine(h reroute.Head) string {
	flows := ""
	if h.SwitchFlows {
		flows = ", flows between switches too"
	}
	return fmt.Sprintf("%s by %s in %s, repaired by %s%s (prepared in %.3f s)", h.Topology, h.Engine,
		command.Counted(h.Layers, "layer"), h.Method, flows, h.Prepare)
}

func printGiven(w io.Writer, r *reroute.GivenResult) error {
	fmt.Fprintf(w, "%s: %s\n\n", headLine(r.Head), command.Counted(r.FlowsTotal, "flow"))
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("fault", "flows rerouted", "stretch", "without a path", "turns enabled", "free from deadlock",
			"computed in")
		for _, s := range r.Faults {
			tab(s.Fault, fmt.Sprintf("%s (%.2f%%)", command.Grouped(uint64(s.FlowsRerouted)), 100*s.Share),
				stretchText(s.MeanStretch, s.MaxStretch),
				command.Without(s.Unroutable, s.Isolated), turnsText(s), uploadText(s),
				fmt.Sprintf("%.4f s", s.Seconds))
		}
	})
	if err != nil {
		return err
	}
	for _, s := range r.Faults {
		if s.NoSpare != "" {
			fmt.Fprintf(w, "%s: %s\n", s.Fault, s.NoSpare)
		}
	}
	if r.Paths == nil {
		return nil
	}
	fmt.Fprintln(w)
	if len(r.Paths) == 0 {
		fmt.Fprintln(w, "no path of these flows has changed")
		return nil
	}
	return command.Tabbed(w, func(tab func(...any)) {
		tab("flow", "old path", "new path")
		for _, p := range r.Paths {
			tab(p.From+" to "+p.To, pathText(p.Old, p.OldLayer, r.Layers), pathText(p.New, p.NewLayer, r.Layers))
		}
	})
}

func turnsText(s reroute.StepResult) string {
	text := fmt.Sprint(s.NewTurns)
	if s.PluginTurns > 0 {
		text += fmt.Sprintf(", by the plug-in %d", s.PluginTurns)
	}
	if s.LocalTurns > 0 {
		text += fmt.Sprintf(", for local paths %d", s.LocalTurns)
	}
	return text
}

// uploadText says whether packets may travel while the tables are uploaded.
func uploadText(s reroute.StepResult) string {
	switch {
	case s.Static:
		return "no, the fabric is emptied"
	case s.Acyclic && s.Rounds > 1:
		return fmt.Sprintf("yes, in %d rounds", s.Rounds)
	}
	return yesOrNo(s.Acyclic)
}

func stretchText(mean, most float64) string {
	if most == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f, at most %.2f", mean, most)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func pathText(names []string, layer *weft.VC, layers int) string {
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names, " ")
	if layer != nil && layers > 1 {
		text += fmt.Sprintf(" vc%d", *layer)
	}
	return text
}

func printMany(w io.Writer, r *reroute.ManyResult) error {
	fmt.Fprintf(w, "%s: %s, %s\n\n", headLine(r.Head), command.Counted(r.FlowsTotal, "flow"),
		command.Counted(r.Runs, "run"))
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("faults", "connected", "", "fabric emptied", "", "in two rounds", "flows rerouted by the last, mean",
			"stretch", "turns enabled, mean")
		for _, b := range r.ByFaults {
			tab(b.Faults, command.Grouped(uint64(b.Connected)), command.Share(uint64(b.Connected), uint64(r.Runs)),
				command.Grouped(uint64(b.Emptied)), command.Share(uint64(b.Emptied), uint64(r.Runs)),
				command.Grouped(uint64(b.Twice)), fmt.Sprintf("%.1f (%.3f%%)", b.Rerouted, 100*b.Moved),
				stretchText(b.Stretch, b.Most), fmt.Sprintf("%.1f", b.NewTurns))
		}
	})
	if err != nil {
		return err
	}
	if s := r.Worst; s.Fault != "" {
		fmt.Fprintf(w, "\nmost flows moved: %s by %s (%.2f%%)\n", command.Grouped(uint64(s.FlowsRerouted)), s.Fault,
			100*s.Share)
	}
	fmt.Fprintf(w, "free from deadlock: %s\ncomputed in %.4f s a fault, at most %.4f s\n", yesOrNo(r.Acyclic),
		r.Seconds, r.MaxSeconds)
	for i, s := range r.Failed {
		if i == 0 {
			fmt.Fprintln(w, "\nnot tolerated, the first of them:")
		}
		fmt.Fprintf(w, "  %s: without a path %s", s.Fault, command.Without(s.Unroutable, s.Isolated))
		if !s.Acyclic {
			fmt.Fprint(w, "; old and new paths together can deadlock: a manager empties the fabric first")
		}
		if s.NoSpare != "" {
			fmt.Fprintf(w, "; %s", s.NoSpare)
		}
		fmt.Fprintln(w)
	}
	return nil
}
