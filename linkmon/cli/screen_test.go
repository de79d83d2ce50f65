package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTheFullScreenCutsALinkAndShowsItsReport(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	m := onTerminal(t, nil)
	m.sees("lab · kary-ntree:2,2", "tier 0, 2 switches", "tier 1, 2 switches", "all up")

	m.keys("Tab") // the first link of s0.0
	m.sees("s0.0-s1.0  up")
	m.keys("C-d")
	m.sees("Cut 1 link: s0.0-s1.0?", "y yes")
	m.keys("n")
	m.sees("nothing was done")
	require.Empty(t, h.Fabric().CutLinks())
	m.keys("C-d")
	m.keys("y")
	m.sees("1 cut", "s0.0-s1.0  cut ✕", "cut s0.0-s1.0 at")
	require.Equal(t, []string{"s0.0-s1.0"}, h.Fabric().CutLinks())

	m.keys("6")
	m.sees("WHAT", "lasts", "cut s0.0-s1.0")
	m.keys("Enter")
	m.sees("fault 1: cut s0.0-s1.0", "detected       by s0.0 port 0", "it lasts")
	m.keys("r")
	m.sees("all up", "s0.0-s1.0 is back")
	require.Empty(t, h.Fabric().CutLinks())
	m.losesSight("it lasts")

	m.keys("1")
	m.sees("tier 0")
	m.keys("c") // the link is still chosen
	m.sees("Cut s0.0-s1.0", "[signalled: both ends lose signal]")
	m.keys("Right", "Down", "Right")
	m.sees("[s0.0 → s1.0]", "cut s0.0-s1.0 --silent --direction to")
	m.keys("Enter")
	m.sees("1 cut", "cut s0.0-s1.0 silently")
	require.Equal(t, "silent", state(t).CutAB)
	require.Empty(t, state(t).CutBA)
	m.keys("u")
	m.sees("all up")
	m.keys("q")
	m.sees("it ended with 0")
	h.RequireLedger()
}

func TestTheFullScreenActsOnAllThatIsMarkedAndHeals(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	m := onTerminal(t, []string{"NO_COLOR=1"})
	m.sees("tier 0")
	m.keys("2")
	m.sees("LINK", "s0.0-s1.0")
	m.keys("Space", "Space")
	m.sees("2 marked", "● s0.0-s1.0", "● s0.0-s1.1")
	m.keys("C-k") // does not ask
	m.sees("2 cut")
	require.Len(t, h.Fabric().CutLinks(), 2)
	require.InDelta(t, h.Fabric().Faults()[0].At, h.Fabric().Faults()[1].At, 0.01, "at one instant")
	m.keys("H")
	m.sees("Heal everything")
	m.keys("y")
	m.sees("all up", "s0.0-s1.0 is back; s0.0-s1.1 is back")
	require.NotRegexp(t, `\x1b\[[0-9;]*[34]8;`, m.tmux("capture-pane", "-p", "-e"), "no colours")

	m.keys("3", "Home", "x")
	m.sees("Crash 1 switch: s0.0?")
	m.keys("y")
	m.sees("1 crashed", "s0.0    down")
	require.Equal(t, []string{"s0.0"}, h.Fabric().CrashedSwitches())
	m.keys("r")
	m.sees("all up", "s0.0 is back")
	m.keys("Enter")
	m.sees("switch s0.0", "received", "PORT", "CREDITS", "s1.0")
	m.keys("i")
	// those marked are meant, whatever the page
	m.sees("Impair 2 links at one instant", "impair s0.0-s1.0 s0.0-s1.1 --loss 10%")
	m.keys("Escape")
}

func TestTheFullScreenFiltersHelpsTakesCommandsAndAnySize(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	m := onTerminal(t, nil, "screen")
	m.sees("tier 0")
	m.keys("?")
	m.sees("LOOKING", "ACTING", "cut silently")
	m.keys("-")
	m.sees("tier 0")
	m.losesSight("ACTING")

	m.keys("2")
	m.write("/!s1.0")
	m.sees("/!s1.0", "s0.0-s1.1")
	m.losesSight("s0.1-s1.0")
	m.keys("Enter", "Escape")
	m.sees("s0.1-s1.0")

	m.write(":link s0.0 s1.0 do")
	m.sees("down")
	m.keys("Tab", "Enter")
	m.sees("1 cut", "cut s0.0-s1.0 at")
	require.Equal(t, []string{"s0.0-s1.0"}, h.Fabric().CutLinks())
	m.write(":cut s0.9 s1.0")
	m.keys("Enter")
	m.sees(`unknown switch or NIC "s0.9": did you mean`)
	m.write(":s1.1")
	m.keys("Enter")
	m.sees("switch s1.1", "CREDITS")

	m.tmux("resize-window", "-x", "132", "-y", "40")
	m.until(func(screen string) error {
		lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
		if len(lines) != 40 || !strings.Contains(lines[39], "? help") {
			return fmt.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		return nil
	})
	m.tmux("resize-window", "-x", "30", "-y", "8")
	m.sees("too small")
	m.tmux("resize-window", "-x", "80", "-y", "24")
	m.sees("switch s1.1")
	m.write(":quit")
	m.keys("Enter")
	m.sees("it ended with 0")
}

func TestReadOnlyRefusesKeysAndCommands(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	m := onTerminal(t, nil, "--readonly")
	m.sees("tier 0", "read-only")
	for _, key := range []string{"Tab", "c", "C", "f", "i", "x", "C-d", "C-k", "r", "H", "u"} {
		m.keys(key)
	}
	m.sees("read-only: nothing can be changed here")
	m.write(":crash s0.0")
	m.keys("Enter")
	m.sees("nothing may be changed: linkmon was started with --readonly")
	require.Empty(t, h.Fabric().Faults())
	m.keys("C-c")
	m.sees("it ended with 0")
}

func TestWhatOthersDoIsSeen(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	start(t, "lab")
	m := onTerminal(t, nil)
	m.sees("tier 0", "all up")
	ok(t, "cut", "s0.0", "s1.0")
	m.sees("1 cut")
	m.keys("5")
	m.sees("cut s0.0-s1.0 at")
	ok(t, "heal", "--all")
	m.sees("all up", "restored s0.0-s1.0")
	ok(t, "crash", "s1.1")
	m.sees("1 crashed")
}

func TestTheFabricGoesAwayAndComesBack(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	m := onTerminal(t, nil)
	m.sees("no fabric is running", "waits for it")
	t.Run("first", func(t *testing.T) {
		start(t, "lab")
		m.sees("tier 0", "all up")
		ok(t, "cut", "s0.0", "s1.0")
		m.sees("1 cut")
	})
	m.sees("GONE")
	t.Run("second", func(t *testing.T) {
		start(t, "lab")
		m.losesSight("GONE")
		m.sees("all up") // another run: what was cut in the one before is not
	})
	m.keys("C-c")
	m.sees("it ended with 0")
}

func TestOfSeveralFabricsTheUserOfTheFullScreenChooses(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	a, b := start(t, "a"), start(t, "b")
	m := onTerminal(t, nil)
	m.sees("which fabric?", "FABRIC", "a   ", "b   ")
	m.keys("Down", "Enter")
	m.sees("b · kary-ntree:2,2", "tier 0, 2 switches")
	m.keys("Tab", "C-k")
	m.sees("1 cut")
	m.keys("F")
	m.sees("FABRIC")
	m.keys("g", "Enter")
	m.sees("a · kary-ntree:2,2", "all up")
	m.keys("Tab", "Tab", "C-k")
	m.sees("1 cut")
	require.Equal(t, []string{"s0.0-s1.1"}, a.Fabric().CutLinks(), "commands go to the same")
	require.Equal(t, []string{"s0.0-s1.0"}, b.Fabric().CutLinks())
	m.keys("q")
	m.sees("it ended with 0")
	m = onTerminal(t, nil, "--fabric", "b")
	m.sees("b · kary-ntree:2,2")
}

func TestOncePrintsAPage(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	ok(t, "cut", "s0.0", "s1.0")
	text := ok(t, "screen", "--once", "--page", "links")
	require.Regexp(t, `^lab · kary-ntree:2,2 .*\n(?s:.*\n)..s0.0-s1.0 +cut ✕ `, text)
	require.NotContains(t, text, "\x1b", "it goes to no terminal")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(line)), 81, line)
	}
	require.Equal(t, 29, strings.Count(ok(t, "screen", "--once", "--columns", "100", "--lines", "30"), "\n"),
		"all but the line about keys")
	h.RequireLedger()
}
