package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/report"
)

// placeReports gives each scenario the folder of its report, and makes sure that no report of
// another is there.
func (u runFlags) placeReports(list []*task) error {
	if u.report == "" {
		return nil
	}
	whose := map[string]string{}
	for _, t := range list {
		t.report = u.report
		if len(list) > 1 {
			t.report = filepath.Join(u.report, folderName(t.scenario.Name))
		}
		if other, taken := whose[t.report]; taken {
			return fmt.Errorf("--report: %s and %s are both called %s, and would have one report: rename one, or run them apart",
				other, t.path, t.scenario.Name)
		}
		whose[t.report] = t.path
		if err := report.Check(t.report, t.scenario.Name); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	return nil
}

// folderName is the name of a scenario as a folder can have it.
func folderName(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, name)
	if plain = strings.TrimLeft(plain, ".-"); plain == "" {
		return "scenario"
	}
	return plain
}

// reported runs t, and writes its report if one is wanted. The error is that of the report.
func (u runFlags) reported(ctx context.Context, cmd *cobra.Command, t *task, stderr io.Writer) error {
	line := progressLine(stderr, t.scenario)
	if t.report == "" {
		t.result, t.err = u.one(ctx, t.scenario, t.number, line, nil, stderr)
		return nil
	}
	began := time.Now()
	rec := report.NewRecorder(t.scenario)
	t.result, t.err = u.one(ctx, t.scenario, t.number, line, rec, stderr)
	path, err := rec.Write(t.report, report.About{
		Scenario: t.scenario, Command: u.again(t), Version: command.Revision(), Began: began, Note: u.carrier(cmd),
	})
	if errors.Is(err, report.ErrNothing) {
		return nil // there is an error that says why
	}
	if err == nil {
		fmt.Fprintln(stderr, "report:", path)
	}
	return err
}

// again is the command that runs t again, with the seed it had.
func (u runFlags) again(t *task) string {
	text := "fabricd run " + command.ShellWord(filepath.ToSlash(t.path))
	if u.virtual {
		text += " --virtual"
	}
	if len(t.scenario.Programs) > 0 {
		text += " --programs"
	}
	return text + " --sim-seed " + strconv.FormatUint(t.scenario.Options.Seed, 10) + " --report " +
		command.ShellWord(filepath.ToSlash(t.report))
}

// carrier says what carries the links when it is not the broker of the run. It tells nothing of
// where that is, for the address may have a password.
func (u runFlags) carrier(cmd *cobra.Command) (note string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := f.Annotations[bus.ServerFlag]; ok {
			note = "over a NATS server that was named, which the command above does not name"
		}
	})
	return note
}
