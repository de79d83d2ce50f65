package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// ABI is the version of the interface between host and guest that docs/reference/wasm.md describes.
const ABI = 1

// Bounds of what a guest declares and answers.
const (
	MaxCandidates = weft.MaxPorts * weft.MaxVCs
	MaxRules      = 1024
	MaxRegisters  = 1024
	MaxOptions    = 64
	maxText       = 1024     // bytes of any text
	maxLog        = 64 << 10 // bytes of what is printed
)

// Where things are in the request, the answer and a candidate; docs/reference/wasm.md has the same.
const (
	requestPlace  = 0
	requestDst    = 4
	requestPort   = 8
	requestVC     = 10
	requestFrom   = 11
	requestVCs    = 12
	requestFields = 16
	requestSrc    = 80
	requestSize   = 84
	requestSeq    = 88
	requestTime   = 96
	requestGen    = 104
	requestHops   = 106
	requestTurns  = 108
	requestTraced = 110
	requestDraw   = 112
	requestNow    = 120
	requestRoom   = 128
	requestQueued = 132
	requestCredit = 136
	requestTable  = 140
	requestBytes  = 144

	answerCount    = 0
	answerRule     = 2
	answerTurn     = 4
	answerNotify   = 5
	answerWrite    = 6
	answerRegister = 8
	answerValue    = 16
	answerBytes    = 24 // then the candidates, then the fields that they may leave with

	candidateBytes = 8
	fieldsBytes    = 64
)

// What a guest declares that it is.
const (
	isDestinationBased = 1 << iota
	isSymmetric
	notifies
	mayRequeue
	isAll = 1<<iota - 1
)

// What a guest declares that it reads.
const (
	readsFields = 1 << iota
	readsHeader
	readsRoom
	readsOccupancy
	readsCredits
	readsDraw
	readsNow
	readsAll = 1<<iota - 1
)

var le = binary.LittleEndian

// putFields writes routing fields.
func putFields(b []byte, f *weft.Fields) {
	_ = b[fieldsBytes-1]
	le.PutUint16(b, uint16(f.PortField))
	le.PutUint16(b[2:], f.Path)
	le.PutUint16(b[4:], f.Layers)
	le.PutUint64(b[8:], f.Misroute)
	le.PutUint64(b[16:], f.Route[0])
	le.PutUint64(b[24:], f.Route[1])
	for i, s := range f.Sub {
		le.PutUint64(b[32+8*i:], uint64(s))
	}
}

// fields reads routing fields.
func fields(b []byte) (f weft.Fields, err error) {
	_ = b[fieldsBytes-1]
	f.PortField = int16(le.Uint16(b))
	f.Path, f.Layers = le.Uint16(b[2:]), le.Uint16(b[4:])
	f.Misroute = le.Uint64(b[8:])
	f.Route = weft.SourceRoute{le.Uint64(b[16:]), le.Uint64(b[24:])}
	for i := range f.Sub {
		f.Sub[i] = weft.SubHeader(le.Uint64(b[32+8*i:]))
	}
	var same weft.SourceRoute // as Push makes it
	for i := f.Route.Len() - 1; i >= 0; i-- {
		same, _ = same.Push(f.Route.At(i))
	}
	switch {
	case same != f.Route:
		return f, garbage("it answers a source route that there cannot be, %x", f.Route)
	case !f.Sub.Valid():
		return f, garbage("it answers sub-headers that there cannot be, %x", f.Sub)
	}
	return f, nil
}

// ask writes the request: only what the guest reads, so that it can depend on nothing else.
func (i *instance) ask(b []byte, place, table uint32, pkt *weft.Header, at switching.Arrival, sw switching.View) {
	r := b[i.request : i.request+requestBytes]
	le.PutUint32(r[requestPlace:], place)
	le.PutUint32(r[requestTable:], table)
	le.PutUint32(r[requestDst:], uint32(pkt.Dst))
	le.PutUint16(r[requestPort:], uint16(at.Port))
	r[requestVC], r[requestFrom], r[requestVCs] = byte(at.VC), byte(at.From), byte(sw.VCs())
	if reads := i.module.reads; reads != 0 {
		if reads&readsFields != 0 {
			putFields(r[requestFields:], &pkt.Fields)
		}
		if reads&readsHeader != 0 {
			putHeader(r, pkt)
		}
		if reads&readsDraw != 0 {
			le.PutUint64(r[requestDraw:], sw.Draw())
		}
		if reads&readsNow != 0 {
			le.PutUint64(r[requestNow:], uint64(sw.Now()))
		}
		if reads&(readsRoom|readsOccupancy|readsCredits) != 0 {
			i.askQueues(b, r, sw)
		}
	}
	clear(b[i.answer : i.answer+answerBytes])
}

// putHeader writes what a packet has beside its destination and its routing fields.
func putHeader(r []byte, pkt *weft.Header) {
	le.PutUint32(r[requestSrc:], uint32(pkt.Src))
	le.PutUint32(r[requestSize:], pkt.Size)
	le.PutUint64(r[requestSeq:], pkt.Seq)
	le.PutUint64(r[requestTime:], uint64(pkt.Injected))
	le.PutUint16(r[requestGen:], pkt.Generation)
	le.PutUint16(r[requestHops:], pkt.Hops)
	le.PutUint16(r[requestTurns:], pkt.Reroutes)
	r[requestTraced] = 0
	if pkt.Traced {
		r[requestTraced] = 1
	}
}

// askQueues writes tables of a number of 16 bits for each port and VC.
func (i *instance) askQueues(b, r []byte, sw switching.View) {
	roles, vcs := sw.Place().Roles, sw.VCs()
	for n, q := range []struct {
		reads uint32
		at    int
		of    func(switching.View, weft.PortID, weft.VC) int
	}{
		{readsRoom, requestRoom, switching.View.Room},
		{readsOccupancy, requestQueued, switching.View.Occupancy},
		{readsCredits, requestCredit, switching.View.Credits},
	} {
		if i.module.reads&q.reads == 0 {
			continue
		}
		table := i.queues + uint32(n)*queuesBytes
		le.PutUint32(r[q.at:], table)
		for p, role := range roles {
			for vc := range vcs {
				v := 0
				if role != weft.RoleNone {
					v = q.of(sw, weft.PortID(p), weft.VC(vc))
				}
				le.PutUint16(b[table:], uint16(min(v, math.MaxUint16)))
				table += 2
			}
		}
	}
}

// queuesBytes is the size of a table of queues.
const queuesBytes = 2 * MaxCandidates

// decision reads the answer to what was asked about a packet at a switch with so many registers.
func (i *instance) decision(b []byte, pkt *weft.Header, sw switching.View, registers []switching.Register,
	d *switching.Decision,
) (err error) {
	m, place, vcs := i.module, sw.Place(), sw.VCs()
	a := b[i.answer:i.end]
	n, rule, turn := int(le.Uint16(a[answerCount:])), int(le.Uint16(a[answerRule:])), switching.Turn(a[answerTurn])
	switch {
	case n > min(m.candidates, len(place.Roles)*vcs):
		return garbage("it answers %d candidates, and there are %d at most", n, min(m.candidates, len(place.Roles)*vcs))
	case rule >= len(m.rules):
		return garbage("it answers rule %d, and has declared %d", rule, len(m.rules))
	case turn > switching.UTurn:
		return garbage("it answers a step of kind %d, and there are 0 to %d", turn, switching.UTurn)
	}
	d.Rule, d.Turn, d.Notify = m.rules[rule], turn, a[answerNotify] != 0
	if a[answerWrite] != 0 {
		if err := write(a, registers, &d.Write); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	list := slices.Grow(sw.Scratch(), n)[:n]
	for k := range list {
		e, c := a[answerBytes+k*candidateBytes:][:candidateBytes], &list[k]
		p, vc, which := le.Uint16(e), e[2], int(le.Uint16(e[6:]))
		switch {
		case int(p) >= len(place.Roles) || place.Roles[p] == weft.RoleNone:
			return garbage("it sends the packet to port %d, and %s has no such port, or nothing is there", p, place.Name)
		case int(vc) >= vcs:
			return garbage("it sends the packet into VC %d, and there are %d: the first is 0", vc, vcs)
		case which > m.fields:
			return garbage("it names fields %d, and has declared %d", which, m.fields)
		}
		c.Port, c.VC, c.Class, c.Need, c.Fields = weft.PortID(p), weft.VC(vc), e[3], e[4], pkt.Fields
		if which > 0 {
			from := answerBytes + m.candidates*candidateBytes + (which-1)*fieldsBytes
			if c.Fields, err = fields(a[from : from+fieldsBytes]); err != nil {
				return err
			}
		}
	}
	d.Candidates = list
	return nil
}

// write reads which register the answer writes.
func write(a []byte, registers []switching.Register, w *switching.RegisterWrite) error {
	index, value := int(le.Uint32(a[answerRegister:])), le.Uint64(a[answerValue:])
	switch {
	case index >= len(registers):
		return garbage("it writes register %d, and has declared %d here", index, len(registers))
	case value>>(registers[index].Width-1)>>1 != 0:
		return garbage("it writes %#x to %s, which has %d bits", value, registers[index].Name, registers[index].Width)
	}
	*w = switching.RegisterWrite{Do: true, Index: index, Value: value}
	return nil
}

// words reads what a guest declares, from its memory. After its first error it reads zeros.
type words struct {
	b   []byte
	err error
}

// block is so many bytes at an address; nil if they are not there.
func (w *words) block(at, n uint32, what string) []byte {
	switch {
	case w.err != nil:
	case uint64(at)+uint64(n) > uint64(len(w.b)):
		w.err = fmt.Errorf("it declares %s at %d, outside its memory", what, at)
	default:
		return w.b[at : at+n]
	}
	return make([]byte, n)
}

// list calls f with each entry of a list: its address and its number are in b.
func (w *words) list(b []byte, most, size uint32, what string, f func(entry []byte)) {
	at, n := le.Uint32(b), le.Uint32(b[4:])
	if n > most && w.err == nil {
		w.err = fmt.Errorf("it declares %d %s, and may declare %d", n, what, most)
	}
	for k := uint32(0); k < n && w.err == nil; k++ {
		f(w.block(at+k*size, size, what))
	}
}

// text is a text whose address and length are in b.
func (w *words) text(b []byte, what string) string {
	at, n := le.Uint32(b), le.Uint32(b[4:])
	if n > maxText && w.err == nil {
		w.err = fmt.Errorf("it declares %s of %d bytes, and may have %d", what, n, maxText)
	}
	if w.err != nil || n == 0 {
		return ""
	}
	return string(w.block(at, n, what))
}

// number is a number up to most.
func (w *words) number(b []byte, most uint32, what string) int {
	n := le.Uint32(b)
	if n > most && w.err == nil {
		w.err = fmt.Errorf("it declares %d for %s, and may declare %d", n, what, most)
	}
	return int(n)
}
