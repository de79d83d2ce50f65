package lead

import (
	"fmt"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ib/ibd"
	"github.com/weft-fabric/weft/fabricd/subnet"
)

// managed reports whether switches forward by what a manager of InfiniBand writes.
func (r term) managed() bool { return r.InfiniBand != "" && subnet.IsFromManager(r.Settings.Routing) }

// infiniband lets programs of InfiniBand in, if they are wanted.
func (r term) infiniband(f *fabric.Fabric, o fabric.Options) (*ibd.Driver, error) {
	if r.InfiniBand == "" {
		return nil, nil
	}
	var own *ibd.Own
	if r.InfiniBandPriority > 0 {
		own = &ibd.Own{Priority: r.InfiniBandPriority}
	}
	d, err := ibd.New(ibd.Config{
		Fabric: f, Name: r.InfiniBand, VLs: o.Switch.VCs, Forward: r.managed(),
		Hop: ibd.Hop(o.Link), Bytes: o.NIC.PacketBytes, Own: own, Note: r.Note,
	})
	if err != nil {
		return nil, fmt.Errorf("management of InfiniBand: %w", err)
	}
	return d, nil
}
