package screen

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig drives the model of the screen without a terminal.
type rig struct {
	t       *testing.T
	app     *app
	lines   []string // that were run
	answers string   // what they answer
	fails   error    // how they fail
	frame   api.Frame
}

func newRig(t *testing.T, spec string, configure ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t}
	cfg := Config{
		Do: func(_ context.Context, line string) (string, error) {
			r.lines = append(r.lines, line)
			return r.answers, r.fails
		},
		Complete: func(_ context.Context, line string) (list []string) {
			for _, s := range []string{"cut s0.00-s1.00", "cut s0.00-s1.10", "crash s1.00"} {
				if strings.HasPrefix(s, line) {
					list = append(list, s)
				}
			}
			return list
		},
	}
	for _, c := range configure {
		c(&cfg)
	}
	r.app = newApp(t.Context(), cfg)
	r.size(80, 24)
	r.send(connected{status(spec), read(t, spec), nil})
	r.frame = api.Frame{Seq: 0, Kind: api.KindSnapshot, Run: "run"}
	return r
}

func read(t *testing.T, spec string) *topology {
	t.Helper()
	g := topologytest.Parse(t, spec)
	var b bytes.Buffer
	require.NoError(t, layout.WriteJSON(&b, g))
	top, err := readTopology(b.Bytes())
	require.NoError(t, err)
	return top
}

func status(spec string) api.Status {
	return api.Status{Name: "lab", Topology: spec, Routing: "adaptive-link", Traffic: "uniform:0.2"}
}

func (r *rig) size(w, h int) { r.send(tea.WindowSizeMsg{Width: w, Height: h}) }

// send gives the model a message and what comes of it, commands among it, until nothing more does.
func (r *rig) send(msg tea.Msg) {
	_, cmd := r.app.Update(msg)
	for cmd != nil {
		msg := cmd()
		if _, quits := msg.(tea.QuitMsg); quits {
			r.lines = append(r.lines, "QUIT")
			return
		}
		_, cmd = r.app.Update(msg)
	}
}

// step sends the next frame, a quarter of a second after the one before, with what change makes of
// it.
func (r *rig) step(change func(f *api.Frame)) {
	f := r.frame
	f.Seq++
	f.At += 0.25
	f.Links, f.Switches, f.Events, f.Faults, f.Deadlock = nil, nil, nil, nil, nil
	if f.Seq > 1 {
		f.Kind = api.KindDelta
	}
	if change != nil {
		change(&f)
	}
	f.History = nil
	if f.Seq > 1 {
		f.History = []api.Point{pointOf(r.frame, f)}
	}
	r.frame = f
	r.send(arrived{f})
}

// pointOf is what has happened between two frames, as a point of the history.
func pointOf(was, f api.Frame) api.Point {
	rate := func(now, before uint64) float64 { return float64(now-before) / (f.At - was.At) }
	return api.Point{
		At: f.At, Injected: rate(f.Ledger.Injected, was.Ledger.Injected),
		Delivered: rate(f.Ledger.Delivered, was.Ledger.Delivered),
		Lost:      rate(f.Ledger.Lost, was.Ledger.Lost), Rerouted: rate(f.Totals.Rerouted, was.Totals.Rerouted),
		InFlight: f.Ledger.InFlight,
		P50:      f.Sample.Latency.P50, P99: f.Sample.Latency.P99,
	}
}

// traffic lets the fabric run for so many frames, with figures that look like some.
func (r *rig) traffic(frames int) {
	for range frames {
		r.step(func(f *api.Frame) {
			n := f.Seq
			f.Ledger.Injected += 3000 + n%7*40
			f.Ledger.Delivered = f.Ledger.Injected - 5
			f.Ledger.InFlight, f.Ledger.Balanced = 5, true
			f.Sample.Latency = fabric.Latency{P50: 210 + float64(n%5)*7, P99: 480 + float64(n%3)*30}
			if n == 1 {
				for i := range r.app.mirror.Links {
					load := float64(i%9) / 10
					f.Links = append(f.Links,
						api.LinkView{I: i, State: fabric.LinkUp, RateAB: 1000 * load, RateBA: 500 * load, LoadAB: load, LoadBA: load / 2})
				}
			}
		})
	}
}

// cut lets a link be cut in the next frame, as the ends see it.
func (r *rig) cut(name, how string, seen bool) {
	i := r.app.mirror.Topology.Link(name)
	require.GreaterOrEqual(r.t, i, 0)
	report := fault.Report{
		ID: len(r.app.mirror.Faults) + 1, Kind: "cut", Target: name, What: "cut " + name, At: r.frame.At + 0.2, LostWire: 2,
		LostQueued: 1,
		Rerouted:   1066, Silent: how == fabric.CutSilent, Open: true,
		Detected: []fault.Detection{{End: "s0.00", Port: 0, AfterSeconds: 0.00002, How: fault.BySignal}}, SeenAfter: 0.00002,
	}
	r.step(func(f *api.Frame) {
		f.Links = []api.LinkView{{I: i, State: fabric.LinkCut, CutAB: how, CutBA: how, AUp: !seen, BUp: !seen, Lost: 3}}
		f.Events = []fabric.Event{{Seq: uint64(report.ID), At: f.At, Kind: "cut", Link: name, Fault: &report}}
		f.Faults = []fault.Report{report}
		f.Totals.Rerouted += 300
		f.Ledger.Lost += 3
	})
}

// press presses keys, one after the other, each named as Bubble Tea does.
func (r *rig) press(keys ...string) {
	for _, k := range keys {
		r.send(keyOf(k))
	}
}

// keyOf is the message of a key.
func keyOf(k string) tea.KeyPressMsg {
	named := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left":  tea.KeyLeft,
		"right": tea.KeyRight, "space": tea.KeySpace, "backspace": tea.KeyBackspace, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp,
	}
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(rest)[0], Mod: tea.ModCtrl}
	}
	if rest, ok := strings.CutPrefix(k, "shift+"); ok {
		return tea.KeyPressMsg{Code: named[rest], Mod: tea.ModShift}
	}
	if code, ok := named[k]; ok {
		m := tea.KeyPressMsg{Code: code}
		if k == "space" {
			m.Text = " "
		}
		return m
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// write types a text.
func (r *rig) write(text string) {
	for _, c := range text {
		if c == ' ' {
			r.press("space")
		} else {
			r.press(string(c))
		}
	}
}

// screen is what is on the screen, without colours and attributes.
func (r *rig) screen() string {
	lines := r.app.lines()
	require.LessOrEqual(r.t, len(lines), r.app.h)
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
		require.LessOrEqual(r.t, ansi.StringWidth(lines[i]), r.app.w, lines[i])
	}
	return strings.Join(lines, "\n") + "\n"
}

// last is the last line of the screen.
func (r *rig) last() string {
	lines := strings.Split(strings.TrimSuffix(r.screen(), "\n"), "\n")
	return lines[len(lines)-1]
}

var errRefused = errors.New("the fabric refuses: no")
