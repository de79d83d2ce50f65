package scenario

import (
	"time"

	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// manager reads how the fabric is managed. A routing that is rules is run as the tables that decide
// alike, where there are such.
func (p *parser) manager(m *format.Manager, s *Scenario) {
	if m == nil {
		return
	}
	for _, d := range []struct {
		path string
		text format.Duration
		to   *time.Duration
	}{
		{"$.manager.detect", m.Detect, &s.Delays.Detect},
		{"$.manager.compute", m.Compute, &s.Delays.Compute},
		{"$.manager.distribute", m.Distribute, &s.Delays.Distribute},
	} {
		if d.text != "" {
			*d.to = p.duration(d.path, string(d.text))
		}
	}
	g := s.Options.Topology
	if g == nil {
		return
	}
	if m.Method == manage.Auto {
		s.Manager, _ = manage.For(s.Firmware, g)
		return
	}
	method, err := manage.Parse(m.Method)
	if err != nil {
		p.fail("$.manager.method", err)
		return
	}
	s.Manager = method
	if routing, other := method.Routing(s.Firmware); other {
		s.Firmware = routing
		p.firmware(routing, &s.Options)
	}
}
