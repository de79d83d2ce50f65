package nic

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/weft-fabric/weft"
)

// Over is the network that traffic runs over.
type Over struct {
	NICs        int
	Rate        float64 // bytes per second that a link carries: a load of 1
	PacketBytes int     // of packets whose size the traffic leaves open; 0 means DefaultPacketBytes
	TraceEvery  int     // see Source
	// Rand decides once what a pattern leaves to chance: who is paired, hot, or sent to. Each NIC
	// draws the rest from its own.
	Rand Rand
	// Find is the NIC of a name; nil: NICs are known by their numbers alone.
	Find func(name string) (weft.NICID, error)
}

// find is the NIC of a name, or of a number in decimal that is nobody's name.
func (o *Over) find(name string) (weft.NICID, error) {
	var unknown error
	if o.Find != nil {
		id, err := o.Find(name)
		if err == nil {
			return id, nil
		}
		unknown = err
	}
	id, err := strconv.ParseUint(name, 10, 32)
	switch {
	case err == nil && id < uint64(o.NICs):
		return weft.NICID(id), nil
	case unknown != nil && err != nil:
		return 0, unknown
	}
	return 0, fmt.Errorf("NIC %.80s: %w: expected a number from 0 to %d", name, ErrNoSuchNIC, o.NICs-1)
}

// Sources is what each NIC generates. Traffic that injects nothing, and NICs that have nobody to
// send to, have idle sources. A NIC of a permutation that would send to itself sends nothing, so
// the mean load of the network is less than Load there. Errors wrap ErrTraffic: what Validate
// finds, a number of NICs that the pattern cannot do with, a NIC that is not there, a trace that
// was not read, and a load so high, or so low, that the clock cannot tell packets apart, or ends
// before the next.
func (t Traffic) Sources(o Over) ([]Source, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	o.PacketBytes = cmp.Or(o.PacketBytes, DefaultPacketBytes)
	out, err := t.sources(o)
	if err != nil {
		return nil, fmt.Errorf("%w %.80q: %w", ErrTraffic, t.String(), err)
	}
	return out, nil
}

// Fits is the error of Sources over o, without drawing from o.Rand, which may be nil.
func (t Traffic) Fits(o Over) error {
	o.Rand = fixed{}
	_, err := t.Sources(o)
	return err
}

// fixed is for when it does not matter what is drawn.
type fixed struct{}

func (fixed) Uint64() uint64 { return 0 }

func (t *Traffic) sources(o Over) ([]Source, error) {
	out := make([]Source, o.NICs)
	switch {
	case t.Idle():
		return out, nil
	case t.Pattern == "trace":
		return out, t.follow(o, out)
	}
	to, err := t.destinations(o)
	if err != nil {
		return nil, err
	}
	mean := t.Sizes.Mean()
	mean = cmp.Or(mean, float64(o.PacketBytes))
	interval := float64(mean / float64(o.Rate*t.Load) * float64(weft.Second))
	if !(interval >= 1 && interval < float64(weft.Never)) {
		return nil,
			fmt.Errorf("a packet of %v bytes every %v ps at a link rate of %v bytes per second: expected from 1 ps to %v",
				mean, interval, o.Rate, weft.Never/2)
	}
	for i := range out {
		if to[i] == (nowhere{}) {
			continue
		}
		out[i] = Source{
			To: to[i], Mean: weft.Time(interval), Arrivals: t.Arrivals, Bytes: o.PacketBytes, Sizes: t.Sizes,
			TraceEvery: o.TraceEvery,
		}
	}
	return out, nil
}

// follow makes the sources of a trace.
func (t *Traffic) follow(o Over, out []Source) error {
	if t.Trace == nil {
		return fmt.Errorf("the file was not read")
	}
	plans, err := t.Trace.plans(o)
	if err != nil {
		return err
	}
	for i, p := range plans {
		if len(p) > 0 {
			out[i] = Source{Plan: p, TraceEvery: o.TraceEvery}
		}
	}
	return nil
}

// Open reads the file of trace traffic that open gives, and returns t with it; other traffic as it
// is. Errors wrap ErrTraffic, and name file and line.
func (t Traffic) Open(open func(file string) (io.ReadCloser, error)) (Traffic, error) {
	if t.Pattern != "trace" || t.Trace != nil {
		return t, nil
	}
	f, err := open(t.File)
	if err != nil {
		return t, fmt.Errorf("%w %.80q: %w", ErrTraffic, t.String(), err)
	}
	trace, err := ReadTrace(f)
	_ = f.Close() // it was only read
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", ErrTraffic, t.File, err)
	}
	t.Trace = trace
	return t, nil
}
