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

// Firmware is the firmware.
func (f Static) Firmware() Firmware {
	return Firmware{
		Name: "static", About: "any topology: by tables, and nothing else",
		Route: f.route, Check: f.Tables.Check, DestinationBased: true,
		Program:    &tables.Program{Tables: f.Tables},
		Programmed: func(p *tables.Program) Firmware { return Static{Tables: p.Tables}.Firmware() },
	}
}

func (f Static) route(pkt *weft.Header, at Arrival, sw View) Decision {
	hop, ok := f.Tables.Lookup(sw.Place().Switch, pkt.Dst, at.Port, at.VC)
	switch {
	case !ok || hop.Port == weft.NoPort:
		return switching.Discard(ruleNoEntry)
	case !sw.PortUp(hop.Port):
		return switching.Discard(ruleTableDead)
	}
	return switching.To(sw, hop.Port, hop.In(at.VC), pkt.Fields, ruleTable)
}
