package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// carries waits until the fabric has delivered packets.
func carries(t *testing.T, c *api.Client) {
	t.Helper()
	rig.Until(t, func() bool {
		s, err := c.Status(t.Context())
		return err == nil && s.Totals.Delivered > 20
	})
}

func TestUpRunsUntilInterruptedThenDrainsAndPrintsABalancedLedger(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--traffic", "uniform:0.3", "--verbose")
	require.Equal(t, "weft", u.entry.Name)
	c := u.operator(t)
	carries(t, c)
	out, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0", B: "s1.0"})
	require.NoError(t, err)
	require.True(t, out[0].Changed)
	_, err = c.Apply(t.Context(), fault.Spec{Do: fault.VerbCrash, A: "s0.1"})
	require.NoError(t, err)
	_, err = c.Apply(t.Context(), fault.Spec{Do: fault.VerbHeal})
	require.NoError(t, err)
	_, err = c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.1-s1.1", Silent: true})
	require.NoError(t, err)

	text := u.end(t)
	require.Regexp(t,
		`\nID +FROM .*\n1\* .* cut s0.0-s1.0\n2\* .* crash s0.1\n3\* .* lasts .* cut s0.1-s1.1 silently\nledger: `, text)
	require.Regexp(t, `ledger: \d+ injected = \d+ delivered \+ \d+ lost \+ \d+ discarded \+ 0 in flight: balanced`, text)
	require.Regexp(t, `latency p50 [\d.]+ (us|ms|s), p99 [\d.]+ (us|ms|s), max [\d.]+ (us|ms|s); \d+ rerouted`, text)
	for _, login := range []bus.Credentials{u.entry.Operator, u.entry.Viewer} {
		require.NotContains(t, text+u.errs.String(), login.Password)
	}
	require.Empty(t, registry.Names(), "the name is free again")
}

func TestUpPrintsJSONLines(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	u := launch(t, "--json", "--fabric", "lab")
	c := u.operator(t)
	carries(t, c)
	_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	require.NoError(t, err)
	rig.Until(t, func() bool { return strings.Contains(u.out.String(), `{"sample":`) })
	kinds := map[string]map[string]any{}
	for line := range strings.Lines(u.end(t)) {
		var v map[string]map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		require.Len(t, v, 1, line)
		for kind, fields := range v {
			kinds[kind] = fields
		}
	}
	require.Equal(t, "lab", kinds["up"]["name"])
	require.Equal(t, u.entry.URL, kinds["up"]["url"])
	require.EqualValues(t, 4, kinds["up"]["switches"])
	require.Contains(t, kinds["event"], "seq")
	require.Contains(t, kinds["sample"], "delivered_per_second")
	require.Equal(t, "cut s0.0-s1.0", kinds["report"]["what"])
	require.Equal(t, true, kinds["report"]["open"])
	require.Equal(t, true, kinds["ledger"]["balanced"])
	require.EqualValues(t, 0, kinds["ledger"]["in_flight"])
}

func TestAPortInUseIsNamed(t *testing.T) {
	ownRegistry(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	refused(t, `bus: broker of fabric "weft" listens at `+l.Addr().String()+
		": address already in use: stop what runs there or give another port",
		"up", "--topology", "kary-ntree:2,2", "--broker-listen", l.Addr().String())
	require.Empty(t, registry.Names())
}

// Engines run wherever a routing is named; lash is what runs where no other is named and the
// topology has no shape.
func TestUpRoutesAnyTopology(t *testing.T) {
	testenv.Raced(t)
	for _, c := range []struct{ args, want string }{
		{"--topology irregular:6,9,1", "lash"},
		{"--topology irregular:6,9,1 --routing updn-adaptive:layers=2,root=centre", "updn-adaptive:layers=2,root=centre"},
	} {
		t.Run(c.args, func(t *testing.T) {
			ownRegistry(t)
			u := launch(t, append(strings.Fields(c.args), "--traffic", "uniform:0.3")...)
			carries(t, u.operator(t))
			text := u.end(t)
			require.Regexp(t, `^fabric weft: irregular:6,9,1, 6 switches, \d+ NICs, \d+ links, `+c.want+`, up in [\d.]+m?s\n`,
				text)
			require.Regexp(t, `ledger: (\d+) injected = \d+ delivered \+ 0 lost \+ 0 discarded \+ 0 in flight: balanced`, text)
		})
	}
}

func TestHellosAreAsSeldomAsTheyWereToldToBe(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--hello-interval", "1s", "--hello-multiplier", "2", "--traffic", "none")
	slow := &fault.Impair{Rate: new(fault.Rate(1))}
	_, err := u.operator(t).Apply(t.Context(), fault.Spec{Do: fault.VerbImpair, A: "s0.1-s1.1", Impair: slow})
	require.EqualError(t, err,
		"the fabric refuses: impair s0.1-s1.1, rate 1 B/s: a packet of 256 bytes would take 4m16s, "+
			"too long beside the 2s after which a neighbour counts as dead: give a higher rate")
	u.end(t)
}

func TestUpWithoutHellosAndWithDampingDoesAsItWasTold(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--hello-interval", "0", "--damping", "1h", "--traffic", "none")
	c := u.operator(t)
	_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.1-s1.1", Silent: true})
	require.NoError(t, err)
	var note string
	for range 4 {
		_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
		require.NoError(t, err)
		out, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbRestore, A: "s0.0-s1.0"})
		require.NoError(t, err)
		note = out[0].Note
	}
	require.Equal(t, "s0.0-s1.0 has flapped: damping keeps it down for now", note)
	links, err := c.Links(t.Context())
	require.NoError(t, err)
	for _, l := range links {
		require.Equal(t, l.Link != "s0.0-s1.0", l.AUp && l.BUp, "%+v: nobody has noticed the silent cut", l)
	}
	u.end(t)
}

func TestUpTracesOneOfSoManyPackets(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--trace-every", "10")
	c := u.operator(t)
	traced := 0
	err := c.Hops(t.Context(), 0, func(v fabric.HopView) error {
		if v.End == fabric.EndDelivered {
			traced++
		}
		if traced == 20 {
			return context.Canceled
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	s, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Greater(t, s.Ledger.Injected, uint64(20*5), "and most are not")
	u.end(t)
}

// Half of all packets are for one NIC of four, at twice what its link carries.
func TestEveryViewSaysThatMoreIsOfferedThanCarried(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	u := launch(t, "--link-rate", "25600", "--traffic", "hotspot:1,hot=1,share=0.9", "--drain-timeout", "1ms")
	c := u.operator(t)
	const says = "more is offered than carried: of "
	rig.Until(t, func() bool {
		s, err := c.Status(t.Context())
		return err == nil && strings.HasPrefix(s.Sample.Overload, says)
	})
	rig.Until(t, func() bool { // the stream reads every quarter of a second
		f, err := c.Snapshot(t.Context())
		return err == nil && strings.HasPrefix(f.Sample.Overload, says) && f.Sample.OfferedRate > f.Sample.DeliveredRate
	})
	rig.Until(t, func() bool {
		r, err := http.Get(u.entry.Page + "metrics")
		if err != nil {
			return false
		}
		text, err := io.ReadAll(r.Body)
		return errors.Join(err, r.Body.Close()) == nil && strings.Contains(string(text), "\nweft_overloaded 1\n")
	})
	http.DefaultClient.CloseIdleConnections()
	text := u.endsWith(t, command.ExitFailed)
	require.Regexp(t, `(?m)^ +\d+s  `+says+`\d+ packets a second, \d+ leave the fabric;  delivered `, text)
	require.Regexp(t, `\n +`+says+
		`\d+ packets a second, \d+ leave the fabric:\n +the fabric is saturated, or this machine too slow for it; `+
		`give less, as --traffic uniform:0.02\n`, text)
	attack.Count(t, "a fabric that is offered more than it carries", 1)
}
