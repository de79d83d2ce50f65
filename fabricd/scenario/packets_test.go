package scenario_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/testenv"
)

// hops records the decisions for traced packets.
type hops struct {
	mu   sync.Mutex
	list []weft.Hop
}

func (h *hops) Record(_ weft.Time, _ weft.Node, a *weft.Actions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, a.Hops...)
}

// sent runs a scenario without traffic and returns the ports by which its packets left their first
// switches.
func sent(t *testing.T, text string) (scenario.Result, []weft.PortID) {
	t.Helper()
	s, err := scenario.Load(t.Context(), "test.yaml", []byte(
		"name: sent\ntopology: kary-ntree:2,3\nrouting: adaptive-link\nliveness: {interval: off}\nduration: 50ms\n"+text))
	require.NoError(t, err)
	var h hops
	s.Options.Record = &h
	r, err := run(t, t.Context(), s, nil)
	require.NoError(t, err)
	var out []weft.PortID
	for _, hop := range h.list {
		if hop.Header.Hops == 0 {
			out = append(out, hop.Out)
		}
	}
	return r, out
}

func TestSinglePacketsAreSentBesideTheTraffic(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r, first := sent(t, "timeline:\n  - {at: 10ms, send: {from: n000, to: n001}}\n  - {at: 20ms, send: {from: n100, to: "+
		"n011, count: 3}}\n"+
		"expect: {delivered_at_least: 4, discarded: 0, hops_at_most: 5}\n")
	assert.True(t, r.Pass, "%v", r.Failed)
	assert.EqualValues(t, 4, r.Ledger.Injected)
	assert.Len(t, first, 4, "a recorder hears of their way")
	assert.Equal(t, 5, r.Totals.MaxHops)

	r, _ = sent(t, "timeline: [{at: 10ms, send: {from: n000, to: n100}}]\nexpect: {hops_at_most: 4}\n")
	assert.Equal(t, []string{"hops_at_most 4: a packet crossed 5 switches"}, r.Failed)
	assert.Equal(t, []string{"hops_at_most"}, r.Broken)
}

func TestChoicesSettleWhatTheFirmwareLeavesOpen(t *testing.T) {
	t.Parallel()
	const send = "timeline: [{at: 10ms, send: {from: n000, to: n100, count: 20}}]\nexpect: {delivered_at_least: 20}\n"
	for choice, want := range map[string]weft.PortID{
		"{switch: s2.00, in: n000, to: s1.00}": 2,
		"{switch: s2.00, in: n000, to: s1.01}": 3,
		"{switch: s2.00, in: 0, to: 3}":        3,
	} {
		r, first := sent(t, "choices: ["+choice+"]\n"+send)
		assert.True(t, r.Pass, "%v", r.Failed)
		require.Len(t, first, 20)
		for _, out := range first {
			assert.Equal(t, want, out, choice)
		}
	}
	_, first := sent(t, "choices: [{switch: s2.00, in: n001, to: s1.00}]\n"+send)
	assert.Contains(t, first, weft.PortID(2), "it is about packets of another NIC")
	assert.Contains(t, first, weft.PortID(3))
}

func TestSwitchProcessesKnowNoChoices(t *testing.T) {
	t.Parallel()
	s := load(t, "choices: [{switch: s2.00, in: n000, to: s1.00}]\nduration: 1s\nexpect: {}\n")
	s.Options.Processes = &fabric.ProcessOptions{}
	_, err := run(t, t.Context(), s, nil)
	require.ErrorContains(t, err, "a switch process, which makes its firmware by name, knows none")
}
