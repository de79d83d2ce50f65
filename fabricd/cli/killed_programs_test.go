//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Whatever is killed, nothing is left of programs, and whoever has started one is told what has
// ended.
func TestNothingIsLeftOfAProgramWhateverIsKilled(t *testing.T) {
	testenv.Raced(t)
	rig.NeedTUN(t)
	ownRegistry(t)
	local := func(t *testing.T, name string) *rig.Process {
		up := rig.Run(t, exec.Command("fabricd", "up", "--fabric", name, "--topology", "kary-ntree:2,2", "--traffic", "none",
			"--listen", "off"))
		up.Says("Ctrl-C drains")
		return up
	}
	const gone = "the process that has NIC n00 has ended"
	for i, c := range []struct {
		name, says string
		code       int
		start      func(t *testing.T, fabric string) (victim int) // 0: it is there later
	}{
		{"program", "", 128 + 9, func(t *testing.T, fabric string) int {
			local(t, fabric)
			return 0
		}},
		{"namespace", "the process that holds it was killed", 2, func(t *testing.T, fabric string) int {
			local(t, fabric)
			return 0
		}},
		{"fabricd", gone, 2, func(t *testing.T, fabric string) int { return local(t, fabric).PID }},
		{"agent", gone, 2, func(t *testing.T, fabric string) int {
			url := keepingServer(t)
			agent := rig.Run(t, exec.Command("fabricd", "agent", "--name", "h1", "--server", url, "--memory", "128MiB",
				"--cores", "1"))
			agent.Says(" room for ")
			up := rig.Run(t, exec.Command("fabricd", "up", "--listen", "off", "--fabric", fabric, "--server", url, "--agents",
				"all",
				"--topology", "kary-ntree:2,2", "--traffic", "none"))
			up.Says("Ctrl-C drains")
			return agent.PID
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fabric, seconds := "killed-"+c.name, strconv.Itoa(1_000_000+10*os.Getpid()+i)
			victim := c.start(t, fabric)
			p := rig.Run(t, exec.Command("linkmon", "--fabric", fabric, "exec", "n00", "--", "sh", "-c",
				fmt.Sprintf("sleep %s & exec sleep %s", seconds, seconds)))
			rig.Until(t, func() bool { return len(called("sleep\x00"+seconds)) == 2 || p.Ended() }, "the program runs")
			unable(t, p.Out.String())
			switch c.name {
			case "program":
				victim = slices.Min(called("sleep\x00" + seconds)) // linkmon waits for the first
			case "namespace":
				victim = holders(t)[0]
			}
			require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
			code, said := p.Ends()
			require.Equal(t, c.code, code, said)
			require.Contains(t, said, c.says)
			rig.Until(t, func() bool { return len(called("sleep\x00"+seconds)) == 0 }, "its programs end")
			requireNoHolders(t)
		})
	}
}
