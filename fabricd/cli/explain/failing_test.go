package explain

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/modules"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failing is a firmware for rings that has a bug: it panics where the link on is dead and a packet
// has been there before.
func failing() switching.Firmware {
	return switching.Firmware{
		Name: "failing", On: switching.Grids,
		Registers: func(*weft.Place) []switching.Register { return []switching.Register{{Name: "seen", Width: 4}} },
		Route: func(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
			out := weft.PortID(1)
			if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
				out = 2
			}
			if sw.Register(0) == 1 && !sw.PortUp(out) {
				panic("no way at all")
			}
			d := switching.To(sw, out, 0, pkt.Fields, "on")
			d.Write = switching.RegisterWrite{Do: true, Value: 1}
			return d
		},
	}
}

// A firmware that fails costs the packet, and the fabric goes on. The event says which firmware
// failed where, on what and why, and its command fails for the same reason.
func TestAFirmwareThatFailsIsAnEventWithACommandThatFailsAlike(t *testing.T) {
	if !subnet.Known("failing") {
		require.NoError(t, errors.Join(modules.Add(), subnet.Add(subnet.Of(failing))))
	}
	t.Parallel()
	guest := filepath.Join(t.TempDir(), "fails.wasm")
	clang := testenv.Need(t, "clang", "the package clang")
	testenv.Need(t, "wasm-ld", "the package lld")
	out, err := exec.CommandContext(t.Context(), clang, "--target=wasm32", "-O2", "-Wall", "-Werror", "-nostdlib",
		"-Wl,--no-entry", "-I../../../switch/firmware/examples/c", "-o", guest, "testdata/fails.c").CombinedOutput()
	require.NoError(t, err, string(out))
	ways := map[string]harness.Option{"nats": live.OverNATS(), "virtual": harness.Virtual()}
	for routing, why := range map[string]string{
		"failing":                       "no way at all",
		"wasm:" + guest + ":does=trap":  "it trapped: unreachable",
		"wasm:" + guest + ":does=loop":  "it did not end: a call may take 1048576 instructions",
		"wasm:" + guest + ":does=grow":  "it did not end: a call may take 1048576 instructions",
		"wasm:" + guest + ":does=write": "it read or wrote outside its memory",
		"wasm:" + guest +
			":does=port": "it sends the packet to port 9, and s1 has no such port, or nothing is there, by rule \"on\"",
	} {
		for name, way := range ways {
			t.Run(name+": "+why, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t, "ring:4", way, harness.FirmwareByName(routing),
					harness.Configure(func(o *fabric.Options) { o.Panicked = nil }))
				h.RequireDelivered(h.Send("n0", "n2"))
				h.Cut("s1", "s2")
				h.RequireDiscarded(h.Send("n0", "n2"), switching.RulePanicked)
				h.RequireDelivered(h.Send("n3", "n1"))
				h.Restore("s1", "s2")
				h.RequireDelivered(h.Send("n0", "n2"))
				h.RequireLedger(harness.LostAtMost(0))

				said := ""
				for _, e := range h.Fabric().Events().Since(0) {
					if e.Kind == fabric.EventFailed {
						require.Empty(t, said, "one event")
						require.Equal(t, "s1", e.Switch)
						said = e.Detail
					}
				}
				require.Contains(t, said, "firmware failed on packet 1 of n0 to n2, which is discarded: ")
				require.Contains(t, said, why)
				_, command, found := strings.Cut(said, "; ask it again: fabricd explain ")
				require.True(t, found, said)
				args, err := shellwords.Parse(command)
				require.NoError(t, err)
				again := Command()
				again.SetArgs(args)
				again.SilenceErrors, again.SilenceUsage = true, true
				err = again.ExecuteContext(t.Context())
				require.ErrorContains(t, err, why, command)
			})
		}
	}
}
