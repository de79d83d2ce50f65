package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	upcmd "github.com/weft-fabric/weft/fabricd/cli/up"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// slow has links that carry a packet in 400 ms, and less time to drain.
var slow = []string{"--link-rate", "640", "--traffic", "uniform:1", "--drain-timeout", "50ms"}

// holdsPackets waits until packets are on their way.
func holdsPackets(t *testing.T, u *up) {
	t.Helper()
	c := u.operator(t)
	rig.Until(t, func() bool {
		l, err := c.Ledger(t.Context())
		return err == nil && l.Waiting.Queues+l.Waiting.Switches > 0
	})
}

const undrained = `not drained in \d+ms, so the ledger was not checked: \d+ packets? (?:is|are) left: \d+ in send queues, \d+ in switches, \d+ on wires: ` +
	`\d+ (?:in|on) (?:the send queue of n\d\d|switch s\d\.\d|the wire from \S+ to \S+), which wait for \S+ `

func TestAFabricThatDoesNotDrainSaysWhatIsLeftAndFails(t *testing.T) {
	ownRegistry(t)
	u := launch(t, slow...)
	holdsPackets(t, u)
	text := u.endsWith(t, command.ExitFailed)
	require.Regexp(t, `\n`+undrained+
		`.*\nto wait longer, give --drain-timeout; to have less to wait for, less traffic, as --traffic uniform:0.02\n`+
		`(?s:.*\n|)ledger: \d+ injected = \d+ delivered \+ \d+ lost \+ 0 discarded \+ \d+ in flight: not checked\n`, text)
	require.Empty(t, u.errs.String())
}

func TestAFabricThatDoesNotDrainSaysSoInJSON(t *testing.T) {
	ownRegistry(t)
	u := launch(t, append(slow, "--json")...)
	holdsPackets(t, u)
	lines := strings.Split(strings.TrimSpace(u.endsWith(t, command.ExitFailed)), "\n")
	var last upcmd.Line
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.Regexp(t, `^`+undrained, last.Left)
	require.False(t, last.Ledger.Balanced)
	require.Regexp(t, `^not drained in \d+ms, so the ledger was not checked$`, last.Ledger.NotChecked)
}

// Nobody reads the standard output of this one.
func TestDrainingAndTheLedgerDoNotWaitForAReader(t *testing.T) {
	testenv.Long(t)
	ownRegistry(t)
	u := registered(t, beginUnread(t, "up", "--topology", "kary-ntree:2,2", "--traffic", "uniform:0.3"))
	carries(t, u.operator(t))
	u.end(t) // it does not wait for somebody to read
	require.Regexp(t,
		`\d+ messages on standard output were not read; the last of them:\n(?s:.*)ledger: .* 0 in flight: balanced\nlatency `,
		u.errs.String())
	attack.Count(t, "a fabric drained while nobody reads its standard output", 1)
}

func TestAScenarioThatDoesNotDrainSaysTheSame(t *testing.T) {
	t.Parallel()
	path := write(t, `
name: slow
topology: kary-ntree:2,2
routing: adaptive-link
traffic: uniform:1
duration: 500ms
link: {rate: 2560, paced: true} # ten packets a second
expect: {}
`)
	out, _, code := fabricd(t, "run", path, "--drain-timeout", "50ms", "--json")
	require.Equal(t, command.ExitFailed, code)
	var r struct {
		Pass   bool
		Failed []string
		Broken []string
		Ledger fabric.Ledger
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.False(t, r.Pass)
	require.Equal(t, []string{"drain"}, r.Broken, "nobody knows whether the ledger balances")
	require.Regexp(t, `^the fabric does not drain: `+undrained, r.Failed[0])
	require.NotEmpty(t, r.Ledger.NotChecked)

	out, _, code = fabricd(t, "run", path, "--drain-timeout", "50ms")
	require.Equal(t, command.ExitFailed, code)
	require.Regexp(t, `ledger: .*: not checked\n`, out)
}

func TestAManagerDoesNotWaitForAReader(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	u := launch(t, "--routing", "ftree", "--method", "none")
	m := beginUnread(t, "manage", "--method", "ddrc")
	c := u.operator(t)
	carries(t, c)
	_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	require.NoError(t, err)
	rig.Until(t, func() bool {
		faults, err := c.Faults(t.Context())
		return err == nil && faults[0].Reconfiguration != nil && faults[0].Reconfiguration.InForceSeconds > 0
	})
	m.end(t)
	require.Regexp(t, `^\d+ messages on standard output were not read; the last of them:\n(fabric weft: .*\n)+$`,
		m.errs.String())
	u.end(t)
}
