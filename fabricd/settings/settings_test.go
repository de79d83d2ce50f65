package settings_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/switchd"
)

// What is written in the table is what the packages below do.
func TestDefaultsAreThoseOfThePackagesThatTheyAreFor(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"switch.input_buffer": switching.DefaultBuffer, "switch.output_buffer": switching.DefaultBuffer,
		"switch.batch": switchd.DefaultBatch, "nic.queue_bytes": nic.DefaultQueueBytes,
		"nic.packet_bytes": nic.DefaultPacketBytes,
		"link.rate":        fabric.DefaultRate, "liveness.multiplier": fabric.DefaultMultiplier,
	} {
		assert.Equal(t, strconv.Itoa(want), settings.Of(path).Default, path)
	}
	assert.Contains(t, settings.Of("liveness.interval").Help, fabric.DefaultInterval.String()+" unless given")
}

func TestEveryFieldIsASettingAndEveryDefaultIsInBounds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, x := range settings.All() {
		require.False(t, seen[x.Path], x.Path)
		seen[x.Path] = true
		var s settings.Settings
		if x.Default == "" {
			continue
		}
		require.NoError(t, s.Set(x.Path, x.Default), x.Path)
		require.NoError(t, x.Check(s), x.Path)
		require.Equal(t, x.Default, s.Text(x.Path), x.Path)
	}
	text, err := json.Marshal(all(t))
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	require.Equal(t, len(settings.All()), leaves(fields), "the fields of Settings: %s", text)
}

// all are settings of which every field is given.
func all(t *testing.T) (s settings.Settings) {
	t.Helper()
	for _, x := range settings.All() {
		value := "1"
		switch {
		case x.Kind() == "bool":
			value = "true"
		case x.Kind() == "duration":
			value = "1s"
		case x.Words != nil:
			value = x.Words[1]
		}
		require.NoError(t, s.Set(x.Path, value), x.Path)
	}
	return s
}

func leaves(m map[string]any) (n int) {
	for _, v := range m {
		if inner, ok := v.(map[string]any); ok {
			n += leaves(inner)
		} else {
			n++
		}
	}
	return n
}

func TestSettingsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	want := all(t)
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got settings.Settings
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
}

func TestSettingsThatMeanTheSameAreEqualWhenFilled(t *testing.T) {
	t.Parallel()
	var given, empty settings.Settings
	for _, x := range settings.All() {
		if x.Default != "" {
			require.NoError(t, given.Set(x.Path, x.Default))
		}
	}
	require.NotEqual(t, empty, given)
	require.Equal(t, empty.Filled(), given.Filled())
	require.Equal(t, empty, given.Short())
	for _, c := range []struct{ a, b settings.Settings }{
		{
			settings.Settings{Liveness: settings.Liveness{Interval: "0"}},
			settings.Settings{Liveness: settings.Liveness{Interval: "off", Multiplier: 5}},
		},
		{settings.Settings{Link: settings.Link{Delay: "1000ms"}}, settings.Settings{Link: settings.Link{Delay: "1s"}}},
		{
			settings.Settings{Liveness: settings.Liveness{Damping: settings.Damping{HalfLife: "60s"}}},
			settings.Settings{Liveness: settings.Liveness{Damping: settings.Damping{
				HalfLife: "1m", Suppress: 3, Reuse: 1,
				Max: "4m",
			}}},
		},
	} {
		require.Equal(t, c.a.Filled(), c.b.Filled())
		require.Equal(t, c.a.Short(), c.b.Short())
		require.Equal(t, c.a.Filled(), c.a.Short().Filled())
		require.NotEqual(t, c.a.Filled(), empty.Filled())
	}
}

func TestWhatIsOutOfBoundsIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, text, want string }{
		{"switch.vcs", "17", "expected 1 to 16, found 17"},
		{"switch.queueing", "voq", `unknown queueing "voq": known: virtual-output, fifo`},
		{"link.rate", "NaN", "expected 1 to 1e+15, found NaN"},
		{"link.rate", "1e16", "expected 1 to 1e+15, found 1e+16"},
		{"link.delay", "25h", "expected 0s to 24h0m0s, found 25h"},
		{"liveness.interval", "2m", "expected 0s to 1m0s, found 2m"},
		{"nic.trace_every", "-1", "expected 0 to 1000000000, found -1"},
	} {
		var s settings.Settings
		require.NoError(t, s.Set(c.path, c.text))
		wrong := s.Check()
		require.Len(t, wrong, 1, c.path)
		require.Equal(t, c.path, wrong[0].Path)
		require.EqualError(t, wrong[0].Err, c.want)
	}
	var s settings.Settings
	s.Link.Delay = "50"
	require.ErrorContains(t, s.Check()[0].Err, "50 is not a duration, its unit is missing")
}
