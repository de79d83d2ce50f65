package harness_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/firmware/wasm"
)

// guests are firmwares in WebAssembly, each with the built-in one that it is written after.
func guests(t *testing.T) (pairs [][2]switching.Firmware) {
	for _, lang := range []string{"c", "rust"} {
		for _, name := range []string{"deterministic-link", "adaptive-link"} {
			m, err := wasm.Open(t.Context(),
				fmt.Sprintf("../switch/firmware/examples/%s/%s.wasm", lang, strings.ReplaceAll(name, "-", "_")), "")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, m.Close(t.Context())) })
			builtin, ok := firmware.ByName(name)
			require.True(t, ok)
			pairs = append(pairs, [2]switching.Firmware{builtin, m.Firmware()})
		}
	}
	return pairs
}

// A firmware in WebAssembly is proven as any other: with the same counts, states, hops and
// numbering.
func TestFirmwareInWebAssemblyIsProvenAsTheOneItIsWrittenAfter(t *testing.T) {
	t.Parallel()
	spec, sets := "kary-ntree:2,3", verify.Sets{Max: 2}
	if testenv.Full() {
		spec, sets = "kary-ntree:4,3", verify.Sets{Max: 3, Samples: testenv.Levels(10_000, 50, 0)}
	}
	g, err := topology.Generate(spec)
	require.NoError(t, err)
	for _, pair := range guests(t) {
		var results [2]verify.Result
		for i, fw := range pair {
			r, err := verify.Run(t.Context(), verify.Config{Graph: g, Firmware: fw, Sets: sets})
			require.NoError(t, err)
			r.Seconds, r.Routing = 0, ""
			results[i] = *r
		}
		require.Equal(t, results[0], results[1], pair[1].Name)
		require.Positive(t, results[0].Walks)
		require.Equal(t, pair[0].Name == "deterministic-link", results[0].Numbering != nil)
	}
}

// A run in virtual time is the same to the last event, under cuts.
func TestFirmwareInWebAssemblyRunsAsTheOneItIsWrittenAfter(t *testing.T) {
	t.Parallel()
	for _, pair := range guests(t) {
		var hashes [2]uint64
		for i, fw := range pair {
			h := harness.New(t, "kary-ntree:4,3", harness.Firmware(fw), harness.Traffic("uniform:0.3"),
				harness.Virtual(), harness.Seed(7))
			h.Cut("s0.00", "s1.00")
			h.Cut("s1.01", "s2.01")
			h.Heal()
			h.RequireLedger()
			hashes[i], _ = h.Fabric().Hash()
		}
		require.NotZero(t, hashes[0])
		require.Equal(t, hashes[0], hashes[1], pair[1].Name)
	}
}

// Each link between switches is cut in turn under load, live over NATS, and nothing is discarded.
func TestFirmwareInWebAssemblyBearsEverySingleCutLive(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for i, pair := range guests(t) {
		if i%2 == 1 && !testenv.Soak() { // adaptive-link
			continue
		}
		h := harness.New(t, "kary-ntree:4,3", live.OverNATS(), harness.Firmware(pair[1]),
			harness.Traffic("uniform:0.05"), harness.NoLiveness())
		cut := 0
		for i := range h.Topology().Links {
			l := &h.Topology().Links[i]
			if !l.BetweenSwitches() {
				continue
			}
			a, b := h.Topology().Switches[l.A.Node.Index].Name, h.Topology().Switches[l.B.Node.Index].Name
			cut++
			before := h.Fabric().Ledger().Delivered
			h.Cut(a, b)
			h.Eventually(func() error {
				if n := h.Fabric().Ledger().Delivered - before; n < 100 {
					return fmt.Errorf("%d packets delivered with %s cut", n, l.Name)
				}
				return nil
			})
			h.Restore(a, b)
		}
		require.Equal(t, 128, cut)
		h.RequireLedger(harness.NoneDiscarded)
		require.Positive(t, h.Fabric().Totals().Rerouted)
	}
}

// Mistakes as authors of firmware make them: each is found by verification.
func TestAMistakeInAGuestInCIsFoundByVerification(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	clang := testenv.Need(t, "clang", "the package clang")
	testenv.Need(t, "wasm-ld", "the package lld")
	const examples = "../switch/firmware/examples/c"
	source, err := os.ReadFile(examples + "/deterministic_link.c")
	require.NoError(t, err)
	g, err := topology.Generate("kary-ntree:3,3")
	require.NoError(t, err)
	for mistake, m := range map[string][2]string{
		"a U-turn leaves out the first port of D": {"weft_live_up(t, 0, in)", "weft_live_up(t, 1, in)"},
		"a second U-turn begins D anew": {
			"weft_up_index(t, weft_ask.place, in) + 1, WEFT_NO_PORT)",
			"0, in)",
		},
		"a second U-turn takes the same port": {
			"weft_up_index(t, weft_ask.place, in) + 1, WEFT_NO_PORT)",
			"weft_up_index(t, weft_ask.place, in), WEFT_NO_PORT)",
		},
		"a U-turn stays in the normal layer": {"REROUTE, TURN,", "NORMAL, TURN,"},
		"a packet in the second layer bounces in another": {
			"weft_to(in, vc, vc == NORMAL ? FIRST : BACK",
			"weft_to(in, NORMAL, vc == NORMAL ? FIRST : BACK",
		},
		"the way up is tried from the default port on": {"q = weft_live_up(t, 0, p);", "q = WEFT_NO_PORT;"},
		"around a dead link only by the first port": {
			"one(weft_other_down(t, weft_ask.place, dead), NORMAL, OTHER_DOWN",
			"one(weft_port_up(weft_port(t, 0)) ? weft_port(t, 0) : WEFT_NO_PORT, NORMAL, OTHER_DOWN",
		},
		"the port down is another": {"weft_down_port(t, dst);", "weft_down_port(t, dst + 1);"},
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			wrong := strings.Replace(string(source), m[0], m[1], 1)
			require.NotEqual(t, string(source), wrong)
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(dir+"/fw.c", []byte(wrong), 0o644))
			out, err := exec.CommandContext(t.Context(), clang, "--target=wasm32", "-O2", "-nostdlib", "-Wl,--no-entry",
				"-I"+examples, "-o", dir+"/fw.wasm", dir+"/fw.c").CombinedOutput()
			require.NoError(t, err, "%s", out)
			module, err := wasm.Open(t.Context(), dir+"/fw.wasm", "")
			require.NoError(t, err)
			defer func() { require.NoError(t, module.Close(t.Context())) }()
			r, err := verify.Run(t.Context(), verify.Config{
				Graph: g, Firmware: module.Firmware(), Sets: verify.Sets{Max: 2}, StopAtFirst: true,
			})
			require.NoError(t, err)
			require.False(t, r.Pass)
			require.NotNil(t, r.Counter)
		})
	}
}
