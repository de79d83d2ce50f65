package lead

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/namespace"
)

// programs lets programs of this machine have the NICs of a fabric that runs in this process. Where
// that cannot be it is noted, and the fabric runs all the same.
func (r term) programs(f *fabric.Fabric) *namespace.Server {
	if r.placed != nil || r.claim == nil {
		return nil
	}
	s, err := namespace.Serve(namespace.Config{
		Fabric: r.Name, Host: namespace.Local, Names: f.Topology().NICNames(), NIC: f.LocalNIC,
		Where: func(weft.NICID) string { return namespace.Local },
	})
	if err != nil {
		r.Note(err.Error())
	}
	return s
}
