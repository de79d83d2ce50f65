package nic

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

const header = "time_us,src,dst,bytes\n"

func readTrace(t testing.TB, text string) Traffic {
	t.Helper()
	traffic, err := mustParse(t, "trace:x.csv").Open(func(file string) (io.ReadCloser, error) {
		require.Equal(t, "x.csv", file)
		return io.NopCloser(strings.NewReader(text)), nil
	})
	require.NoError(t, err)
	return traffic
}

func TestATraceIsDividedAmongItsSources(t *testing.T) {
	traffic := readTrace(t, header+"0,n2,n1,256\n0.5,2,n0,64\n0.5,0,n1,1\n1.000001,n2,n3,1048576")
	list, err := traffic.Sources(over(4, nil))
	require.NoError(t, err)
	require.Equal(t, []Source{
		{Plan: []Planned{{500 * weft.Nanosecond, 1, 1}}},
		{},
		{Plan: []Planned{{0, 1, 256}, {500 * weft.Nanosecond, 0, 64}, {1_000_001, 3, 1 << 20}}},
		{},
	}, list)
	require.Equal(t, 4, traffic.Trace.Len())
	require.Equal(t, weft.Time(1_000_001), traffic.Trace.End())
}

func TestTimesHaveTheUnitOfTheirColumn(t *testing.T) {
	for unit, want := range map[string]weft.Time{
		"ns": 1250, "us": 1_250_000, "ms": 1_250_000_000,
		"s": 1_250_000_000_000,
	} {
		require.Equal(t, want, readTrace(t, "time_"+unit+",src,dst,bytes\r\n1.250,a,b,1\r\n").Trace.End())
	}
	require.Equal(t, weft.Time(1), readTrace(t, "time_ns,src,dst,bytes\n0.0010000,a,b,1").Trace.End())
}

func TestAPlanIsGeneratedAtItsTimesAndEnds(t *testing.T) {
	list, err := readTrace(t, header+"1,n0,n1,100\n1,n0,n2,200\n3,n0,n1,300\n").Sources(over(4, nil))
	require.NoError(t, err)
	r := newDarkRig(t, Config{NICs: 4})
	r.out.Reset()
	require.NoError(t, r.SetSource(10*weft.Microsecond, list[0], &r.out))
	require.Equal(t, 11*weft.Microsecond, r.out.WakeAt)
	r.out.Reset()
	r.Tick(12*weft.Microsecond, &r.out)
	require.Equal(t, 13*weft.Microsecond, r.out.WakeAt)
	require.EqualValues(t, 2, r.queue.packets)
	r.out.Reset()
	r.Tick(20*weft.Microsecond, &r.out)
	require.Equal(t, weft.Never, r.out.WakeAt)
	var got []packet
	for i := range int(r.queue.packets) {
		got = append(got, r.queue.fifos[0].At(i))
	}
	require.Equal(t, []packet{
		{injected: 11 * weft.Microsecond, dst: 1, size: 100},
		{injected: 11 * weft.Microsecond, dst: 2, size: 200},
		{injected: 13 * weft.Microsecond, dst: 1, size: 300, seq: 1},
	}, got)
}

func TestAPlanThatCannotBeIsRefused(t *testing.T) {
	for want, s := range map[string]Source{
		"expected one of them": {To: only(1), Mean: 1, Plan: []Planned{{0, 1, 1}}},
		"nic 9":                {Plan: []Planned{{0, 9, 1}}},
		"packet 1 of the plan": {Plan: []Planned{{5, 1, 1}, {4, 1, 1}}},
		"not 0":                {Plan: []Planned{{0, 1, 0}}},
		"expected from":        {Plan: []Planned{{MaxTraceTime + 1, 1, 1}}},
	} {
		r := newDarkRig(t, Config{})
		require.ErrorContains(t, r.SetSource(0, s, &r.out), want)
	}
}

func TestABadTraceIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "no packets",
		header:                             "no packets",
		"time,src,dst,bytes\n0,a,b,1":      "line 1: expected time_us,src,dst,bytes",
		"0,a,b,1\n":                        "line 1: expected time_us,src,dst,bytes",
		header + "0,a,b":                   `line 2: expected time,src,dst,bytes, found "0,a,b"`,
		header + "0,a,b,1\n\n":             "line 3: expected time,src,dst,bytes",
		header + "0,a,b,1,2":               "line 2: expected time,src,dst,bytes",
		header + "1,a,b,1\n0.9,a,b,1":      "line 3: time 0.9 is less than in the line before",
		header + "-1,a,b,1":                "line 2: expected a time",
		header + "x,a,b,1":                 "line 2: expected a time",
		header + ",a,b,1":                  "line 2: expected a time",
		header + "1e3,a,b,1":               "line 2: expected a time",
		header + "0.0000001,a,b,1":         "line 2: expected a time in whole picoseconds",
		header + "0.-1,a,b,1":              "line 2: expected a time in whole picoseconds",
		header + "99999999999999,a,b,1":    "line 2: expected a time",
		header + "1000000000000.1,a,b,1":   "line 2: time 1000000000000.1 is more than 277h46m40s",
		header + "0,a,b,0":                 "line 2: packets have 1 to 1048576 bytes",
		header + "0,a,b,1048577":           "line 2: packets have 1 to 1048576 bytes",
		header + "0,a,b,x":                 "line 2: packets have 1 to 1048576 bytes",
		header + "0,,b,1":                  "line 2: expected the name or the number of a NIC",
		header + "0,a,a,1":                 "line 2: a sends to itself",
		header + strings.Repeat("9", 1000): "line 2: longer than 256 bytes",
		strings.Repeat("\x00", 1000):       "line 1: longer than 256 bytes",
	} {
		_, err := ReadTrace(strings.NewReader(text))
		require.ErrorIs(t, err, ErrTrace, "%q", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err := ReadTrace(io.MultiReader(strings.NewReader(header), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestATraceOfOtherNICsIsRefusedWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"0,n0,n1,1\n0,n1,n4,1": "line 3: no n4",
		"0,n0,4,1":             "line 2: NIC 4: no such NIC: expected a number from 0 to 3",
		"0,n0,n1,1\n0,n1,1,1":  "line 3: NIC 1 sends to itself",
	} {
		_, err := readTrace(t, header+text).Sources(over(4, nil))
		require.ErrorIs(t, err, ErrTraffic)
		require.ErrorContains(t, err, want)
	}
}

func TestErrorsOfOpeningReachTheCaller(t *testing.T) {
	_, err := mustParse(t, "trace:x").Open(func(string) (io.ReadCloser, error) { return nil, io.ErrClosedPipe })
	require.True(t, errors.Is(err, io.ErrClosedPipe) && errors.Is(err, ErrTraffic))
	_, err = mustParse(t, "uniform:1").Open(nil)
	require.NoError(t, err, "there is nothing to open")
}

func FuzzReadTrace(f *testing.F) {
	for _, s := range []string{
		header + "0,n2,n1,256\n0.5,2,n0,64", "time_s,src,dst,bytes\n0.000000000001,a,b,1",
		header + "1.,a,b,1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		trace, err := ReadTrace(strings.NewReader(s))
		if err != nil {
			require.ErrorIs(t, err, ErrTrace)
			return
		}
		require.Equal(t, strings.Count(strings.TrimSuffix(s, "\n"), "\n"), trace.Len(), "a packet a line")
		last := weft.Time(0)
		for _, p := range trace.packets {
			require.LessOrEqual(t, last, p.at)
			require.LessOrEqual(t, p.at, MaxTraceTime)
			require.True(t, p.bytes >= 1 && p.bytes <= weft.MaxPacket && p.src != p.dst)
			last = p.at
		}
		list, err := Traffic{Pattern: "trace", File: "x", Trace: trace}.Sources(over(8, nil))
		if err != nil {
			require.ErrorIs(t, err, ErrTraffic)
			return
		}
		n := 0
		for _, s := range list {
			r := newDarkRig(t, Config{})
			require.NoError(t, r.SetSource(0, s, &r.out))
			n += len(s.Plan)
		}
		require.Equal(t, trace.Len(), n)
	})
}
