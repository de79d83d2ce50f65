package up

import (
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// chooseManager settles how a fabric is managed, and whether its routing is run as tables for that.
func (u *upFlags) chooseManager(g *topology.Graph) (manage.Method, error) {
	if u.method == manage.Auto || u.method == "" {
		m, why := manage.For(u.routing, g)
		u.unmanaged = why
		return m, nil
	}
	m, err := manage.Parse(u.method)
	if err != nil {
		return m, err
	}
	u.routing, _ = m.Routing(u.routing)
	if !m.On() {
		return m, nil
	}
	_, vcs, err := subnet.Firmware(u.routing, g)
	if err == nil {
		_, err = manage.New(g, u.routing, m, max(vcs, u.vcs))
	}
	return m, err
}
