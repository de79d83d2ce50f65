package nic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// Bounds of a trace.
const (
	MaxTrace     = 1 << 22                 // packets
	MaxTraceTime = 1_000_000 * weft.Second // of the last packet
	maxTraceLine = 256                     // bytes
)

// ErrTrace is wrapped by every error about a trace.
var ErrTrace = errors.New("unusable trace")

// Trace is a list of packets, each with its time, source, destination and size. Immutable.
type Trace struct {
	packets []traced
	nics    []traceNIC
}

type traced struct {
	at       weft.Time
	src, dst uint32 // of nics
	bytes    uint32
}

// traceNIC is a NIC as the trace names it.
type traceNIC struct {
	name string
	line int // of the first packet that names it
}

// Planned is one packet that a NIC generates at a certain time.
type Planned struct {
	At    weft.Time // since the source was set
	Dst   weft.NICID
	Bytes uint32
}

// Len is how many packets the trace has.
func (t *Trace) Len() int { return len(t.packets) }

// End is the time of the last packet, since the trace began.
func (t *Trace) End() weft.Time {
	if len(t.packets) == 0 {
		return 0
	}
	return t.packets[len(t.packets)-1].at
}

// ReadTrace reads a trace: lines of comma-separated values of which the first names them,
//
//	time_us,src,dst,bytes
//	0,n000,n111,256
//	1.024,n003,n010,64
//
// The time is since the traffic began, in time_ns, time_us, time_ms or time_s, to the picosecond,
// and never less than in the line before. NICs are named, or numbered from 0. At most MaxTrace
// packets of at most weft.MaxPacket bytes, until MaxTraceTime. Errors wrap ErrTrace and have the
// line.
func ReadTrace(r io.Reader) (*Trace, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxTraceLine), maxTraceLine)
	t := &Trace{}
	index := map[string]uint32{}
	var unit weft.Time
	line := 0
	for lines.Scan() {
		line++
		var err error
		if line == 1 {
			unit, err = traceUnit(lines.Text())
		} else {
			err = t.add(lines.Text(), line, unit, index)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, line, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%w: line %d: longer than %d bytes", ErrTrace, line+1, maxTraceLine)
	} else if err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, line+1, err)
	}
	if len(t.packets) == 0 {
		return nil, fmt.Errorf("%w: no packets: expected a line time_us,src,dst,bytes and then one for each packet", ErrTrace)
	}
	t.packets, t.nics = slices.Clip(t.packets), slices.Clip(t.nics)
	return t, nil
}

// Write writes the trace as ReadTrace reads it. Errors are those of w.
func (t *Trace) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	_, _ = b.WriteString("time_ns,src,dst,bytes\n") // a bufio.Writer keeps its first error, for Flush
	for _, p := range t.packets {
		_, _ = fmt.Fprintf(b, "%d.%03d,%s,%s,%d\n", p.at/weft.Nanosecond, p.at%weft.Nanosecond, t.nics[p.src].name,
			t.nics[p.dst].name, p.bytes)
	}
	return b.Flush()
}

// traceUnit reads the first line.
func traceUnit(line string) (weft.Time, error) {
	time, ok := strings.CutSuffix(line, ",src,dst,bytes")
	units := map[string]weft.Time{
		"time_ns": weft.Nanosecond, "time_us": weft.Microsecond, "time_ms": weft.Millisecond, "time_s": weft.Second,
	}
	if unit := units[time]; ok && unit != 0 {
		return unit, nil
	}
	return 0, fmt.Errorf("expected time_us,src,dst,bytes, or time_ns, time_ms or time_s, found %.80q", line)
}

// add reads the line of a packet.
func (t *Trace) add(line string, number int, unit weft.Time, index map[string]uint32) error {
	if len(t.packets) == MaxTrace {
		return fmt.Errorf("a trace has at most %d packets", MaxTrace)
	}
	fields := strings.Split(line, ",")
	if len(fields) != 4 {
		return fmt.Errorf("expected time,src,dst,bytes, found %.80q", line)
	}
	at, err := traceTime(fields[0], unit)
	switch {
	case err != nil:
		return err
	case at < t.End():
		return fmt.Errorf("time %s is less than in the line before: sort the packets by time", fields[0])
	case at > MaxTraceTime:
		return fmt.Errorf("time %s is more than %v after the beginning", fields[0], MaxTraceTime)
	}
	bytes, err := strconv.ParseUint(fields[3], 10, 32)
	if err != nil || bytes < 1 || bytes > weft.MaxPacket {
		return fmt.Errorf("packets have 1 to %d bytes, not %q", weft.MaxPacket, fields[3])
	}
	p := traced{at: at, bytes: uint32(bytes)}
	for i, at := range []*uint32{&p.src, &p.dst} {
		name := fields[1+i]
		if name == "" {
			return fmt.Errorf("expected the name or the number of a NIC, found nothing in %.80q", line)
		}
		id, ok := index[name]
		if !ok {
			if len(t.nics) == weft.MaxNIC {
				return fmt.Errorf("more than %d NICs", weft.MaxNIC)
			}
			id = uint32(len(t.nics))
			name = strings.Clone(name) // not the whole line
			index[name] = id
			t.nics = append(t.nics, traceNIC{name, number})
		}
		*at = id
	}
	if p.src == p.dst {
		return fmt.Errorf("%s sends to itself: packets of a trace cross the fabric", fields[1])
	}
	t.packets = append(t.packets, p)
	return nil
}

// traceTime reads a decimal number of units, exactly.
func traceTime(text string, unit weft.Time) (weft.Time, error) {
	whole, rest, _ := strings.Cut(text, ".")
	units, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || units > uint64(MaxTraceTime/unit)+1 {
		return 0, fmt.Errorf("expected a time, as 12 or 0.25, of at most %v, found %.80q", MaxTraceTime, text)
	}
	t := weft.Time(units) * unit
	for _, d := range rest {
		unit /= 10
		if d < '0' || d > '9' || unit == 0 && d != '0' {
			return 0, fmt.Errorf("expected a time in whole picoseconds, as 0.25, found %.80q", text)
		}
		t += weft.Time(d-'0') * unit
	}
	return t, nil
}

// plans divides the trace among the NICs that send.
func (t *Trace) plans(o Over) ([][]Planned, error) {
	ids := make([]weft.NICID, len(t.nics))
	for i, n := range t.nics {
		id, err := o.find(n.name)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n.line, err)
		}
		ids[i] = id
	}
	count := make([]int, o.NICs)
	for _, p := range t.packets {
		count[ids[p.src]]++
	}
	plans := make([][]Planned, o.NICs)
	for id, n := range count {
		plans[id] = make([]Planned, 0, n)
	}
	for i, p := range t.packets {
		src, dst := ids[p.src], ids[p.dst]
		if src == dst { // by name and by number
			return nil, fmt.Errorf("line %d: NIC %d sends to itself: packets of a trace cross the fabric", i+2, src)
		}
		plans[src] = append(plans[src], Planned{At: p.at, Dst: dst, Bytes: p.bytes})
	}
	return plans, nil
}
