package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestWrongInputNamesWhatIsNearestAndDoesNothing(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	for _, c := range []struct{ args, message string }{
		{"cut s0.0 s1.9", `unknown switch or NIC "s1.9": did you mean "s1.0"?`},
		{"cut s0.9 s1.9", `unknown switch or NIC "s0.9": did you mean "s0.0"?`},
		{"cut s0.0 s0.1", `s0.0 and s0.1 are not linked`},
		{"cut s0.0 s0.0", `a link from s0.0 to itself`},
		{"cut s0.0-s1.9", `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"cut s0.1-s1.1 s0.0-s1.9", `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"cut s0.0-s1.8 s0.0-s1.9", `unknown link "s0.0-s1.8": did you mean`},
		{"cut s0.1-s1.1 s0.0", `s0.0 is a switch, not a link: name both ends of a link: s0.0 is linked to s1.0, s1.1`},
		{"cut s0.0 s0.1-s1.1", `s0.0 is a switch, not a link`},
		{"cut s0.1 s1.1 s0.0", `s0.1 is a switch, not a link`},
		{"crash n00", `n00 is a NIC, not a switch`},
		{"cut", `cut what? name a link, as s0.00-s1.00, or its two ends`},
		{"crash", `crash what? name a switch, as s1.03`},
		{"cut s0.0 s1.0 --direction form", `unknown direction "form": did you mean "from"?`},
		{"cut s0.0 s1.0 --for -10s", `--for: "-10s" is negative`},
		{"cut s0.0 s1.0 --for 10", `10 is not a duration, its unit is missing: write 10s or 10ms`},
		{"cut s0.0 s1.0 --for 9999h", `too long a time: expected at most 720h0m0s`},
		{"cut s0.0 s1.0 --loss 10%", `unknown flag --loss: see linkmon cut --help`},
		{"flap s0.0 s1.0", `flap without a period: say how often, such as period 1s`},
		{"flap s0.0 s1.0 --period 1us", `flap with period 1µs: expected 1ms to`},
		{"flap s0.0 s1.0 --period 1s --duty 0.3", `0.3 is not a percentage: write 30%`},
		{"flap s0.0 s1.0 --period 1s --duty 100%", `duty 100%: the link would never change`},
		{"flap s0.0 s1.0 --period 1s --jitter 500ms", `flap with jitter 500ms: the link is down for 500ms and up for 500ms`},
		{"flap s0.0 s1.0 --period 1s --count -1", `--count -1: expected 0 to 1000000000`},
		{"flap s0.0 s1.0 --period 1s --count 3 --for 10s", `flap with both count and for: either ends it, give one`},
		{"impair s0.0 s1.0", `impair without a figure: say what is to suffer, such as loss 10% or delay 5ms`},
		{"impair s0.0 s1.0 --loss 0.1", `0.1 is not a percentage: write 10%`},
		{"impair s0.0 s1.0 --loss 101%", `101% is above 100%`},
		{"impair s0.0 s1.0 --loss -1%", `"-1%" is not a percentage`},
		{"impair s0.0 s1.0 --delay 1ms --jitter 2ms", `jitter 2ms is more than the delay of 1ms`},
		{"impair s0.0 s1.0 --jitter 2ms", `s0.0-s1.0, jitter 2ms: jitter 2ms is more than the delay of 0s`},
		{"impair s0.0 s1.0 --rate 100", `100 is not a rate, its unit is missing: write 100kB/s or 100Mbit/s`},
		{"impair s0.0 s1.0 --rate 1kb/s", `unknown unit "kb": did you mean "kB"?`},
		{"impair s0.0 s1.0 --rate 0B/s", `lets nothing through: write unlimited for no limit, or cut the link`},
		{"impair s0.0 s1.0 --rate 1B/s", `too long beside the 400ms after which a neighbour counts as dead`},
		{"impair s0.0 s1.0 --loss 1% --silent", `silent impair: only cut and flap can be`},
		{"impair s0.0 s1.0 --loss 1% --clear", `impair with --clear and loss 1%`},
		{"impair s0.0 s1.0 --for 1s --clear", `only a fault ends by itself, a repair does not`},
		{"crash s1.9", `unknown switch "s1.9": did you mean "s1.0"?`},
		{"crash s1.0 s1.9", `unknown switch "s1.9": did you mean "s1.0"?`},
		{"crash s1.0 --silent", `silent crash: its neighbours lose signal when it dies; to stop them hearing of it, cut its links silently`},
		{"crash s1.0 --direction to", `crash with direction to: only a link has directions`},
		{"restore s1.9", `unknown switch "s1.9": did you mean "s1.0"?`},
		{"restore s0.0-s1.9", `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"restore s0.0 s1.0 --for 10s", `restore for 10s: only a fault ends by itself, a repair does not`},
		{"restart s0.0-s1.0", `s0.0-s1.0 is a link, not a switch: its ends are s0.0 and s1.0`},
		{"restart s0.0 --for 1s", `restart for 1s: only a fault ends by itself`},
		{"heal", `heal repairs everything: say so with --all; for one link or switch use restore`},
		{"heal --all --silent", `silent heal: only cut and flap can be`},
		{"move", `move what? name a switch, as s1.03`},
		{"move s0.0 west east", `move of 3 things: name one switch, and the host that is to run it`},
		{"move s0.0 west --home", `move to west and --home: give one of them`},
		{"move s0.0 --hoem", `unknown flag --hoem: did you mean --home?`},
		{"--readonly move s0.0 west", `linkmon was started with --readonly`},
		{"faults x", `fault "x": expected the number of a fault, from 1; linkmon faults lists them`},
		{"faults 0", `fault "0": expected the number of a fault`},
		{"faults 7", `no fault 7: there was none yet`},
		{"apply nosuch.yaml", `nosuch.yaml: no such file`},
		{"--fabric lbb status", `unknown fabric "lbb": did you mean "lab"? known: lab`},
		{"stats", `unknown command "stats": did you mean "status"?`},
		{"status --jsno", `unknown flag --jsno: did you mean --json? see linkmon status --help`},
		{"events --after -1", `--after -1: expected a whole number from 0`},
	} {
		out, errs, code := linkmon(t, strings.Fields(c.args)...)
		require.Equal(t, 2, code, c.args)
		require.Empty(t, out, c.args)
		require.True(t, strings.HasPrefix(errs, "linkmon: "), errs)
		require.Contains(t, errs, c.message, c.args)
	}
	require.Empty(t, h.Fabric().Faults())
	require.Empty(t, h.Fabric().LinksDown())
}

func TestAListOfOrdersIsReadStrictlyAndDoneWhollyOrNotAtAll(t *testing.T) {
	dir := ownRegistry(t)
	h := start(t, "lab")
	file := filepath.Join(dir, "faults.yaml")
	for _, c := range []struct{ list, message string }{
		{"- {do: cut, a: s0.0-s1.0}\n- {do: cutt, a: s0.1-s1.0}\n", "faults.yaml:2:8: unknown fault or repair"},
		{"- {do: cut, a: s0.0-s1.0, slient: true}\n", `faults.yaml:1:27: unknown field "slient": did you mean "silent"?`},
		{"- {do: cut, a: s0.0-s1.0}\n- {do: flap, a: s0.1-s1.0}\n- {do: crash}\n", "faults.yaml:2:3: flap without a period"},
		{"- {do: cut, a: s0.0-s1.0}\n- {do: flap, a: s0.1-s1.0}\n- {do: crash}\n", "faults.yaml:3:3: crash of nothing"},
		{"- {do: impair, a: s0.0-s1.0, impair: {loss: 0.1}}\n", "0.1 is not a percentage: write 10%"},
		{"- {do: cut, a: s0.0-s1.0}\n- {do: cut, a: s0.0-s1.9}\n", `unknown link "s0.0-s1.9": did you mean "s0.0-s1.0"?`},
		{"do: cut\na: s0.0-s1.0\n", "faults.yaml:1:"},
		{"[]\n", "no fault in the list"},
		{"", "nothing here"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(c.list), 0o600))
		out, errs, code := linkmon(t, "apply", file)
		require.Equal(t, 2, code, c.list)
		require.Empty(t, out)
		require.Contains(t, errs, c.message)
	}
	require.Empty(t, h.Fabric().Faults())

	require.NoError(t, os.WriteFile(file, []byte("- {do: cut, a: s0.0, b: s1.0}\n- {do: impair, a: s0.1-s1.0, impair: {loss: 10%}}\n- {do: crash, a: s1.1, for: 1h}\n"), 0o600))
	require.Regexp(t, `(?s)^cut s0.0-s1.0 .*\nimpair s0.1-s1.0, loss 10%, at .*\ncrash s1.1 .*\n$`, ok(t, "apply", file))
	faults := h.Fabric().Faults()
	require.Len(t, faults, 3)
	require.Equal(t, []int{1, 2}, faults[2].SharedWith, "they were set at one instant")

	out, errs := new(rig.Output), new(rig.Output)
	cmd := withInput(`[{"do": "restore", "a": "s1.1"}, {"do": "heal"}]`, "apply", "-")
	cmd.SetOut(out)
	cmd.SetErr(errs)
	require.NoError(t, cmd.ExecuteContext(t.Context()), errs)
	require.Equal(t, "s1.1 is back\ns0.0-s1.0 is back\ns0.1-s1.0 is back\n", out.String())
	cmd = withInput(`[{"do": "crash"}]`, "apply", "-")
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	require.ErrorContains(t, cmd.ExecuteContext(t.Context()), "standard input:1:2: crash of nothing")
}

func TestOrdersAreSpeltAsTheFlagsAre(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	for _, args := range []string{
		"cut s1.0 s0.0 --direction to --silent --for 1h",
		"flap s0.0-s1.1 --direction from --period 1h --duty 30% --jitter 50ms",
		"impair s0.1 s1.0 --direction both --loss 10% --delay 5ms --jitter 1ms --rate 1MB/s --for 1h",
		"crash s1.1 --for 1h",
	} {
		ok(t, strings.Fields(args)...)
	}
	var what []string
	for _, r := range h.Fabric().Faults() {
		what = append(what, r.What)
	}
	require.Equal(t, []string{
		"cut s1.0-s0.0 silently, s1.0 to s0.0, for 1h0m0s",
		"flap s0.0-s1.1, s1.1 to s0.0, period 1h0m0s, down 30% of it, jitter 50ms",
		"impair s0.1-s1.0, loss 10%, delay 5ms ± 1ms, rate 1 MB/s, for 1h0m0s",
		"crash s1.1, for 1h0m0s",
	}, what)
	for _, v := range fault.Verbs() {
		help := ok(t, string(v), "--help")
		require.Contains(t, help, "Examples:\n  linkmon "+string(v), "no example")
		hidden := v == fault.VerbCrash || v == fault.VerbRestart || v == fault.VerbHeal
		require.NotEqual(t, hidden, strings.Contains(help, "--direction to|from|both"), v)
	}
}
