package lead

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ib/ibd"
	"github.com/weft-fabric/weft/fabricd/subnet"
)

// datagramBytes is how long a management datagram is on a link, with its headers.
const datagramBytes = 290

// infiniband lets programs of InfiniBand in, if they are wanted.
func (r term) infiniband(f *fabric.Fabric, o fabric.Options) (*ibd.Driver, error) {
	if r.InfiniBand == "" {
		return nil, nil
	}
	hop := o.Link.Delay.Time()
	if o.Link.Paced {
		rate := o.Link.Rate
		if rate == 0 {
			rate = fabric.DefaultRate
		}
		hop += time.Duration(datagramBytes / rate * float64(time.Second))
	}
	d, err := ibd.New(ibd.Config{
		Fabric: f, Name: r.InfiniBand, VLs: o.Switch.VCs, Forward: subnet.IsFromManager(r.Settings.Routing),
		Hop: hop, Bytes: o.NIC.PacketBytes, Note: r.Note,
	})
	if err != nil {
		return nil, fmt.Errorf("management of InfiniBand: %w", err)
	}
	return d, nil
}
