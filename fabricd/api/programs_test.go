package api

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
	"github.com/weft-fabric/weft/nic/ip"
)

func oneSide(nic, from, to, program string, bytes uint64, ended bool) report.Connection {
	return report.Connection{
		NIC: nic, Process: report.Process{Program: program, PID: int(bytes)},
		Connection: ip.Connection{
			From: netip.MustParseAddrPort(from), To: netip.MustParseAddrPort(to), Bytes: bytes, Rate: float64(2 * bytes),
			Resent: 3, Longest: 250 * weft.Millisecond, Standing: 100 * weft.Millisecond, Ended: ended,
		},
	}
}

// Both sides of a connection are put together, from whichever hosts they are told, and are as
// described.
func TestProgramsOfAllHostsAreToldTogether(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	require.Equal(t, Programs{NICs: []ProgramNIC{}, Connections: []ProgramConnection{}, Rates: []ProgramRate{}},
		withoutTime(get[Programs](x, "/programs")), "nobody reports")
	one := report.Report{
		NICs: []report.NIC{{NIC: "n10", Traffic: ip.Traffic{In: 1, Out: 2, InRate: 3, OutRate: 4}}},
		Connections: []report.Connection{
			oneSide("n10", "10.64.0.3:80", "10.64.0.1:4000", "server", 7, false),
			oneSide("n10", "10.64.0.3:81", "10.1.1.1:9", "", 9, false),                 // to no NIC
			oneSide("n10", "10.64.0.3:80", "10.64.0.1:4000", "server-before", 5, true), // the same ports before
		},
		Rates: []report.Rate{{
			NIC: "n10", Program: "b", Unit: "steps/s", Silent: weft.Second,
			Points: []report.Point{{At: 2 * weft.Second, Value: 1.5, After: 3 * weft.Second}},
		}},
	}
	two := report.Report{
		NICs: []report.NIC{{NIC: "n00"}},
		Connections: []report.Connection{
			oneSide("n00", "10.64.0.1:4000", "10.64.0.3:80", "client", 6, false),
			oneSide("n00", "10.64.0.1:4000", "10.64.0.3:80", "client-before", 4, true),
			oneSide("n00", "[fd77:6566:74::1]:22", "[fd77:6566:74::2]:23", "alone", 8, true),
		},
		Omitted: 2,
		Rates: []report.Rate{{
			NIC: "n00", Program: "a", Unit: "steps/s", Ended: true,
			Points: []report.Point{{At: weft.Second, Value: 1}},
		}},
	}
	x.server.ReportsPrograms(func(context.Context) ([]report.Report, []string) {
		return []report.Report{one, two}, []string{"h3"}
	})
	end := func(nic, address, program string, bytes uint64) ConnectionEnd {
		e := ConnectionEnd{NIC: nic, Address: address}
		if bytes > 0 {
			e = ConnectionEnd{
				NIC: nic, Address: address, Program: program, PID: int(bytes), Bytes: bytes, Rate: float64(2 * bytes), Resent: 3,
				Standstill: .25, Standing: .1,
			}
		}
		return e
	}
	want := Programs{
		NICs: []ProgramNIC{
			{NIC: "n00", Programs: []string{"client"}},
			{NIC: "n10", Programs: []string{"server"}, In: 1, Out: 2, InRate: 3, OutRate: 4},
		},
		Connections: []ProgramConnection{
			{A: end("", "10.1.1.1:9", "", 0), B: end("n10", "10.64.0.3:81", "", 9)},
			{A: end("n00", "10.64.0.1:4000", "client", 6), B: end("n10", "10.64.0.3:80", "server", 7)},
			{
				A: end("n00", "10.64.0.1:4000", "client-before", 4), B: end("n10", "10.64.0.3:80", "server-before", 5),
				Ended: true,
			},
			{A: end("n00", "[fd77:6566:74::1]:22", "alone", 8), B: end("n01", "[fd77:6566:74::2]:23", "", 0), Ended: true},
		},
		Omitted: 2,
		Rates: []ProgramRate{
			{"n00", "a", "steps/s", []RatePoint{{1, 1, 0}}, true, 0},
			{"n10", "b", "steps/s", []RatePoint{{2, 1.5, 3}}, false, 1},
		},
		Silent: []string{"h3"},
	}
	got := get[Programs](x, "/programs")
	require.Positive(t, got.At)
	require.Equal(t, want, withoutTime(got))
	_, schema := compiled(t, x)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(x.ask("GET", root+"/programs", "", nil).body))
	require.NoError(t, err)
	require.NoError(t, schema(answerSchema("GET", "/programs", "200")).Validate(v))
	got, err = x.dial(false).Programs(t.Context())
	require.NoError(t, err, "a viewer may ask over the broker, too")
	require.Equal(t, want, withoutTime(got))
}

func withoutTime(p Programs) Programs {
	p.At = 0
	return p
}

// However much hosts report, an answer fits a message.
func TestWhatProgramsDoIsBounded(t *testing.T) {
	t.Parallel()
	var r report.Report
	for i := range 3000 {
		r.Connections = append(r.Connections,
			oneSide("n00", "10.64.0.1:1", netip.AddrPortFrom(netip.MustParseAddr("10.64.0.2"), uint16(i+1)).String(), "p", 1,
				i%2 == 0))
	}
	for range 20 {
		r.Rates = append(r.Rates, report.Rate{})
	}
	p := programsOf([]report.Report{r}, []string{"n00", "n01"})
	require.Len(t, p.Connections, report.MaxConnections)
	require.Equal(t, 3000-report.MaxConnections, p.Omitted)
	require.False(t, p.Connections[0].Ended)
	require.Len(t, p.Rates, report.MaxRates)
}
