package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// renamedRun runs a command of which all flags have an old name, and returns it and what it wrote.
func renamedRun(t *testing.T, args string) (run *cobra.Command, out, errs string, code int) {
	t.Helper()
	root := &cobra.Command{Use: "weft", Run: func(*cobra.Command, []string) {}}
	run = &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}}
	f := run.Flags()
	f.String("fabric", "weft", "")
	f.Int("jobs", 0, "")
	Bound(f, "jobs", 0, 256)
	f.Bool("paths", false, "")
	f.StringArray("down", []string{"a"}, "")
	f.StringSlice("with", nil, "")
	for old, name := range map[string]string{
		"name": "fabric", "workers": "jobs", "ways": "paths", "fail": "down", "beside": "with",
	} {
		Renamed(run, old, name)
	}
	root.AddCommand(run)
	var o, e bytes.Buffer
	root.SetOut(&o)
	root.SetErr(&e)
	root.SetArgs(strings.Fields(args))
	code = Run(t.Context(), root)
	return run, o.String(), e.String(), code
}

func TestAFlagGoesByItsOldNameToo(t *testing.T) {
	t.Parallel()
	warned := func(old, name string) string {
		return "weft: --" + old + " is now --" + name + "; 0.2.0 removes the old name\n"
	}
	for args, c := range map[string]struct{ flag, value, errs string }{
		"--fabric lab":              {"fabric", "lab", ""},
		"--name lab":                {"fabric", "lab", warned("name", "fabric")},
		"--name=":                   {"fabric", "", warned("name", "fabric")},
		"--name lab --fabric other": {"fabric", "other", warned("name", "fabric")}, // the later wins
		"--fabric other --name lab": {"fabric", "lab", warned("name", "fabric")},
		"--workers 3":               {"jobs", "3", warned("workers", "jobs")},
		"--ways":                    {"paths", "true", warned("ways", "paths")},
		"--ways=false":              {"paths", "false", warned("ways", "paths")},
		"--fail x --fail y":         {"down", "[x,y]", warned("fail", "down")}, // one warning
		"--fail x --down y,z":       {"down", `[x,"y,z"]`, warned("fail", "down")},
		"--beside x,y --with z":     {"with", "[x,y,z]", warned("beside", "with")},
	} {
		run, out, errs, code := renamedRun(t, "run "+args)
		require.Zero(t, code, args)
		require.Empty(t, out, args)
		require.Equal(t, c.errs, errs, args)
		flag := run.Flags().Lookup(c.flag)
		require.True(t, flag.Changed, args)
		require.Equal(t, c.value, flag.Value.String(), args)
	}
}

func TestAWrongValueOfAnOldNameIsExplained(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--workers 257": "weft: --jobs 257: expected 0 to 256\n",
		"--workers x":   "weft: --jobs x: expected a whole number, from 0 to 256\n",
		"--ways=maybe":  "weft: --paths maybe: expected true or false\n",
		"--name":        "weft: --name needs a value: see weft run --help\n",
	} {
		_, _, errs, code := renamedRun(t, "run "+args)
		require.Equal(t, ExitUnusable, code, args)
		require.Equal(t, want, errs[strings.LastIndex(strings.TrimSuffix(errs, "\n"), "\n")+1:], args)
	}
}

func TestAnOldNameIsNotOffered(t *testing.T) {
	t.Parallel()
	_, help, errs, _ := renamedRun(t, "run --help")
	require.Empty(t, errs)
	_, words, _, _ := renamedRun(t, "__complete run --")
	_, _, near, code := renamedRun(t, "run --workerz 3")
	require.Equal(t, ExitUnusable, code)
	for _, text := range []string{help, near} {
		for _, old := range []string{"--name", "--workers", "--ways", "--fail", "--beside"} {
			require.NotContains(t, strings.Fields(text), old)
		}
	}
	require.Equal(t, "--down\n--fabric\n--help\thelp for run\n--jobs\n--paths\n--with\n:4\n", words)
}

func TestARenamedFlagIsThere(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { Renamed(&cobra.Command{Use: "run"}, "workers", "jobs") })
}
