package run

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario"
)

// printResult prints how a single run ended, the reports of its faults in full.
func printResult(cmd *cobra.Command, r scenario.Result) {
	w := cmd.OutOrStdout()
	for _, f := range r.Faults {
		_, _ = f.WriteTo(w) // a closed pipe ends the process by signal
	}
	printPrograms(w, r.Programs)
	command.PrintLedger(w, r.Ledger)
	fmt.Fprintf(w, "rerouted %d, reordered %d, mean stretch %.4f, latency %v\n",
		r.Rerouted, r.Reordered, r.Totals.Stretch, r.Totals.Latency)
	for _, why := range r.Failed {
		fmt.Fprintln(w, "failed:", why)
	}
	verdict := "PASS"
	if !r.Pass {
		verdict = "FAIL"
	}
	took := fmt.Sprintf("%.1f s", r.Seconds)
	if r.TimeFactor > 0 {
		took += fmt.Sprintf(" at %.0f%% of real time", 100*r.TimeFactor)
	}
	if r.EventHash != "" {
		took = fmt.Sprintf("%.3f s of virtual time in %.1f s, event hash %s", r.VirtualSeconds, r.Seconds, r.EventHash)
	}
	fmt.Fprintf(w, "%s %s (%s)\n", verdict, r.Scenario, took)
}

// printPrograms prints how programs ended, and the last lines of those that did not end well.
func printPrograms(w io.Writer, list []scenario.ProgramResult) {
	for _, p := range list {
		fmt.Fprintln(w, p)
		if p.Error == "" && (p.Exit == nil || *p.Exit == 0) {
			continue
		}
		lines := slices.Collect(strings.Lines(p.Output))
		for _, line := range lines[max(0, len(lines)-shownLines):] {
			fmt.Fprintf(w, "  %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
}

// shownLines is how much of the output of a program people see who ask for nothing; chosen by us.
const shownLines = 10

// printTable prints a line for each scenario, then what failed in words.
func printTable(w io.Writer, list []*task, took time.Duration) {
	tab := table.New("scenario", "result", "seconds", "injected", "delivered", "lost", "discarded", "rerouted",
		"failed")
	tab.Gap = 2
	passed, ran := 0, 0
	for _, t := range list {
		r := t.result
		switch {
		case !t.ran:
			tab.Row(t.scenario.Name, "not run", "", "", "", "", "", "", "")
			continue
		case t.err != nil:
			tab.Row(t.scenario.Name, "UNUSABLE", "", "", "", "", "", "", firstLine(t.err.Error()))
		default:
			word := "FAIL"
			if r.Pass {
				word = "pass"
				passed++
			}
			l := r.Ledger
			tab.Row(r.Scenario, word, fmt.Sprintf("%.1f", r.Seconds), l.Injected, l.Delivered, l.Lost, l.Discarded,
				r.Rerouted, strings.Join(r.Broken, ", "))
		}
		ran++
	}
	_ = tab.Text(w) // a closed pipe ends the process by signal
	fmt.Fprintf(w, "%d of %d passed, %d not run, in %.1f s\n", passed, len(list), len(list)-ran, took.Seconds())
	for _, t := range list {
		for _, why := range t.result.Failed {
			fmt.Fprintf(w, "%s: %s\n", t.scenario.Name, why)
		}
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// writeJUnit writes what came of list, those that were interrupted as skipped.
func writeJUnit(path string, list []*task, began time.Time) error {
	suite := junit.Testsuite{Name: "scenarios", Time: fmt.Sprintf("%.3f", time.Since(began).Seconds())}
	suite.SetTimestamp(began)
	for _, t := range list {
		c := junit.Testcase{
			Name: t.scenario.Name, Classname: strings.ReplaceAll(filepath.ToSlash(filepath.Dir(t.path)), "/", "."),
			Time: fmt.Sprintf("%.3f", t.result.Seconds),
		}
		switch r := t.result; {
		case !t.ran:
			c.Skipped = &junit.Result{Message: "interrupted before its end"}
		case t.err != nil:
			c.Error = &junit.Result{Message: firstLine(t.err.Error()), Type: "unusable", Data: t.err.Error()}
		case !r.Pass:
			c.Failure = &junit.Result{
				Message: strings.Join(r.Broken, ", "), Type: "expectation",
				Data: strings.Join(r.Failed, "\n"),
			}
		}
		if t.ran && t.err == nil {
			var b strings.Builder
			for _, f := range t.result.Faults {
				_, _ = f.WriteTo(&b)
			}
			printPrograms(&b, t.result.Programs)
			command.PrintLedger(&b, t.result.Ledger)
			c.SystemOut = &junit.Output{Data: b.String()}
		}
		suite.AddTestcase(c)
	}
	all := junit.Testsuites{Time: suite.Time}
	all.AddSuite(suite)
	return safefile.WriteTo(path, all.WriteXML)
}
