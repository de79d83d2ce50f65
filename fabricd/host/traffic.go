package host

import (
	"bytes"
	"fmt"

	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/wire"
)

// Traffic is the traffic that the order asks for. Errors are those of nic.ParseTraffic, and of a
// trace that cannot be read.
func (o *TrafficOrder) Traffic() (nic.Traffic, error) {
	t, err := nic.ParseTraffic(o.Spec)
	if err != nil || len(o.Trace) == 0 {
		return t, err
	}
	data, err := wire.Decompress(o.Trace)
	if err != nil {
		return t, fmt.Errorf("traffic %s: %w", o.Spec, err)
	}
	if t.Trace, err = nic.ReadTrace(bytes.NewReader(data)); err != nil {
		return t, fmt.Errorf("traffic %s: %w", o.Spec, err)
	}
	return t, nil
}
