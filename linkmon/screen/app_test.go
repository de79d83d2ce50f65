package screen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestFormsMakeTheLineThatWouldBeTyped(t *testing.T) {
	for _, c := range []struct {
		keys string // separated by spaces
		line string
	}{
		{"2 c enter", "cut s0.00-s1.00"},
		{"2 C enter", "cut s0.00-s1.00 --silent"},
		{"2 c right down right down 1 0 s enter", "cut s0.00-s1.00 --silent --direction to --for 10s"},
		{"2 c down left enter", "cut s0.00-s1.00 --direction from"},
		{"2 f enter", "flap s0.00-s1.00 --period 1s"},
		{"2 f backspace backspace 2 s down 3 0 % enter", "flap s0.00-s1.00 --period 2s --duty 30%"},
		{"2 i ctrl+u tab 5 m s enter", "impair s0.00-s1.00 --delay 5ms"},
		{"2 space down space c enter", "cut s0.00-s1.00 s0.00-s1.20"},
		{"4 c enter", "cut s2.00-n000"},
		{"tab tab c enter", "cut s0.00-s1.10"},
		{"2 ctrl+d y", "cut s0.00-s1.00"},
		{"2 ctrl+k", "cut s0.00-s1.00"},
		{"x y", "crash s0.00"},
		{"right right x y", "crash s0.20"},
		{"down ctrl+k", "crash s1.00"},
		{"3 space space ctrl+d y", "crash s0.00 s0.01"},
		{"2 r", "restore s0.00-s1.00"},
		{"3 r", "restore s0.00"},
		{"H y", "heal --all"},
		{": s t a t u s enter", "status"},
	} {
		t.Run(c.keys, func(t *testing.T) {
			r := newRig(t, "kary-ntree:4,3")
			r.traffic(3)
			r.press(strings.Fields(c.keys)...)
			require.Equal(t, []string{c.line}, r.lines, r.screen())
		})
	}
}

func TestNothingIsDoneWithoutAYes(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	for _, keys := range []string{
		"x n", "x enter", "x esc", "2 ctrl+d q", "H n", "2 c esc", "2 i esc", "1 c", "5 c",
		"u",
	} {
		r.press(strings.Fields(keys)...)
		require.Empty(t, r.lines, keys)
	}
}

func TestAnotherFabricIsChosen(t *testing.T) {
	var chosen []string
	r := newRig(t, "kary-ntree:4,3", func(c *Config) {
		c.Fabrics = func(context.Context) ([]api.Listed, error) {
			return []api.Listed{{Name: "lab", Topology: "kary-ntree:4,3", Routing: "adaptive-link"}, {Name: "ring"}}, nil
		}
		c.Choose = func(name string) { chosen = append(chosen, name) }
	})
	r.traffic(3)
	r.press("ctrl+k", "F")
	require.Contains(t, r.screen(), "lab     kary-ntree:4,3  adaptive-link")
	r.press("down", "enter")
	require.Equal(t, []string{"ring"}, chosen)
	require.Contains(t, r.screen(), "connecting")
	r.step(nil)
	require.Contains(t, r.screen(), "connecting", "a frame of the one before")
	r.send(gone{errRefused})
	require.Contains(t, r.screen(), "which fabric?")
	r.press("up", "enter")
	require.Equal(t, []string{"ring", "lab"}, chosen)
	other := status("kary-ntree:4,3")
	other.Name = "ring"
	r.send(connected{other, read(t, "kary-ntree:4,3"), nil})
	r.press("u")
	require.Contains(t, r.last(), "nothing to undo", "that was of another fabric")
}

func TestWhatIsDownAlreadyIsNotCutOrCrashed(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	r.cut("s0.00-s1.00", fabric.CutSilent, false)
	r.step(func(f *api.Frame) { f.Switches = []api.SwitchView{{I: 0, State: switchDown}} })
	r.press("2", "ctrl+k")
	require.Equal(t, "s0.00-s1.00: cut already", r.last())
	r.press("3", "x")
	require.Equal(t, "s0.00: crashed already", r.last())
	require.Empty(t, r.lines)
	r.press("3", "space", "space", "ctrl+k")
	require.Equal(t, []string{"crash s0.01"}, r.lines, "the others are")
}

func TestAnOrderThatIsRefusedLeavesTheFormOpenWithTheReason(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	r.fails = errRefused
	r.press("2", "c", "enter")
	r.golden("form-refused", colorprofile.ASCII)
	r.fails, r.answers = nil, "cut s0.00-s1.00 at 1 s\n  shared with fault 1\n"
	r.press("enter")
	r.golden("form-done", colorprofile.ASCII)
	r.press("u")
	require.Equal(t, "restore s0.00-s1.00", r.lines[len(r.lines)-1])
	r.press("u")
	r.golden("undone", colorprofile.ASCII)
}

func TestLongAnswersGetAPage(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	before := r.screen()
	r.answers = strings.Repeat("a line\n", 100)
	r.write(":status")
	r.press("enter")
	require.Equal(t, 20, strings.Count(r.screen(), "a line"))
	r.press("end", "esc")
	require.Equal(t, before, r.screen())
}

func TestFilters(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	lines := func() int { return strings.Count(r.screen(), "\n  s0.") }
	r.press("3")
	r.write("/^s0.1")
	require.Equal(t, 4, lines(), r.screen())
	r.press("enter")
	require.Equal(t, 4, lines())
	r.press("esc")
	require.Equal(t, 16, lines())
	r.write("/!^s0")
	require.Zero(t, lines())
	r.press("esc", "home")
	require.Equal(t, 16, lines(), "as it was before")
	r.write("/-f 033")
	require.Equal(t, 1, lines())
	r.press("backspace", "backspace", "backspace")
	require.Equal(t, 16, lines())
	r.write("[")
	require.Zero(t, lines(), "no regular expression: searched for as it stands")
	r.press("esc")
	r.write("/nothing like it")
	r.golden("filter-empty", colorprofile.ASCII)
}

func TestCommandsOpenPagesAndAreRemembered(t *testing.T) {
	for _, page := range []string{"links", "switches", "nics", "events", "faults", "charts", "map", "help"} {
		r := broken(t)
		r.write(":" + page)
		r.press("enter")
		r.golden(page+"-plain", colorprofile.ASCII)
		require.Empty(t, r.lines, page)
	}
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	r.cut("s0.00-s1.00", fabric.CutSignalled, true)
	for command, want := range map[string]string{
		"link s1.00 s0.00": "link s0.00-s1.00  cut ✕", "link s0.00-s1.10": "link s0.00-s1.10  up",
		"s1.03":        "switch s1.03  up  holds 0",
		"switch s1.02": "switch s1.02  up  holds 0", "n000": "link s2.00-n000  up", "fault 1": "fault 1: cut s0.00-s1.00",
	} {
		r.write(":" + command)
		r.press("enter")
		require.Equal(t, want, strings.Split(r.screen(), "\n")[3], command)
		require.Empty(t, r.lines, command)
	}
	r.write(":status")
	r.press("enter", ":", "up")
	require.Equal(t, ":status", r.last())
	r.press("down", "backspace") // past the end: empty, and so closed
	require.Regexp(t, `^\? help  : command `, r.last())
	r.write(":crash s1.0")
	require.Equal(t, ":crash s1.00", r.last(), "completed")
	r.press("tab", "enter")
	require.Equal(t, []string{"status", "crash s1.00"}, r.lines)
	r.write(":q")
	r.press("enter")
	require.Equal(t, "QUIT", r.lines[2])
}

func TestTheCursorStaysOnItsThingWhileRowsComeAndGo(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	r.press("2", "end")
	last := r.app.object()
	r.write("/n3")
	r.press("enter")
	require.Equal(t, last, r.app.object())
	r.press("esc")
	require.Equal(t, last, r.app.object())
	r.press("5")
	for i := range 30 {
		r.cut(fmt.Sprintf("s0.%d%d-s1.%d%d", i/4%4, i%4, 0, i%4), fabric.CutSignalled, true)
		require.Equal(t, target{anEvent, i + 1}, r.app.object(), "the newest")
	}
	r.press("up")
	before := r.app.object()
	r.cut("s0.33-s1.33", fabric.CutSignalled, true)
	require.Equal(t, before, r.app.object(), "not while it was moved away from the end")
}

func TestTheNextTroubleIsFoundOnTheMap(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	r.press("n")
	r.golden("well", colorprofile.ASCII)
	r.cut("s1.22-s2.22", fabric.CutSilent, false)
	r.press("n")
	require.Equal(t, target{aLink, r.app.mirror.Topology.Link("s1.22-s2.22")}, r.app.object())
	r.step(func(f *api.Frame) { f.Switches = []api.SwitchView{{I: 40, State: switchDown}} })
	r.press("n")
	require.Equal(t, target{aSwitch, 40}, r.app.object())
}

func TestADeadlockIsSaidOnEveryPage(t *testing.T) {
	r := newRig(t, "ring:4")
	r.traffic(3)
	r.step(func(f *api.Frame) { f.Deadlock = []api.ChannelView{{Link: 0, Dir: "ab"}, {Link: 1, Dir: "ab"}} })
	for _, page := range []string{"1", "2", "7"} {
		r.press(page)
		r.golden("deadlock-"+page, colorprofile.ASCII)
	}
}

// Whatever is pressed, on whatever page of whatever fabric at whatever size: what is drawn fits,
// and nothing panics.
func TestWhateverIsPressedTheScreenFits(t *testing.T) {
	testenv.Long(t)
	keys := []string{
		"1", "2", "3", "4", "5", "6", "7", "enter", "esc", "up", "down", "left", "right", "tab", "shift+tab", "home", "end",
		"pgup", "pgdown",
		"space", "c", "C", "f", "i", "x", "r", "u", "H", "y", "n", "-", "?", ":", "/", "s", "0", ".", "backspace", "ctrl+d",
		"ctrl+k", "d", "g", "G",
	}
	draw := rand.New(rand.NewPCG(7, 7))
	for _, spec := range []string{
		"kary-ntree:4,3", "mesh:3x3", "torus:4x4x3", "irregular:16,32,1", "mport-tree:36,2",
		"ring:12", "torus:20x20",
	} {
		r := newRig(t, spec)
		r.traffic(3)
		names := r.app.mirror.Topology.Links
		for i := range 600 {
			switch {
			case i%40 == 0:
				r.size(draw.IntN(160), draw.IntN(60))
			case i%97 == 0:
				r.cut(names[draw.IntN(len(names))].ID, fabric.CutSilent, draw.IntN(2) == 0)
			case i%101 == 0:
				r.send(gone{errors.New("no fabric")})
			}
			key := keys[draw.IntN(len(keys))]
			r.press(key)
			if draw.IntN(3) > 0 {
				continue // several keys may come before anything is drawn
			}
			lines := r.app.lines()
			require.LessOrEqual(t, len(lines), max(1, r.app.h), "%s after %s", spec, key)
			for _, l := range lines {
				require.LessOrEqual(t, ansi.StringWidth(l), r.app.w, "%s after %s at %dx%d: %q", spec, key, r.app.w, r.app.h, l)
			}
		}
	}
}

// source is a fabric that says what the test wants.
type source struct {
	frames chan api.Frame // closed: the fabric is gone
	closed *int
}

func (s source) Status(context.Context) (api.Status, error) { return status("ring:3"), nil }
func (s source) Close() error                               { *s.closed++; return nil }

func (s source) Topology(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"switches":[{"id":"s0"}],"nics":[],"links":[]}`), nil
}

func (s source) Switch(context.Context, string, bool) (d api.SwitchDetail, err error) { return d, nil }

func (s source) Frames(ctx context.Context, f func(api.Frame) error) error {
	for {
		select {
		case frame, ok := <-s.frames:
			if !ok {
				return errors.New("the connection is closed")
			}
			if err := f(frame); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestTheAttendantDialsAnewWhenTheFabricIsGoneSilentOrSkipsAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		dialled, closed := 0, 0
		frames := make(chan api.Frame)
		done := make(chan struct{})
		cfg := Config{Dial: func(context.Context) (Source, error) {
			if dialled++; dialled == 1 {
				return nil, errors.New("none yet")
			}
			return source{frames, &closed}, nil
		}}
		go func() {
			defer close(done)
			attend(ctx, cfg, nil, func(m tea.Msg) {
				switch m := m.(type) {
				case gone:
					told = append(told, "gone: "+m.err.Error())
				case arrived:
					told = append(told, fmt.Sprint(m.frame.Run, m.frame.Seq))
				case connected:
					told = append(told, "connected")
				}
			})
		}()
		frames <- api.Frame{Kind: api.KindSnapshot, Run: "a", Seq: 4}
		frames <- api.Frame{Kind: api.KindDelta, Run: "a", Seq: 5}
		frames <- api.Frame{Kind: api.KindDelta, Run: "a", Seq: 7} // one is missing
		frames <- api.Frame{Kind: api.KindSnapshot, Run: "a", Seq: 8}
		frames <- api.Frame{Kind: api.KindSnapshot, Run: "b", Seq: 1} // another run: its topology may be another
		frames <- api.Frame{Kind: api.KindSnapshot, Run: "b", Seq: 2}
		begin := time.Now()
		frames <- api.Frame{Kind: api.KindSnapshot, Run: "b", Seq: 9}
		select { // it says nothing for so long that it is taken for gone, and dialled
		case frames <- api.Frame{Kind: api.KindDelta, Run: "b", Seq: 10}:
		case <-time.After(time.Hour):
		}
		synctest.Wait()
		require.Zero(t, time.Since(begin))
		time.AfterFunc(staleTime+retryTime, func() { close(frames) })
		<-time.After(staleTime + retryTime + time.Millisecond)
		synctest.Wait()
		cancel()
		<-done
		require.Equal(t, []string{
			"gone: none yet", "connected", "a4", "a5", "connected", "a8", "connected", "b2", "b9", "b10",
			"gone: the fabric says nothing any more", "connected", "gone: the connection is closed",
		}, told)
		require.Equal(t, dialled-1, closed)
	})
}

func TestAFabricThatComesBackAsAnotherIsShownFromTheStart(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.traffic(3)
	r.press("2", "end", "space", "c", "enter", "enter")
	r.send(gone{errors.New("no fabric is running")})
	r.golden("gone", colorprofile.ASCII) // what was known stays
	r.send(connected{status("mesh:2x2"), read(t, "mesh:2x2"), nil})
	r.frame = api.Frame{Kind: api.KindSnapshot, Run: "other"}
	r.traffic(3)
	r.golden("another", colorprofile.ASCII)
	r.press("u", "-", "2", "end", "enter")
	r.golden("another-link", colorprofile.ASCII)
	require.Len(t, r.lines, 1)
}

func TestTheHelpFitsIntoEightyColumns(t *testing.T) {
	for _, pairs := range [][]string{helpLook, helpAct, newTheme(false, false).signsHelp()} {
		for i := 1; i < len(pairs); i += 2 {
			require.LessOrEqual(t, ansi.StringWidth(pairs[i]), 80/2-14, pairs[i])
		}
	}
}

func TestTheHeadSaysWhatIsWrongWithTheFabricAsAWhole(t *testing.T) {
	r := newRig(t, "kary-ntree:4,3")
	r.size(160, 24)
	r.traffic(3)
	r.step(func(f *api.Frame) {
		f.Sample.Overload = "the machine carries 6.5% of what is offered: slow it with linkmon time-factor 0.065"
	})
	r.golden("overload", colorprofile.ASCII)
	r.step(func(f *api.Frame) { f.Sample.Overload = "" })
	r.golden("overload-over", colorprofile.ASCII)
	r.step(func(f *api.Frame) {
		f.Sample.Waiting = "a packet from n000 to n063 has waited 2.3 s in s0.00 for the link to s1.00, which is down"
	})
	r.golden("waiting", colorprofile.ASCII)
}
