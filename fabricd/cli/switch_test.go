package cli_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestSwitchIsOneSwitchOfARunningFabricUntilInterrupted(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--traffic", "uniform:0.3")
	c := u.operator(t)
	carries(t, c)
	s10 := begin(t, "switch", "--id", "s1.0")
	s10.out.Await(t, "attached")
	s, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []fabric.SwitchProcess{{Switch: "s1.0", PID: os.Getpid(), Host: s.Processes[0].Host, Answers: true}},
		s.Processes)
	refused(t,
		"switch s1.0 joins fabric weft: the fabric refuses: switch s1.0: another process is this switch: process ? on "+
			s.Processes[0].Host+": end that first", "switch", "--fabric", "weft", "--id", "s1.0")
	refused(t,
		`switch s1.00 joins fabric weft: the fabric refuses: unknown switch "s1.00": did you mean "s1.0"? known: s0.0, s0.1, s1.0, s1.1`, "switch", "--id", "s1.00")
	text := s10.end(t)
	require.Empty(t, s10.errs.String())
	require.Equal(t,
		"switch s1.0 of fabric weft: process ?, adaptive-link, attached\nswitch s1.0 is the fabric's own again\n",
		process.ReplaceAllString(text, "$1?"))
	s, err = c.Status(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Processes)
	events, err := c.Events(t.Context(), 0)
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, e := range events {
		kinds[e.Kind]++
	}
	require.Equal(t, []int{2, 1, 1},
		[]int{kinds[fabric.KindHandover], kinds[fabric.EventProcessJoined], kinds[fabric.EventProcessLeft]})

	// The fabric's own end is an orderly one for its processes.
	s00 := begin(t, "switch", "--id", "s0.0")
	s00.out.Await(t, "s0.0 of fabric weft")
	text = u.end(t)
	require.Regexp(t, `ledger: .* 0 in flight: balanced`, text)
	s00.ends(t, command.ExitOK)
	require.Equal(t, "fabricd: switch s0.0: told to end: fabric weft has been stopped\n", s00.errs.String())
}

// Links of a switch, and its end, must not wait for whoever reads what its process prints.
func TestASwitchDoesNotWaitForAReader(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	u := launch(t, "--traffic", "uniform:0.3")
	c := u.operator(t)
	s10 := beginUnread(t, "switch", "--id", "s1.0")
	rig.Until(t, func() bool {
		s, err := c.Status(t.Context())
		return err == nil && len(s.Processes) == 1
	})
	carries(t, c)
	s10.end(t)
	require.Regexp(t,
		`\d messages on standard output were not read; the last of them:\n(?s:.*)switch s1.0 is the fabric's own again\n$`,
		s10.errs.String())
	u.end(t)
}
