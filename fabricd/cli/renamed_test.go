package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli"
)

// renamed are the flags that go by an old name too until 0.2.0, "command --old value --new".
var renamed = []string{
	"up --name lab --fabric",
	"up --manager none --method",
	"up --leave=true --detach",
	"down --name lab --fabric",
	"state --name lab --fabric",
	"manage --manager none --method",
	"reroute --fail s0.0-s0.1 --down",
	"reroute --seed 7 --sim-seed",
	"reroute --engine xy --routing",
	"routes dump --output tables --out",
	"routes load --busiest 3 --top",
	"tolerate --fail s0.0-s0.1 --down",
	"tolerate --seed 7 --sim-seed",
	"tolerate --ways=true --paths",
	"tolerate --workers 3 --jobs",
	"topology generate --output ring.yaml --out",
	"topology graph --output ring.svg --out",
	"verify --at-once 2 --max-concurrent",
	"verify --seed 7 --sim-seed",
	"verify --workers 3 --jobs",
}

func TestFlagsGoByTheirOldNamesToo(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, text := range renamed {
		words := strings.Fields(text)
		at := 0
		for !strings.HasPrefix(words[at], "--") {
			at++
		}
		old, value, joined := strings.Cut(strings.TrimPrefix(words[at], "--"), "=")
		given, name := words[at:len(words)-1], strings.TrimPrefix(words[len(words)-1], "--")
		if !joined {
			value = words[at+1]
		}
		root := cli.Command()
		var errs bytes.Buffer
		root.SetErr(&errs)
		cmd, _, err := root.Find(words[:at])
		require.NoError(t, err, text)
		require.NoError(t, cmd.ParseFlags(given), text)
		flag := cmd.Flags().Lookup(name)
		require.True(t, flag.Changed, text)
		assert.Equal(t, value, strings.Trim(flag.Value.String(), "[]"), text)
		assert.Equal(t, "fabricd: --"+old+" is now --"+name+"; 0.2.0 removes the old name\n", errs.String(), text)
		assert.NotRegexp(t, `--`+old+`\b[^-]`, cmd.UsageString()+cmd.Long, text)
		known[cmd.CommandPath()+" --"+old] = true
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			assert.Equal(t, f.Hidden, known[cmd.CommandPath()+" --"+f.Name], "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(cli.Command())
}
