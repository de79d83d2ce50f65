package nic

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestTheTextFormSaysItAll(t *testing.T) {
	got := mustParse(t, "hotspot:0.5,hot=4,share=0.1,arrivals=bursts,burst=16,duty=0.25,sizes=64:0.6/1500:0.4")
	require.Equal(t, Traffic{
		Pattern: "hotspot", Load: 0.5, Hot: "4", Share: 0.1, Arrivals: Arrivals{Process: Bursts, Burst: 16, Duty: 0.25},
		Sizes: Sizes{{64, 0.6}, {1500, 0.4}},
	}, got)
	for _, s := range []string{
		"complement:0.5,radix=4,arrivals=normal,per=8", "incast:1,to=n000,from=3", "hotspot:0.5,hot=n000/n012",
		"trace:a,b=c.csv",
		"uniform:0.2,sizes=64", "all-to-all:0.1,arrivals=periodic",
	} {
		require.Equal(t, s, mustParse(t, s).String())
	}
	require.Equal(t, got, mustParse(t,
		"hotspot:0.5,sizes=64:0.6/1500:0.4,duty=0.25,share=0.1,burst=16,hot=4,arrivals=bursts"), "in any order")
}

func TestWhatTrafficCannotBeIsSaid(t *testing.T) {
	for s, want := range map[string]string{
		"unifrom:0.2":             `unknown pattern "unifrom": known: uniform, hotspot`,
		"":                        "expected a pattern and a load, as uniform:0.2, or none",
		"uniform":                 "expected a load after the colon, as uniform:0.2",
		"hotspot,hot=3":           "expected a load after the pattern, as hotspot:0.2",
		"hotspot,sizes=64:0.5":    "expected a load after the pattern, as hotspot:0.2",
		"uniform:0.2,":            `expected an option as hot=4 or arrivals=bursts, found ""`,
		"uniform:0.2,hot":         `found "hot"`,
		"uniform:0.2,hot=":        `found "hot="`,
		"uniform:0.2,hot=3":       "uniform takes no hot, which is for hotspot",
		"hotspot:0.2,hto=3":       `unknown option "hto": known: `,
		"hotspot:0.2,hot=3,hot=4": "hot is given twice",
		"hotspot:0.2,hot=0":       "hot is how many NICs are hot, 1 to 262144, not 0",
		"hotspot:0.2,hot=a//b":    "or their names, as n000/n012",
		"hotspot:0.2,hot=a/b/a":   "hot NIC a is named twice",
		"hotspot:0.2,hot=a" + strings.Repeat("/b", 1000): "is named twice",
		"hotspot:0.2,share=0":                            "share: must be above 0",
		"hotspot:0.2,share=1.5":                          "above 0 and at most 1, not 1.5",
		"hotspot:0.2,share=NaN":                          "above 0 and at most 1, not NaN",
		"hotspot:0.2,share=x":                            `share: expected a number, as 0.5, found "x"`,
		"shuffle:0.2,radix=1":                            "radix must be 2 to 262144, not 1",
		"shuffle:0.2,radix=1.5":                          "radix: expected a whole number",
		"shuffle:0.2,radix=0":                            "radix: must be above 0",
		"incast:0.2,from=-1":                             "from is how many NICs send, 1 to 262143, not -1",
		"incast:0.2,to=a/b":                              `to is the name of one NIC, not "a/b"`,
		"uniform:0.2,arrivals=poison":                    `unknown arrival process "poison": known: poisson, `,
		"uniform:0.2,burst=3":                            "poisson arrivals take no burst and no duty: bursts do",
		"uniform:0.2,sizes=64:0.6":                       "the shares of the sizes add up to 0.6, not to 1",
		"uniform:0.2,sizes=64:0.6/64:0.4":                "64 bytes are in the mix twice",
		"uniform:0.2,sizes=0":                            "packets have 1 to 1048576 bytes, not 0",
		"uniform:0.2,sizes=2000000":                      "packets have 1 to 1048576 bytes, not 2000000",
		"uniform:0.2,sizes=64:2":                         "above 0 and at most 1, not 2",
		"uniform:0.2,sizes=64:x":                         `as 64:0.6, found "64:x"`,
		"uniform:0.2,sizes=x":                            `as 256 or 64:0.6/1500:0.4, found "x"`,
		"uniform:0.2,sizes=1/2/3/4/5/6/7/8/9":            "at most 8 sizes, not 9",
		"trace:":                                         "expected a file, as trace:packets.csv",
		"trace":                                          "expected a file, as trace:packets.csv",
	} {
		_, err := ParseTraffic(s)
		require.ErrorIs(t, err, ErrTraffic, s)
		require.ErrorContains(t, err, want, s)
		require.Less(t, len(err.Error()), 400)
	}
}

func TestTrafficMadeInGoIsCheckedToo(t *testing.T) {
	for _, bad := range []Traffic{
		{Pattern: "none", Load: 0.5},
		{Load: 0.5},
		{File: "x"},
		{Pattern: "none", Trace: &Trace{}},
		{Pattern: "uniform", Load: math.NaN()},
		{Pattern: "uniform", Load: 0.5, File: "x"},
		{Pattern: "uniform", Load: 0.5, Trace: &Trace{}},
		{Pattern: "trace", File: "x", Load: 0.2},
		{Pattern: "uniform", Load: 0.5, Sizes: Sizes{{64, 1}, {0, 0.5}}},
		{Pattern: "uniform", Load: 0.5, Sizes: Sizes{{-1, 1}}},
		{Pattern: "uniform", Load: 0.5, Sizes: Sizes{{0, 0}, {64, 1}}},
		{Pattern: "uniform", Load: 0.5, Radix: 2},
	} {
		require.ErrorIs(t, bad.Validate(), ErrTraffic, "%+v", bad)
		_, err := bad.Sources(over(4, nil))
		require.ErrorIs(t, err, ErrTraffic)
	}
	_, err := Traffic{Pattern: "trace", File: "x"}.Sources(over(4, nil))
	require.ErrorContains(t, err, "the file was not read")
	for _, p := range Patterns() {
		load := ":0.5"
		switch p[0] {
		case "none":
			load = ""
		case "trace":
			continue
		}
		require.NoError(t, mustParse(t, p[0]+load).Fits(over(4, nil)), "every pattern listed is one")
	}
	for _, p := range Processes() {
		require.NoError(t, mustParse(t, "uniform:0.5,arrivals="+p[0]).Fits(over(4, nil)), "every process listed is one")
	}
}

func TestSizesAreDrawnByTheirShares(t *testing.T) {
	r := high{}
	m := newMix(Sizes{{64, 0.6}, {1500, 0.4}}, 256)
	require.Equal(t, uint32(1500), m.next(r))
	require.Equal(t, uint32(64), m.next(fixed{}))
	require.Equal(t, 64, m.least)
	m = newMix(Sizes{}, 256)
	require.Equal(t, uint32(256), m.next(nil), "nothing to draw")
	require.InDelta(t, 638.4, Sizes{{64, 0.6}, {1500, 0.4}}.Mean(), 1e-9)
	require.Zero(t, Sizes{}.Mean())
}

func FuzzParseTraffic(f *testing.F) {
	for _, s := range []string{
		"none", "uniform:0.2", "hotspot:0.5,hot=4,share=0.1,arrivals=bursts,burst=16,duty=0.25,sizes=64:0.6/1500:0.4",
		"trace:a,b",
		"complement:5e-1,radix=4,arrivals=normal,per=8", "incast:1,to=n0,from=3", "hotspot:0.2,hot=n1/n2",
		"uniform:0x1p-2,sizes=+64",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		traffic, err := ParseTraffic(s)
		if err != nil {
			require.ErrorIs(t, err, ErrTraffic)
			require.Less(t, len(err.Error()), 1000)
			return
		}
		require.NoError(t, traffic.Validate())
		again, err := ParseTraffic(traffic.String())
		require.NoError(t, err)
		require.Equal(t, traffic, again, "%q is read as %q", s, traffic)
		o := over(16, high{})
		list, err := traffic.Sources(o)
		if err != nil {
			require.ErrorIs(t, err, ErrTraffic)
			return
		}
		for i, s := range list {
			if s.To == nil {
				continue
			}
			dst, ok := s.To.Next(o.Rand)
			require.True(t, ok)
			require.NotEqual(t, weft.NICID(i), dst)
			require.Less(t, dst, weft.NICID(16))
		}
	})
}
