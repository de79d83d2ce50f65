package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// state is what links --json says of s0.0-s1.0.
func state(t *testing.T) fabric.LinkState {
	t.Helper()
	links := object[[]fabric.LinkState](t, "links")
	i := slices.IndexFunc(links, func(l fabric.LinkState) bool { return l.Link == "s0.0-s1.0" })
	return links[i]
}

// becomes waits until the line of s0.0-s1.0 in links ends so.
func becomes(t *testing.T, h *harness.Harness, details string) {
	t.Helper()
	h.Eventually(func() error {
		text := ok(t, "links", "--faulty")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "s0.0-s1.0 ") && strings.HasSuffix(line, "  "+details+"\n") {
				return nil
			}
		}
		return fmt.Errorf("no %q in\n%s", details, text)
	})
}

func TestASilentCutIsFoundByTheEndsAndOneWayIsSeenFromTheEndNamedFirst(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	require.Regexp(t, `^cut s0.0-s1.0 silently at .* s, seen by neither end yet; lost`,
		ok(t, "cut", "s0.0", "s1.0", "--silent"))
	becomes(t, h, "cut both ways, silent; neither end sees it up")
	require.Equal(t, "s0.0-s1.0 is back\n", ok(t, "restore", "s0.0", "s1.0"))
	for _, c := range []struct {
		a, b, direction, ab, ba, details string
	}{
		{"s0.0", "s1.0", "to", "signalled", "", "cut s0.0 to s1.0, signalled; neither end sees it up"},
		{"s1.0", "s0.0", "to", "", "signalled", "cut s1.0 to s0.0, signalled; neither end sees it up"},
		{"s0.0", "s1.0", "from", "", "signalled", "cut s1.0 to s0.0, signalled; neither end sees it up"},
		{"s0.0", "s1.0", "both", "signalled", "signalled", "cut both ways, signalled; neither end sees it up"},
	} {
		ok(t, "cut", c.a, c.b, "--direction", c.direction)
		s := state(t)
		require.Equal(t, []string{c.ab, c.ba, fabric.LinkCut}, []string{s.CutAB, s.CutBA, s.State})
		becomes(t, h, c.details)
		ok(t, "heal", "--all")
		require.True(t, state(t).Well())
	}
	require.Equal(t, "all links are well\n", ok(t, "links", "--faulty"))
	h.RequireLedger()
}

func TestAFlapShowsAndACutTakesItsPlace(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	require.Regexp(t, `^flap s0.0-s1.0 at`, ok(t, "flap", "s0.0", "s1.0", "--period", "20ms"))
	h.Eventually(func() error { // it rests
		if s := state(t); !s.Flapping || s.State != fabric.LinkUp {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	require.Equal(t, "s0.0-s1.0 is cut or flaps already: restore it first\n",
		ok(t, "flap", "s0.0", "s1.0", "--period", "20ms"))
	ok(t, "cut", "s0.0", "s1.0")
	require.False(t, state(t).Flapping)
	ok(t, "restore", "s0.0", "s1.0")
	require.True(t, state(t).Well())
	ok(t, "flap", "s0.0", "s1.0", "--period", "2ms", "--count", "3")
	h.Eventually(func() error { // it ends by itself
		if s := state(t); !s.Well() {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

func TestDampingThatHoldsALinkDownIsSaid(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab", harness.Damping(damping))
	ok(t, "flap", "s0.0", "s1.0", "--period", "5ms")
	h.Eventually(func() error {
		if s := state(t); !s.HeldA && !s.HeldB {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	require.Regexp(t, `^LINK .*\ns0.0-s1.0 .*[ ;] flapping; held down by damping at s[01]\.0.*\n$`,
		ok(t, "links", "--faulty"))
	require.Equal(t, "s0.0-s1.0 is back\n  s0.0-s1.0 has flapped: damping keeps it down for now\n",
		ok(t, "restore", "s0.0", "s1.0"))
	require.Regexp(t, `s0.0-s1.0 +init .*  held down by damping at .*; neither end sees it up`, ok(t, "links", "--faulty"))
}

func TestForEndsTheFaultWithoutLinkmon(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	for _, args := range [][]string{
		{"cut", "s0.0", "s1.0"},
		{"cut", "s0.0", "s1.0", "--silent"},
		{"impair", "s0.0", "s1.0", "--loss", "5%"},
		{"flap", "s0.0", "s1.0", "--period", "10ms"},
		{"crash", "s1.0"},
	} {
		out := object[fabric.Outcome](t, append(args, "--for", "30ms")...)
		require.True(t, out.Changed)
		h.Eventually(func() error {
			if r := h.Fabric().Faults()[out.Fault.ID-1]; r.RestoredAt == 0 || !state(t).Well() {
				return fmt.Errorf("%+v", r)
			}
			return nil
		})
	}
}

func TestFaultsListsTheReportsAndPrintsOneInFull(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	require.Equal(t, "no fault yet\n", ok(t, "faults"))
	require.Equal(t, "[]\n", ok(t, "faults", "--json"))
	ok(t, "cut", "s0.0", "s1.0")
	ok(t, "crash", "s1.1")
	ok(t, "restart", "s1.1")
	text := ok(t, "faults")
	require.Regexp(t, `^ID +FROM +FOR +SEEN +LOST +REROUTED +DISCARDED +DIP +WHAT\n`, text)
	require.Regexp(t, `\n1\* +\d+\.\ds +lasts +[\d.]+ms +\d+ +\d+ +\d+ .* cut s0.0-s1.0\n`, text)
	require.Regexp(t, `\n2\* +\d+\.\ds +[\d.]+m?s +[\d.]+ms .* crash s1.1\n$`, text)
	require.Regexp(t, `(?s)^fault 1: cut s0.0-s1.0\n  when +from .* s, it lasts\n  detected .*  throughput `,
		ok(t, "faults", "1"))
	require.Len(t, object[[]fault.Report](t, "faults"), 2)
	require.Equal(t, "s1.1", object[fault.Report](t, "faults", "2").Target)
	_, errs, code := linkmon(t, "faults", "3")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: no fault 3: the reports kept are those of 1 to 2\n", errs)

	out, stop := background(t, "events", "--follow", "--long")
	ok(t, "heal", "--all")
	h.Fabric().CloseReports()
	out.Await(t, "fault 1 is over\n           fault 1: cut s0.0-s1.0\n             when ")
	require.Zero(t, stop())
	require.Regexp(t, `\n +\S+s  fault 2 is over: crash s1.1 at \S+ s, its neighbours acted within \S+ ms; `+
		`lost \d+ on the wire, \d+ queued, \d+ inside; restored at \S+ s, `, ok(t, "events"))
	lines := bufio.NewScanner(strings.NewReader(ok(t, "events", "--json")))
	reports := map[int]fault.Report{}
	for lines.Scan() {
		var e fabric.Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		if e.Kind == fabric.EventReport {
			reports[e.Fault.ID] = *e.Fault
		}
	}
	require.Len(t, reports, 2)
	require.False(t, reports[1].Open)
}
