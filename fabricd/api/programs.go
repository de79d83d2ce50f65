package api

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
	"github.com/weft-fabric/weft/nic/ip"
)

// VerbPrograms asks what programs do that have NICs of the fabric. It is answered with [Programs].
const VerbPrograms = "get.programs"

// Programs are what programs do that have NICs of the fabric, on all its hosts. Times and rates are
// by the clock of the fabric, unless they say otherwise.
type Programs struct {
	At          float64             `json:"at" jsonschema_description:"Seconds since the fabric started."`
	NICs        []ProgramNIC        `json:"nics" jsonschema_description:"Those that programs have now, by number."`
	Connections []ProgramConnection `json:"connections" jsonschema_description:"Of TCP: those that go on, then the latest that have ended; at most 1024."`
	Omitted     int                 `json:"omitted,omitempty" jsonschema_description:"Connections that are not listed, as there are too many."`
	Rates       []ProgramRate       `json:"rates" jsonschema_description:"How fast programs go, as they say: at most 8, the oldest first."`
	Silent      []string            `json:"silent_hosts,omitempty" jsonschema_description:"Hosts that did not answer: of their NICs nothing is known."`
}

// ProgramNIC is a NIC that programs have.
type ProgramNIC struct {
	NIC      string   `json:"nic"`
	Programs []string `json:"programs" jsonschema_description:"Those with connections, by name."`
	In       uint64   `json:"in_bytes" jsonschema_description:"Bytes that came for programs, from the IP header on."`
	Out      uint64   `json:"out_bytes"`
	InRate   float64  `json:"in_bytes_per_second" jsonschema_description:"In about the last second."`
	OutRate  float64  `json:"out_bytes_per_second"`
}

// ProgramConnection is a connection of TCP.
type ProgramConnection struct {
	A     ConnectionEnd `json:"a"`
	B     ConnectionEnd `json:"b"`
	Ended bool          `json:"ended"`
}

// ConnectionEnd is one end of a connection, and what it sends.
type ConnectionEnd struct {
	NIC        string  `json:"nic,omitempty" jsonschema_description:"None: the address is that of no NIC."`
	Address    string  `json:"address"`
	Program    string  `json:"program,omitempty" jsonschema_description:"None: it is not known."`
	PID        int     `json:"pid,omitempty" jsonschema_description:"Its process, on the host of the NIC."`
	Bytes      uint64  `json:"bytes" jsonschema_description:"What it has sent, each byte once."`
	Rate       float64 `json:"bytes_per_second" jsonschema_description:"In about the last second."`
	Resent     uint64  `json:"resent_bytes" jsonschema_description:"What it has sent again."`
	Standstill float64 `json:"longest_standstill_seconds" jsonschema_description:"The longest time in which nothing of what it had sent was acknowledged."`
	Standing   float64 `json:"standing_seconds" jsonschema_description:"For how long that is so now; 0: it is not."`
}

// ProgramRate is how fast a program goes, as it says.
type ProgramRate struct {
	NIC     string      `json:"nic"`
	Program string      `json:"program"`
	Unit    string      `json:"unit" jsonschema_description:"As steps/s."`
	Points  []RatePoint `json:"points" jsonschema_description:"The latest, at most 600."`
	Ended   bool        `json:"ended"`
	Silent  float64     `json:"silent_seconds" jsonschema_description:"Since the latest, by the clock of the machine, which the program has."`
}

// RatePoint is a rate at one moment.
type RatePoint struct {
	At    float64 `json:"at" jsonschema_description:"Seconds since the fabric started."`
	Value float64 `json:"value"`
	After float64 `json:"after_seconds" jsonschema_description:"The one before, by the clock of the machine; 0: it is the first."`
}

// Reporter asks all hosts what programs do, and names those that did not answer.
type Reporter func(ctx context.Context) (reports []report.Report, silent []string)

// ReportsPrograms has the server ask of, which any goroutine may call. Without it there are no
// programs.
func (s *Server) ReportsPrograms(of Reporter) { s.reporter.Store(&of) }

func (s *Server) programs(ctx context.Context, _ none) (Programs, error) {
	var reports []report.Report
	var silent []string
	if of := s.reporter.Load(); of != nil {
		reports, silent = (*of)(ctx)
	}
	p := programsOf(reports, s.fabric.Topology().NICNames())
	p.At, p.Silent = s.fabric.Now().Duration().Seconds(), silent
	return p, nil
}

// Programs asks what programs do that have NICs of the fabric.
func (c *Client) Programs(ctx context.Context) (Programs, error) {
	return ask[Programs](ctx, c, VerbPrograms, nil)
}

// programsOf puts together what hosts report, of a fabric with NICs of these names.
func programsOf(reports []report.Report, names []string) Programs {
	p := Programs{NICs: []ProgramNIC{}, Connections: []ProgramConnection{}, Rates: []ProgramRate{}}
	var sides []report.Connection
	for _, r := range reports {
		for _, n := range r.NICs {
			t := n.Traffic
			p.NICs = append(p.NICs, ProgramNIC{
				NIC: n.NIC, Programs: []string{}, In: t.In, Out: t.Out, InRate: t.InRate, OutRate: t.OutRate,
			})
		}
		for _, of := range r.Rates {
			one := ProgramRate{of.NIC, of.Program, of.Unit, []RatePoint{}, of.Ended, seconds(of.Silent)}
			for _, point := range of.Points {
				one.Points = append(one.Points, RatePoint{seconds(point.At), point.Value, seconds(point.After)})
			}
			p.Rates = append(p.Rates, one)
		}
		sides = append(sides, r.Connections...)
		p.Omitted += r.Omitted
	}
	number := map[string]int{}
	for i, name := range names {
		number[name] = i
	}
	slices.SortFunc(p.NICs, func(a, b ProgramNIC) int { return cmp.Compare(number[a.NIC], number[b.NIC]) })
	slices.SortStableFunc(p.Rates, func(a, b ProgramRate) int { return cmp.Compare(begin(a), begin(b)) })
	p.Rates = newest(p.Rates, report.MaxRates)
	p.Connections = pairs(sides, names)
	p.Omitted += max(0, len(p.Connections)-report.MaxConnections)
	p.Connections = p.Connections[:min(len(p.Connections), report.MaxConnections)]
	for i := range p.NICs {
		p.NICs[i].Programs = append(p.NICs[i].Programs, programsAt(p.NICs[i].NIC, p.Connections)...)
	}
	return p
}

func begin(r ProgramRate) float64 {
	if len(r.Points) == 0 {
		return 0
	}
	return r.Points[0].At
}

// pairs puts the two sides of connections together, with the NIC of the lower number first.
func pairs(sides []report.Connection, names []string) []ProgramConnection {
	list := []ProgramConnection{}
	open := map[[2]netip.AddrPort][]int{} // connections of which one side is there, by both addresses, the own first
	for _, ended := range []bool{false, true} {
		for _, s := range sides {
			if s.Ended != ended {
				continue
			}
			key := [2]netip.AddrPort{s.From, s.To}
			if at := open[key]; len(at) > 0 {
				c := &list[at[0]]
				open[key] = at[1:]
				c.B, c.Ended = side(s), c.Ended || ended
				continue
			}
			c := ProgramConnection{A: side(s), B: ConnectionEnd{Address: s.To.String()}, Ended: ended}
			if id, ok := ip.NICOf(s.To.Addr(), len(names)); ok {
				c.B.NIC = names[id]
			}
			list = append(list, c)
			other := [2]netip.AddrPort{s.To, s.From}
			open[other] = append(open[other], len(list)-1)
		}
	}
	for i := range list {
		c := &list[i]
		if a, b := netip.MustParseAddrPort(c.A.Address), netip.MustParseAddrPort(c.B.Address); b.Compare(a) < 0 {
			c.A, c.B = c.B, c.A
		}
	}
	slices.SortStableFunc(list, func(a, b ProgramConnection) int { // those that have ended stay in their order
		if a.Ended || b.Ended {
			return map[bool]int{true: 1}[a.Ended] - map[bool]int{true: 1}[b.Ended]
		}
		first := netip.MustParseAddrPort(a.A.Address).Compare(netip.MustParseAddrPort(b.A.Address))
		return cmp.Or(first, netip.MustParseAddrPort(a.B.Address).Compare(netip.MustParseAddrPort(b.B.Address)))
	})
	return list
}

func side(s report.Connection) ConnectionEnd {
	return ConnectionEnd{
		NIC: s.NIC, Address: s.From.String(), Program: s.Program, PID: s.PID, Bytes: s.Bytes, Rate: s.Rate,
		Resent: s.Resent, Standstill: seconds(s.Longest), Standing: seconds(s.Standing),
	}
}

func seconds(t weft.Time) float64 { return t.Duration().Seconds() }

// programsAt are the names of the programs with connections of a NIC that go on.
func programsAt(nic string, list []ProgramConnection) (names []string) {
	for _, c := range list {
		for _, e := range []ConnectionEnd{c.A, c.B} {
			if e.NIC == nic && !c.Ended && e.Program != "" && !slices.Contains(names, e.Program) {
				names = append(names, e.Program)
			}
		}
	}
	slices.Sort(names)
	return names
}
