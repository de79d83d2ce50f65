//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/namespace/report"
	"github.com/weft-fabric/weft/harness/rig"
)

// A number before the unit is a rate, in a line that is whole; what is printed is passed on as it
// is.
func TestARateIsReadFromALine(t *testing.T) {
	for line, want := range map[string][]float64{
		"  1.2 s    23.4 steps/s, the slowest took 219 ms\n": {23.4},
		"steps/s 7\n":             nil,
		"12 steps/second\n":       nil,
		"x12 steps/s\n":           nil,
		"5steps/s":                nil, // not whole
		"5steps/s\n6 steps/s\n":   {5}, // too soon after
		"rate: 1.5e+03 steps/s\n": {1500},
		strings.Repeat("x", 2*maxRateLine) + " 3 steps/s\n": nil,
	} {
		var out bytes.Buffer
		var got []float64
		r := newSpeedReader(&out, "steps/s", func(v float64) { got = append(got, v) })
		for i := range line { // however it is cut
			_, err := r.Write([]byte(line[i : i+1]))
			require.NoError(t, err)
		}
		require.Equal(t, want, got, line)
		require.Equal(t, line, out.String())
	}
}

// What a program prints comes out as before, and the server has its rates.
func TestThePageIsToldHowFastAProgramGoes(t *testing.T) {
	_, s := servePrograms(t, "kary-ntree:2,2")
	p := asProcess(t, "exec", "--rate", "Mbits/sec", "n00", "--", "sh", "-c",
		"echo begins; echo '[ 5] 0.00-1.00 sec 1.10 MBytes 9.45 Mbits/sec'; exit 5")
	var rates []report.Rate
	rig.Until(t, func() bool { rates = s.Report().Rates; return len(rates) == 1 }, "it is told")
	require.Equal(t, "n00 sh Mbits/sec 9.45", fmt.Sprint(rates[0].NIC, " ", rates[0].Program, " ", rates[0].Unit, " ",
		rates[0].Points[0].Value))
	code, _ := p.Ends()
	require.Equal(t, 5, code)
	require.Contains(t, p.Out.String(), "begins\n[ 5] 0.00-1.00")
	rig.Until(t, func() bool { return s.Report().Rates[0].Ended }, "it has ended")
}
