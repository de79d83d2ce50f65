package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

func TestCutAndRestoreSayWhenThereIsNothingToDo(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	require.Regexp(t, `^cut s0.0-s1.0 at .* s, both ends acted within .* ms; lost \d+ on the wire, \d+ queued\n(  .*\n)?$`, ok(t, "cut", "s0.0", "s1.0"))
	require.Equal(t, []string{"s0.0-s1.0"}, h.Fabric().CutLinks())
	require.Equal(t, "s0.0-s1.0 is cut already\n", ok(t, "cut", "s1.0-s0.0"))
	require.Equal(t, fabric.Outcome{Do: fault.VerbCut, Target: "s0.0-s1.0"}, object[fabric.Outcome](t, "cut", "s0.0", "s1.0"))
	require.Equal(t, "s0.0-s1.0 is back\n", ok(t, "restore", "s0.0-s1.0"))
	require.Empty(t, h.Fabric().LinksDown())
	require.Equal(t, "s0.0-s1.0 has no fault of its own\n", ok(t, "restore", "s0.0", "s1.0"))
	fresh := object[fabric.Outcome](t, "cut", "s0.1", "s1.1")
	require.True(t, fresh.Changed)
	require.Equal(t, string(fault.VerbCut), fresh.Fault.Kind)
	require.Equal(t, "s0.1-s1.1", fresh.Fault.Target)
	h.RequireLedger()
}

func TestCrashAndRestoreOfASwitch(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	require.Regexp(t, `^crash s1.0 at .* inside\n(  .*\n)?$`, ok(t, "crash", "s1.0"))
	require.Equal(t, "s1.0 has crashed already\n", ok(t, "crash", "s1.0"))
	require.Equal(t, "s0.0-s1.0 has no fault of its own\n", ok(t, "restore", "s0.0", "s1.0"), "it is down all the same")
	require.Equal(t, "s1.0 is back\n", ok(t, "restore", "s1.0"))
	require.Equal(t, "s1.0 has not crashed\n", ok(t, "restart", "s1.0"))
	require.Equal(t, 2, strings.Count(ok(t, "crash", "s1.0", "s1.1"), "crash "), "several at one instant")
	require.Equal(t, "s1.0 is back\ns1.1 is back\n", ok(t, "restart", "s1.0", "s1.1"))
	require.True(t, object[fabric.Outcome](t, "crash", "s0.1").Changed)
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
	require.Equal(t, []string{"s0.0-s1.0"}, object[fabric.Outcome](t, "heal", "--all").Healed)
	require.Contains(t, ok(t, "heal", "--all", "--json"), `"healed":[]`)
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

func TestTheShellCompletesNamesOfLinksSwitchesAndFabrics(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	ok(t, "cut", "s0.0", "s1.0")
	ok(t, "flap", "s0.0", "s1.1", "--period", "1h", "--duty", "1%")
	ok(t, "crash", "s1.1")
	complete := func(args ...string) string { return ok(t, append([]string{"__complete"}, args...)...) }
	require.NotContains(t, complete("cut", ""), "s0.0-s1.0")
	require.Contains(t, complete("cut", ""), "s0.1-s1.0\n")
	require.NotContains(t, complete("cut", "s0.1-s1.0", ""), "s0.1-s1.0\n", "it is named already")
	require.NotContains(t, complete("flap", ""), "s0.0-s1.1\n", "it flaps")
	require.Contains(t, complete("impair", ""), "s0.0-s1.0\n")
	require.Contains(t, complete("restore", ""), "s0.0-s1.0\n")
	require.Contains(t, complete("restore", ""), "s1.1\n")
	require.NotContains(t, complete("restore", ""), "s0.1-s1.0\n")
	require.Contains(t, complete("crash", ""), "s1.0\n")
	require.NotContains(t, complete("crash", ""), "s1.1\n")
	require.Contains(t, complete("restart", ""), "s1.1\n")
	require.NotContains(t, complete("restart", ""), "s1.0\n")
	require.Contains(t, complete("faults", ""), "1\tcut s0.0-s1.0\n")
	require.Contains(t, complete("cut", "--direction", ""), "to\nfrom\nboth\n")
	require.Contains(t, complete("--fabric", ""), "lab\n")
	require.Contains(t, ok(t), "Usage:")
}
