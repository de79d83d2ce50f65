package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestAWrongFlagIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"run --virtal", "unknown flag --virtal: did you mean --virtual? see weft run --help"},
		{"run --vitrual=yes", "unknown flag --vitrual: did you mean --virtual? see weft run --help"},
		{"run --josn", "unknown flag --josn: did you mean --json? see weft run --help"}, // the root's
		{"run -virtual", "unknown flag -virtual: did you mean --virtual? see weft run --help"},
		{"run -x", "unknown flag -x: see weft run --help"},
		{"run --nothing", "unknown flag --nothing: see weft run --help"},
		{"run --secrets", "unknown flag --secrets: see weft run --help"}, // one is hidden
		{"--virtual", "unknown flag --virtual: see weft --help"},
		{"run --firmware x", "unknown flag --firmware: did you mean --routing? see weft run --help"}, // its name in old files
		{"run --seed x", "--seed x: expected a whole number from 0"},
		{"run --seed -1", "--seed -1: expected a whole number from 0"},
		{
			"run -n 99999999999999999999",
			"--seed 99999999999999999999: expected a whole number from 0 to 18446744073709551615",
		},
		{"run --path 70000", "--path 70000: expected a whole number from 0 to 65535"},
		{"run --field -99999", "--field -99999: expected a whole number from -32768 to 32767"},
		{"run --jobs -1", "--jobs -1: expected 0 to 256"},
		{"run --jobs 99999999999999999999", "--jobs 99999999999999999999: expected 0 to 256"},
		{"run --load 2", "--load 2: expected 0 to 1"},
		{"run --load NaN", "--load NaN: expected 0 to 1"},
		{"run --budget 99999h", "--budget 99999h: expected 1ms to 24h0m0s"},
		{
			"run --budget 9999999999h",
			"--budget 9999999999h: expected a time with its unit, as 50ms or 10s, from 1ms to 24h0m0s",
		},
		{"run --lots 11", "--lots 11: expected 1 to 10"},
		{"run --jobs 1.5", "--jobs 1.5: expected a whole number, from 0 to 256"},
		{"run --load half", "--load half: expected a number, from 0 to 1"},
		{"run --virtual=maybe", "--virtual maybe: expected true or false"},
		{"run --budget 5", "--budget 5: expected a time with its unit, as 50ms or 10s, from 1ms to 24h0m0s"},
		{"run --size 3,x", `--size: strconv.Atoi: parsing "x": invalid syntax`},
		{"run --seed", "--seed needs a value: see weft run --help"},
		{"run --" + strings.Repeat("q", 1000), "unknown flag --" + strings.Repeat("q", 80) + "...: see weft run --help"},
	} {
		root := &cobra.Command{Use: "weft", Run: func(*cobra.Command, []string) {}}
		root.PersistentFlags().Bool("json", false, "")
		run := &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}}
		f := run.Flags()
		f.Bool("virtual", false, "")
		f.Uint64P("seed", "n", 0, "")
		f.String("routing", "", "")
		f.Int("jobs", 0, "")
		f.Float64("load", 0, "")
		f.Duration("budget", time.Second, "")
		f.Uint16("path", 0, "")
		f.Int16("field", 0, "")
		f.Uint64("lots", 5, "")
		Bound(f, "jobs", 0, 256)
		Bound(f, "load", 0., 1)
		Bound(f, "budget", time.Millisecond, 24*time.Hour)
		Bound[uint64](f, "lots", 1, 10)
		f.IntSlice("size", nil, "")
		f.Bool("secret", false, "")
		require.NoError(t, f.MarkHidden("secret"))
		root.AddCommand(run)
		var out bytes.Buffer
		root.SetErr(&out)
		root.SetArgs(strings.Fields(c.args))
		require.Equal(t, ExitUnusable, Run(t.Context(), root), c.args)
		require.Equal(t, "weft: "+c.want+"\n", out.String(), c.args)
	}
}
