package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// hosted answers for a fabric on the hosts east and west, whose leader runs switches too. All of
// its switches belong to east.
type hosted struct {
	mu    sync.Mutex
	at    map[string]string // where a switch runs
	calls int
}

func startHosted(t *testing.T) *hosted {
	t.Helper()
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})
	control := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: b})
	h := &hosted{at: map[string]string{"s1.02": "", "s1.03": "east"}}
	require.NoError(t, errors.Join(
		bus.Handle(control, bus.Subject{Kind: bus.SubjectControl, Verb: api.VerbMove}, h.move),
		bus.Handle(control, bus.Subject{Kind: bus.SubjectControl, Verb: api.VerbStatus},
			func(context.Context, struct{}) (api.Status, error) {
				return api.Status{Hosts: []fabric.HostStatus{{Host: "east"}, {Host: "west"}}}, nil
			}),
		bus.Handle(control, bus.Subject{Kind: bus.SubjectControl, Verb: api.VerbTopology},
			func(context.Context, struct{}) (any, error) {
				return map[string]any{"switches": []map[string]string{{"id": "s1.02"}, {"id": "s1.03"}}}, nil
			}),
	))
	claim, err := registry.Take("lab")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, claim.Release()) })
	require.NoError(t, claim.Publish(registry.Entry{
		Listed:   registry.Listed{Name: "lab", PID: 7, Started: time.Now(), URL: b.ClientURL()},
		Operator: b.Credentials(bus.RoleOperator), Viewer: b.Credentials(bus.RoleViewer),
	}))
	return h
}

// so is where its switches run, and how often a move was asked for.
func (h *hosted) so() (at map[string]string, calls int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.at), h.calls
}

func (h *hosted) move(_ context.Context, r api.MoveRequest) (fabric.Moved, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	from, ok := h.at[r.Switch]
	switch {
	case !ok:
		return fabric.Moved{}, fmt.Errorf("%w: %w", fabric.ErrUnknown,
			document.Unknown("switch", r.Switch, []string{"s1.02", "s1.03"}))
	case r.Host == "":
		r.Host = "east"
	case r.Host != "east" && r.Host != "west":
		return fabric.Moved{}, fmt.Errorf("%w: %w", fabric.ErrUnknown,
			document.Unknown("host", r.Host, []string{"east", "west"}))
	}
	m := fabric.Moved{Switch: r.Switch, From: from, To: r.Host, Changed: from != r.Host}
	if m.Changed {
		m.Packets, m.Note = uint64(len(h.at[r.Switch])+1),
			map[bool]string{true: "nobody keeps what is wanted"}[r.Host == "west"]
		h.at[r.Switch] = r.Host
	}
	return m, nil
}

func TestASwitchIsMovedAndGoesBack(t *testing.T) {
	ownRegistry(t)
	h := startHosted(t)
	require.Equal(t, "s1.03 moved from east to west, 5 packets went along\n  nobody keeps what is wanted\n",
		ok(t, "move", "s1.03", "west"))
	require.Equal(t, "s1.03 runs on west already\n", ok(t, "move", "s1.03", "west"))
	require.Equal(t, "s1.03 moved from west to east, 5 packets went along\n", ok(t, "move", "s1.03"))
	require.Equal(t, "s1.03 runs on east already\n", ok(t, "move", "s1.03", "--home"))
	require.Equal(t, "s1.02 moved from the leader's own process to east, 1 packet went along\n",
		ok(t, "move", "s1.02", "east"))
	require.Equal(t, fabric.Moved{
		Switch: "s1.03", From: "east", To: "west", Packets: 5, Changed: true,
		Note: "nobody keeps what is wanted",
	},
		object[fabric.Moved](t, "move", "s1.03", "west"))
	require.Equal(t, fabric.Moved{Switch: "s1.03", From: "west", To: "west"},
		object[fabric.Moved](t, "move", "s1.03", "west"))
	require.Equal(t, fabric.Moved{Switch: "s1.03", From: "west", To: "east", Packets: 5, Changed: true},
		object[fabric.Moved](t, "move", "s1.03", "--home"))
	out, errs, code := script(t, "move s1.03 west\nmove s1.03\n")
	require.Zero(t, code, errs)
	require.Equal(t, "s1.03 moved from east to west, 5 packets went along\n  nobody keeps what is wanted\ns1.03 moved "+
		"from west to east, 5 packets went along\n", out)
	at, _ := h.so()
	require.Equal(t, map[string]string{"s1.02": "east", "s1.03": "east"}, at)
}

func TestAMoveToNobodyNamesWhatIsNearest(t *testing.T) {
	ownRegistry(t)
	h := startHosted(t)
	for args, want := range map[string]string{
		"move s1.04":      `unknown switch "s1.04": did you mean "s1.02"? known: s1.02, s1.03`,
		"move s1.03 wets": `unknown host "wets": did you mean "west"? known: east, west`,
	} {
		out, errs, code := linkmon(t, strings.Fields(args)...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out, args)
		require.Equal(t, "linkmon: the fabric refuses: no such object in this fabric: "+want+"\n", errs, args)
	}
	_, calls := h.so()
	require.Equal(t, 2, calls)
	for _, args := range [][]string{
		{"move"},
		{"move", "s1.03", ""},
		{"move", ""},
		{"move", "s1.03", "west", "--home"},
		{"--readonly", "move", "s1.03"},
	} {
		_, errs, code := linkmon(t, args...)
		require.Equal(t, 2, code, args)
		require.NotEmpty(t, errs)
	}
	at, calls := h.so()
	require.Equal(t, 2, calls, "nobody was asked")
	require.Equal(t, map[string]string{"s1.02": "", "s1.03": "east"}, at)
}

// With the credentials of a viewer nobody moves anything.
func TestAViewerMovesNothing(t *testing.T) {
	ownRegistry(t)
	h := startHosted(t)
	e, err := registry.Find("lab")
	require.NoError(t, err)
	login := []string{
		"--server", e.URL, "--fabric", "lab", "--user", e.Viewer.User, "--password", e.Viewer.Password,
		"--inbox-prefix", e.Viewer.InboxPrefix,
	}
	_, errs, code := linkmon(t, append(login, "move", "s1.03", "west")...)
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: bus: ask move of fabric \"lab\": user viewer: not permitted\n", errs)
	_, calls := h.so()
	require.Zero(t, calls)
}

func TestTheShellCompletesSwitchesAndHostsOfAMove(t *testing.T) {
	ownRegistry(t)
	startHosted(t)
	s := &shell{of: &monitor{}}
	complete := func(line string) []string { return s.complete(t.Context(), line) }
	require.Equal(t, []string{"move"}, complete("mov"))
	require.Equal(t, []string{"move s1.02", "move s1.03"}, complete("move "))
	require.Equal(t, []string{"move s1.03 east", "move s1.03 west"}, complete("move s1.03 "))
	require.Equal(t, []string{"move s1.03 west"}, complete("move s1.03 w"))
	require.Equal(t, []string{"move s1.03 --home"}, complete("move s1.03 --ho"))
	require.Empty(t, complete("move s1.03 --home "))
	require.Empty(t, complete("move s1.03 west "))
}
