package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Static forwards by tables and does nothing else: a packet without an entry, or whose port is
// dead, is discarded. It is how a fabric runs whose tables are computed anew after a fault, as DDRC
// of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, section VIII. Whether
// it can deadlock is up to the tables.
type Static struct{ Tables *tables.Tables }

const (
	ruleTable     = "table"
	ruleTableDead = "table: the link is dead"
)

// Check implements [Checker].
func (f Static) Check(place *weft.Place, vcs int) error { return f.Tables.Check("static", place, vcs) }

// DestinationBased implements [switching.DestinationBased].
func (Static) DestinationBased() {}

// Route implements [Firmware].
func (f Static) Route(pkt *weft.Header, at Arrival, sw View) Decision {
	hop, ok := f.Tables.Lookup(sw.Place().Switch, pkt.Dst, at.Port, at.VC)
	switch {
	case !ok || hop.Port == weft.NoPort:
		return switching.Discard(ruleNoEntry)
	case !sw.PortUp(hop.Port):
		return switching.Discard(ruleTableDead)
	}
	return switching.To(sw, hop.Port, hop.In(at.VC), pkt.Fields, ruleTable)
}
