package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/cli/command"
)

// Commands run themselves: as a test that is the test's binary, which is then the command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "cost" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// execute runs the command, and returns what it prints.
func execute(t *testing.T, args ...string) (string, error) {
	var out strings.Builder
	root := papers()
	root.SetArgs(args)
	root.SetOut(&out)
	err := command.Execute(t.Context(), root)
	return out.String(), err
}

func TestExperimentsAreListedAndWhatCannotBeRunIsNamed(t *testing.T) {
	said, err := execute(t)
	require.NoError(t, err)
	for _, c := range papers().Commands() {
		require.Contains(t, said, c.Short)
	}
	for args, want := range map[string]string{
		"cost-host x":                           `did you mean "cost-hosts"?`,
		"layered-opensm besides x":              `did you mean "beside"?`,
		"booksim-compare":                       "takes 2 arguments",
		"booksim-speed fattree64 0.1 100":       "takes 4 arguments",
		"cost":                                  "takes at least 1 argument",
		"cost-hosts":                            "takes 1 argument",
		"cost-hosts --what x":                   "--what",
		"cost-live --rate much x":               "--rate",
		"dqr-loss":                              "takes 1 to 3 arguments",
		"dqr-loss x 1":                          `"1" cuts: give a number from 2 on`,
		"dqr-loss x 2 0":                        `load "0": give a number above 0, up to 1`,
		"dqr-opensm x many":                     `"many" cuts: give a number from 1 on`,
		"ib-cuts":                               "takes 1 to 2 arguments",
		"ib-cuts x none":                        `"none" cuts: give a number from 1 on`,
		"layered-cost":                          "takes at least 1 argument",
		"layered-cost x y":                      `"y" switches`,
		"layered-cost x 8 4":                    `"4" switches: give a number from 5 on`,
		"layered-opensm keep ring:3":            "takes 2 arguments",
		"layered-opensm keep rung:3 x":          `unknown topology "rung:3"`,
		"layered-opensm beside . none":          `"none" graphs: give a number`,
		"booksim-speed fattree65 0.1 9 eager":   `no network "fattree65"`,
		"booksim-speed fattree64 much 9 eager":  "load",
		"booksim-speed fattree64 -1 9 eager":    "-1",
		"booksim-speed fattree64 0.1 0 eager":   `cycles must be a whole number, 1 or more, not "0"`,
		"booksim-speed fattree64 0.1 1.5 eager": `not "1.5"`,
		"booksim-speed fattree64 0.1 9 lazy":    `no model "lazy"`,
	} {
		_, err := execute(t, strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
	}
}
