package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/linkmon/fault"
)

func TestCutAndRestoreSayWhenThereIsNothingToDo(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	require.Regexp(t, `^cut s0.0-s1.0 at .* s, both ends acted within .* ms; lost \d+ on the wire, \d+ queued\n$`, ok(t, "cut", "s0.0", "s1.0"))
	require.Equal(t, []string{"s0.0-s1.0"}, h.Fabric().CutLinks())
	require.Equal(t, "s0.0-s1.0 is cut already\n", ok(t, "cut", "s1.0-s0.0"))
	require.Equal(t, api.Change{Target: "s0.0-s1.0"}, object[api.Change](t, "cut", "s0.0", "s1.0"))
	require.Equal(t, "s0.0-s1.0 is back\n", ok(t, "restore", "s0.0-s1.0"))
	require.Empty(t, h.Fabric().LinksDown())
	require.Equal(t, "s0.0-s1.0 is neither cut nor crashed\n", ok(t, "restore", "s0.0", "s1.0"))
	fresh := object[api.Change](t, "cut", "s0.1", "s1.1")
	require.True(t, fresh.Fresh)
	require.Equal(t, string(fault.VerbCut), fresh.Fault.Kind)
	require.Equal(t, "s0.1-s1.1", fresh.Fault.Target)
	h.RequireLedger()
}

func TestCrashAndRestoreOfASwitch(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	require.Regexp(t, `^crash s1.0 at .* inside\n$`, ok(t, "crash", "s1.0"))
	require.Equal(t, "s1.0 has crashed already\n", ok(t, "crash", "s1.0"))
	require.Equal(t, "s0.0-s1.0 is neither cut nor crashed\n", ok(t, "restore", "s0.0", "s1.0"), "it is down all the same")
	require.Equal(t, "s1.0 is back\n", ok(t, "restore", "s1.0"))
	require.True(t, object[api.Change](t, "crash", "s0.1").Fresh)
}

func TestHealAllRepairsEverything(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	require.Equal(t, "nothing was broken\n", ok(t, "heal", "--all"))
	ok(t, "cut", "s0.0", "s1.0")
	ok(t, "crash", "s1.1")
	require.Equal(t, "s0.0-s1.0 is back\ns1.1 is back\n", ok(t, "heal", "--all"))
	require.Empty(t, h.Fabric().LinksDown())
	ok(t, "cut", "s0.0", "s1.0")
	require.Equal(t, api.Healed{Healed: []string{"s0.0-s1.0"}}, object[api.Healed](t, "heal", "--all"))
	require.Equal(t, api.Healed{Healed: []string{}}, object[api.Healed](t, "heal", "--all"))
}

func TestWrongInputNamesWhatIsNearest(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	for _, c := range []struct{ args, message string }{
		{"cut s0.0 s1.9", `unknown switch or NIC "s1.9": did you mean "s1.0"?`},
		{"cut s0.0 s0.1", `s0.0 and s0.1 are not linked`},
		{"cut s0.0-s1.9", `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"cut", `accepts between 1 and 2 arg(s), received 0`},
		{"crash s1.9", `unknown switch "s1.9": did you mean "s1.0"?`},
		{"restore s1.9", `unknown switch "s1.9": did you mean "s1.0"?`},
		{"restore s0.0-s1.9", `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"heal", `heal repairs everything: say so with --all; for one link or switch use restore`},
		{"--fabric lbb status", `unknown fabric "lbb": did you mean "lab"? known: lab`},
		{"stats", `unknown command "stats" for "linkmon"`},
		{"status --nope", `unknown flag: --nope`},
		{"events --after -1", `invalid argument "-1"`},
	} {
		out, errs, code := linkmon(t, strings.Fields(c.args)...)
		require.Equal(t, 2, code, c.args)
		require.Empty(t, out, c.args)
		require.True(t, strings.HasPrefix(errs, "linkmon: "), errs)
		require.Contains(t, errs, c.message)
	}
}

func TestOfSeveralFabricsOneMustBeNamed(t *testing.T) {
	ownRegistry(t)
	start(t, "a")
	b := start(t, "b")
	_, errs, code := linkmon(t, "status")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: 2 fabrics are running, say which with --fabric: a, b\n", errs)
	ok(t, "--fabric", "b", "cut", "s0.0", "s1.0")
	require.Len(t, b.Fabric().CutLinks(), 1)
	require.Empty(t, object[api.Status](t, "--fabric", "a", "status").LinksCut)
}

func TestTheShellCompletesNamesOfLinksAndFabrics(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	ok(t, "cut", "s0.0", "s1.0")
	require.NotContains(t, ok(t, "__complete", "cut", ""), "s0.0-s1.0")
	require.Contains(t, ok(t, "__complete", "cut", ""), "s0.0-s1.1\n")
	require.Contains(t, ok(t, "__complete", "restore", ""), "s0.0-s1.0\n")
	require.Contains(t, ok(t, "__complete", "--fabric", ""), "lab\n")
	require.Contains(t, ok(t), "Usage:")
}
