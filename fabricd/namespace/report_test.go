//go:build linux

package namespace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
	"github.com/weft-fabric/weft/harness/rig"
)

// A report says which program has which connection, over both versions of IP, and how many bytes a
// second each NIC carries.
func TestAReportSaysWhichProgramsTalk(t *testing.T) {
	served := needTUN(t, "kary-ntree:2,2")
	s := serve(t, served, "report", func(weft.NICID) bool { return true })
	require.Empty(t, s.Report().NICs)
	server, client := open(t, "report", "n11"), open(t, "report", "n00")
	listens := start(t, server, nil, asProgram+"=listen", self(t))
	await(t, server)
	program := filepath.Base(self(t))
	for _, at := range []string{"10.64.0.4:80", "[fd77:6566:74::4]:80"} {
		sends := start(t, client, nil, asProgram+"=send", self(t), at, strconv.Itoa(500<<20))
		find := func(nic string) (c namespace.Connection) {
			for _, one := range s.Report().Connections {
				if one.NIC == nic && !one.Ended && (one.From.String() == at || one.To.String() == at) {
					c = one
				}
			}
			return c
		}
		rig.Until(t, func() bool { return find("n00").PID != 0 && find("n11").PID != 0 }, "both programs are known")
		require.Equal(t, program, find("n00").Program)
		require.Equal(t, program, find("n11").Program)
		path, err := os.Readlink("/proc/" + strconv.Itoa(find("n00").PID) + "/exe")
		require.NoError(t, err)
		require.Equal(t, self(t), path)
		require.NotEqual(t, find("n00").PID, find("n11").PID)
		rig.Until(t, func() bool { return find("n00").Rate > 10_000 && find("n11").Rate > 10_000 }, "bytes pass")
		var names []string
		rig.Until(t, func() bool {
			names = nil
			for _, n := range s.Report().NICs {
				names = append(names, n.NIC)
				if n.Traffic.OutRate <= 10_000 || n.Traffic.InRate <= 10_000 || n.Traffic.In <= 10_000 {
					return false
				}
			}
			return true
		}, "they pass both ways")
		require.Equal(t, []string{"n00", "n11"}, names)
		require.NoError(t, client.Close())
		<-sends
		client = open(t, "report", "n00")
	}
	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
	<-listens
	rig.Until(t, func() bool { return len(s.Report().NICs) == 0 }, "no program has a NIC")
	list := s.Report().Connections
	require.Len(t, list, 4, "two connections with two sides each, and each once: %+v", list)
	for _, c := range list {
		require.True(t, c.Ended)
		require.Equal(t, program, c.Program, "that is known after its end: %+v", list)
	}
}

// What programs tell of themselves is kept, with the time of the fabric, within bounds.
func TestARateIsKeptAsAProgramTellsIt(t *testing.T) {
	h := needTUN(t, "kary-ntree:2,2")
	var now atomic.Int64
	c := config(h, "rate", func(weft.NICID) bool { return true })
	c.Now = func() weft.Time { return weft.Time(now.Load()) }
	s, err := namespace.Serve(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	n := open(t, "rate", "n00")
	now.Store(7)
	require.NoError(t, n.Tell("a", "steps/s", 1.5))
	rig.Until(t, func() bool { return len(s.Report().Rates) == 1 }, "it is noted")
	first := s.Report().Rates[0]
	require.Equal(t, []report.Point{{At: 7, Value: 1.5}}, first.Points)
	require.Equal(t, "n00 a steps/s false", fmt.Sprint(first.NIC, " ", first.Program, " ", first.Unit, " ", first.Ended))
	require.Positive(t, first.Silent)
	for i := range 700 {
		require.NoError(t, n.Tell("a", "steps/s", float64(i)))
	}
	last := func() report.Rate { r := s.Report().Rates; return r[len(r)-1] }
	points := func() []report.Point { return last().Points }
	rig.Until(t, func() bool { p := points(); return p[len(p)-1].Value == 699 }, "all are noted")
	require.Len(t, points(), report.MaxPoints)
	require.Positive(t, points()[0].After, "by the clock of the machine")
	require.EqualValues(t, 7, points()[0].At, "by the clock of the fabric")
	require.Equal(t, 0, run(t, n, "true").code, "programs start as before")
	require.NoError(t, n.Close())
	rig.Until(t, func() bool { return last().Ended }, "it has ended")
	n = open(t, "rate", "n01")
	require.NoError(t, n.Tell("\x1b[31m\xffred"+strings.Repeat("é", 100), "steps/s", 1))
	rig.Until(t, func() bool { return strings.HasPrefix(last().Program, "?[31m?redéé") },
		"nothing of it acts on a terminal")
	require.LessOrEqual(t, len(last().Program), 64)
	for i := range 10 {
		require.NoError(t, n.Tell(strconv.Itoa(i), "steps/s", 1))
	}
	rig.Until(t, func() bool { return last().Program == "9" }, "all are noted")
	require.Len(t, s.Report().Rates, report.MaxRates)
	require.NoError(t, n.Close())
}
